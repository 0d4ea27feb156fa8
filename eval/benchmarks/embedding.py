"""What embedding costs in the pipeline, and what is not embedded or asked again.

    python -m edgarmill.eval.benchmarks.embedding stage FILE …     the embed stage beside the library's own encode, on the same texts
    python -m edgarmill.eval.benchmarks.embedding equal LAKE       tokens of texts that a company's earlier 10-Q had word for word
    python -m edgarmill.eval.benchmarks.embedding backend LAKE     the model through OpenVINO beside torch, on 200 chunks of the lake
    python -m edgarmill.eval.benchmarks.embedding again [N]        N filings with a model's context and tree, then one of them changed

FILE is a filing. Prints JSON. `again` asks a server on this machine that knows nothing (workers/rehearsal.py).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from edgarmill.eval.benchmarks.local_edgar import write_filings
from edgarmill.schemas import recipe as recipes
from edgarmill.schemas.endpoints import Endpoint
from edgarmill.schemas.ids import sha256
from edgarmill.schemas.records import Filing
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake
from edgarmill.schemas.views import connect
from edgarmill.workers.context import embedded_text
from edgarmill.workers.embed.local import open_encoder
from edgarmill.workers.embed.tokens import Tokenizer
from edgarmill.workers.rehearsal import rehearsing
from edgarmill.workers.stages import STAGES, Work, setup_of

ROUNDS = 3
CHANGED = (b"nothing happened", b"something happened")

RECIPE = """
name = "again"
[chunker]
kind = "structure"
[context]
kind = "document"
[tree]
kind = "structural"
summaries = "all"
endpoint = "openai"
model = "gpt-4.1-mini"
"""

EQUAL = """
with q as (select accession, ciks[1] as cik, company, period_on from filings where form = '10-Q' and status = 'parsed'),
pairs as (select accession, lag(accession) over w as before, cik, company, period_on - lag(period_on) over w as days
          from q window w as (partition by cik order by period_on)),
near as (select * from pairs where before is not null and days between 60 and 200),
texts as (select distinct accession, text from chunks where chunker = $1)
select company, accession, before, count(*) as chunks, sum(c.tokens)::bigint as tokens,
       coalesce(sum(c.tokens) filter (t.text is not null), 0)::bigint as tokens_known
from near join chunks c using (accession) left join texts t on t.accession = near.before and t.text = c.text
where c.chunker = $1 group by all order by company
"""


def stage(files: list[Path]) -> dict[str, Any]:
    """Embed stage over the filings' chunks beside the library over the same texts, in CPU seconds, by turns; the model is loaded before."""
    settings = Settings(device="cpu")
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake.open(folder, create=True)
        setup = setup_of(recipes.load("default"), settings, lake.root)
        works = [_chunked(setup, lake, file) for file in files]
        embed = next(one for one in STAGES if one.name == "embed")
        state = embed.open(setup)
        state.load()
        chunks = {c.chunk_id: c.text for work in works for c in work.rows["chunks"]}
        texts = [embedded_text(c.context, chunks[c.chunk_id]) for work in works for c in work.rows["contexts"]]
        bare = dict(batch_size=32, normalize_embeddings=setup.plan.model.normalize, show_progress_bar=False)
        rounds = [(_seconds(lambda: state.load().network.encode(texts, **bare)), _seconds(lambda: embed.run(state, works)))
                  for _ in range(ROUNDS)]
    library, own = (min(seconds) for seconds in zip(*rounds, strict=True))
    tokens = sum(c.tokens for work in works for c in work.rows["contexts"])
    return {"filings": len(files), "texts": len(texts), "tokens": tokens, "library_tokens_per_cpu_second": round(tokens / library),
            "stage_tokens_per_cpu_second": round(tokens / own), "ratio": round(library / own, 3)}


def _chunked(setup: Any, lake: Lake, file: Path) -> Work:
    """One filing through the stages before the encoder."""
    import gzip

    data = file.read_bytes()
    data = gzip.decompress(data) if file.suffix == ".gz" else data
    work = Work(Filing(f"local-{sha256(data)[:16]}", file.name, "folder", sha256=lake.put_raw(data), bytes=len(data)))
    for one in STAGES:
        if one.scope == "block" or one.name == "tree":
            continue
        outcome = one.run(one.open(setup), work)
        work.filing = outcome.filing or work.filing
        work.raw = outcome.raw if outcome.raw is not None else work.raw
        work.rows.update(outcome.rows)
    return work


def _seconds(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


def equal(lake: str) -> dict[str, Any]:
    """Pairs of consecutive quarters of one company. Only a recipe without context has equal texts: `metadata` names the quarter."""
    from edgarmill.retrieval.versions import newest

    snapshot = Lake.open(lake).snapshot()
    chunker = json.loads(newest(snapshot).manifest)["fingerprints"]["chunker"]
    with connect(snapshot, ("filings", "chunks")) as connection:
        found = connection.execute(EQUAL, [chunker])
        rows = [dict(zip([column[0] for column in found.description], row, strict=True)) for row in found.fetchall()]
    tokens, known = (sum(row[name] for row in rows) for name in ("tokens", "tokens_known"))
    return {"pairs": rows, "tokens": tokens, "tokens_known": known, "share": round(known / tokens, 4) if tokens else None}


def backend(lake: str) -> dict[str, Any]:
    """Tokens per CPU second and per second of both, by turns, the best of some rounds; and the least cosine between their vectors."""
    plan = setup_of(recipes.load("default"), Settings(), lake).plan
    chunks = Lake.open(lake).snapshot().read("chunks", ["text"])["text"]
    texts = [chunks[n * len(chunks) // 200].as_py() for n in range(200)]
    encoders = {name: open_encoder(plan.model, Settings(device="cpu", embed_backend=name)) for name in ("torch", "openvino")}
    tokens = sum(map(len, encoders["torch"].ids(texts)))
    vectors, cpu, wall = {}, {name: [0.0] for name in encoders}, {name: [0.0] for name in encoders}
    for _ in range(ROUNDS):
        for name, encoder in encoders.items():
            begun = time.perf_counter(), time.process_time()
            vectors[name] = encoder.encode(texts)
            wall[name].append(tokens / (time.perf_counter() - begun[0]))
            cpu[name].append(tokens / (time.process_time() - begun[1]))
    kinds = {"tokens_per_cpu_second": cpu, "tokens_per_second": wall}
    found = {f"{name}_{kind}": round(max(each[name])) for name in encoders for kind, each in kinds.items()}
    return {"tokens": tokens, **found, "least_cosine": float((vectors["torch"] * vectors["openvino"]).sum(axis=1).min())}


def again(filings: int) -> dict[str, Any]:
    """Calls of a first run, of the same run again, and after one filing changed; and whose calls the last ones are."""
    with tempfile.TemporaryDirectory() as name, rehearsing(_counter(), lambda model: 60) as server:
        folder = Path(name)
        write_filings(folder / "in", max(filings // 20, 1), min(filings, 20))
        there = server.in_place_of(Endpoint(base_url="http://127.0.0.1:1/v1", provider="openai", model="gpt-4.1-mini"))
        (folder / "recipe.toml").write_text(RECIPE, encoding="utf-8")
        lines = f'[endpoints.openai]\nbase_url = "{there.base_url}"\nprovider = "{there.provider}"\nmodel = "{there.model}"\n'
        (folder / "edgarmill.toml").write_text(lines, encoding="utf-8")
        seen = {"filings": len(list((folder / "in").iterdir())), "first": _ingested(folder), "same": _ingested(folder)}
        changed = sorted((folder / "in").iterdir())[filings // 2]
        changed.write_bytes(changed.read_bytes().replace(*CHANGED))
        return {**seen, "changed": changed.stem, "after": _ingested(folder)}


def _ingested(folder: Path) -> dict[str, Any]:
    """One `edgarmill ingest`: its calls to the model by stage, and the filings that they were made for where these are few."""
    places = {"--config": "edgarmill.toml", "--lake": "lake", "--recipe": "recipe.toml", "--path": "in"}
    words = [word for option, name in places.items() for word in (option, str(folder / name))]
    command = [sys.executable, "-m", "edgarmill", "ingest", "--source", "folder", "--set", "engine=loop", *words]
    subprocess.run(command, check=True, capture_output=True)
    snapshot = Lake.open(str(folder / "lake")).snapshot()
    last = max(snapshot.read("runs", ["run_id"])["run_id"].to_pylist())
    usage = snapshot.read("usage", ["run_id", "subject", "stage", "tier", "calls"]).to_pylist()
    rows = [u for u in usage if u["run_id"] == last and u["tier"]]
    asked = {stage: sum(u["calls"] for u in rows if u["stage"] == stage) for stage in sorted({u["stage"] for u in rows})}
    subjects = sorted({u["subject"] for u in rows if u["calls"]})
    return {"calls": asked, "filings": len(subjects), "subjects": subjects[:3]}


def _counter() -> Callable[[str], int]:
    plan = setup_of(recipes.load("default"), Settings(), "").plan
    return Tokenizer(plan.model.tokenizer_path).count


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("what", choices=["stage", "equal", "backend", "again"])
    parser.add_argument("given", nargs="*")
    asked = parser.parse_args()
    if asked.what == "stage":
        found = stage([Path(file) for file in asked.given])
    elif asked.what == "equal":
        found = equal(asked.given[0])
    elif asked.what == "backend":
        found = backend(asked.given[0])
    else:
        found = again(int(asked.given[0]) if asked.given else 200)
    print(json.dumps(found, default=str))


if __name__ == "__main__":
    main()
