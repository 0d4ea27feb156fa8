"""Answering questions from an index, over the one model client.

    desk.py      what an answerer is given: a reader, a model with bounds, an account of both
    drafts.py    an answer as claims with what they cite; answering from passages
    figures.py   a checked form made into one query of the table of facts
    answer.py    one question answered: its row, whatever happens
    run.py       a set answered, in blocks, resumed
"""
