"""How far off `edgarmill estimate` is: a folder is estimated from a sample, and then all of it is parsed, chunked and counted.

    python -m edgarmill.eval.benchmarks.estimate FOLDER [--recipe NAME_OR_TOML] [--sample N …] [--config FILE] [--json]

No text is embedded: what is compared are filings, chunks, tokens to be embedded (equal texts once) and seconds of CPU until then. A recipe
that asks a model is estimated all the same, but only what needs no model is compared.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from edgarmill.schemas import recipe as recipes
from edgarmill.schemas import settings as all_settings
from edgarmill.schemas.errors import BadInput
from edgarmill.schemas.store import Lake
from edgarmill.workers.source import folder
from edgarmill.workers.stages import STAGES, Setup, Work, setup_of

MEASURED = ("open", "parse", "section", "chunk", "context")


def whole(path: str, recipe: str, config: str | None) -> dict[str, float]:
    """All filings of the folder through the stages before embedding."""
    found = {"filings": 0.0, "quarantined": 0.0, "chunks": 0.0, "tokens": 0.0, "cpu_seconds": 0.0}
    seen: set[str] = set()
    with tempfile.TemporaryDirectory() as root:
        lake = Lake.open(str(Path(root) / "lake"), create=True)
        settings, _ = all_settings.load({"lake": lake.root}, config)
        setup = setup_of(recipes.load(recipe), settings, lake.root)
        states = {stage.name: stage.open(setup) for stage in STAGES if stage.name in MEASURED}
        for listed in folder.list_filings(path, settings, lambda line: None):
            found["filings"] += 1
            try:
                if listed.error is not None:
                    raise listed.error
                lake.put_raw(folder.fetch(listed, settings))
                begun = time.process_time()
                work = _worked(Work(listed.filing), states, setup)
            except BadInput:
                found["quarantined"] += 1
                continue
            found["cpu_seconds"] += time.process_time() - begun
            new = {c.text_hash: c.tokens - c.cut_tokens for c in work.rows["contexts"] if c.text_hash not in seen}
            seen |= new.keys()
            found["chunks"] += len(work.rows["chunks"])
            found["tokens"] += sum(new.values())
    return found


def _worked(work: Work, states: dict[str, Any], setup: Setup) -> Work:
    for stage in STAGES:
        if stage.name in MEASURED:
            outcome = stage.run(states[stage.name], work)
            work.filing = outcome.filing or work.filing
            work.rows.update(outcome.rows)
            work.raw = outcome.raw if outcome.raw is not None else (work.raw if stage.name == "open" else [])
    return work


def estimated(path: str, recipe: str, config: str | None, sample: int) -> dict[str, float]:
    """The command's own figures, as a user gets them."""
    with tempfile.TemporaryDirectory() as root:
        words = ["--lake", str(Path(root) / "none"), "estimate", "--path", path, "--recipe", recipe, "--sample", str(sample), "--untimed",
                 "--json", "--set", "cpu_dollars_per_hour=3600"]  # so that a dollar is a second of CPU
        words += ["--config", config] if config else []
        done = subprocess.run([sys.executable, "-m", "edgarmill", *words], capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    embed = next(row for row in told["rows"] if row["stage"] == "embed")
    local = [row for row in told["rows"] if row["stage"] in MEASURED and not row["provider"]]
    return {"filings": told["planned"], "chunks": told["chunks"]["likely"], "tokens": embed["input_tokens"], "low": embed["input_low"],
            "high": embed["input_high"], "cpu_seconds": sum(row["dollars"] for row in local),
            "tried": told["tried"], "took_seconds": told["took_seconds"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--recipe", default="default")
    parser.add_argument("--config")
    parser.add_argument("--sample", type=int, action="append", default=[])
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    done = whole(given.folder, given.recipe, given.config)
    rows = []
    for sample in given.sample or [16]:
        guess = estimated(given.folder, given.recipe, given.config, sample)
        off = {name: round(guess[name] / done[name] - 1, 4) for name in ("chunks", "tokens", "cpu_seconds")}
        rows.append({"sample": sample, **guess, "off": off, "within_range": guess["low"] <= done["tokens"] <= guess["high"]})
    if given.json:
        print(json.dumps({"done": done, "estimates": rows}))
        return
    print(f"done: {done['filings']:.0f} filings, {done['chunks']:,.0f} chunks, {done['tokens']:,.0f} tokens, {done['cpu_seconds']:.1f} s")
    for row in rows:
        off = row["off"]
        print(f"{row['tried']} tried in {row['took_seconds']:.0f} s: {row['chunks']:,} chunks ({off['chunks']:+.1%}), {row['tokens']:,} "
              f"tokens ({off['tokens']:+.1%}; {row['low']:,} to {row['high']:,}), {row['cpu_seconds']:.1f} s ({off['cpu_seconds']:+.1%})")


if __name__ == "__main__":
    main()
