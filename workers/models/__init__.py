"""Hosted and local models behind one client that speaks OpenAI's protocol: chat and embeddings.

    client.py    what a caller uses: Client.chat, Client.ask and ask_each (checked answers), Client.embed
    rerank.py    relevance scores of texts
    answers.py   what stands in an answer
    batch.py     many requests in one file, at the batch price
    wire.py      one request and its answer, or the typed error that it means
    counting.py  what a request can take at most, and what an answer took
    buckets.py   a provider's usage as disjoint token counts
    cache.py     every paid answer, in the lake, under the hash of its request
    purse.py     what one filing may spend and has spent; the budget that all workers of a run share
"""
