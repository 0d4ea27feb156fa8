"""How far off a run's estimate was: beside each figure what the run took, by stage and model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from edgarmill.schemas.errors import UnknownName
from edgarmill.schemas.snapshot import Snapshot
from edgarmill.schemas.tables import pylist

FIGURES = ("requests", "tokens_in", "tokens_out", "seconds", "dollars")


def accuracy(snapshot: Snapshot, run_id: str) -> list[dict[str, Any]]:
    """A row per stage and model, then one named `sum`: {figure}: [estimated, done, off], off as a share of what was done.

    Null where either is not known. [] where the run has no estimate. Raises UnknownName for a run that nobody knows.
    """
    estimates = pylist(snapshot.read("estimates", where={"run_id": [run_id]}))
    if not estimates:
        if run_id not in snapshot.read("runs", ["run_id"])["run_id"].to_pylist():
            raise UnknownName("no such run", run_id, "See edgarmill runs list.")
        return []
    done = _done(pylist(snapshot.read("usage", where={"run_id": [run_id]})))
    keys = [(e["stage"], e["model"]) for e in estimates]
    rows = [_row(stage, model, _estimated(e), done.get((stage, model))) for e, (stage, model) in zip(estimates, keys, strict=True)]
    return [*rows, _summed(rows)]


def spent_on_models(rows: Iterable[Mapping[str, Any]]) -> list[Any]:
    """[estimated, done, off] of dollars for calls to providers alone; null where one of them is unpriced."""
    found = [row["dollars"] for row in rows if row["provider"] is not None]
    if any(one[0] is None for one in found):
        return _pair(None, None)
    known = [one[1] for one in found if one[1] is not None]
    return _pair(sum((one[0] for one in found), Decimal(0)), sum(known, Decimal(0)))


def _estimated(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"requests": row["requests"], "tokens_in": _total(row["input_tokens"], row["cached_tokens"]), "tokens_out": row["output_tokens"],
            "seconds": row["seconds"], "dollars": row["dollars"], "provider": row["provider"]}


def _done(usage: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str | None], dict[str, Any]]:
    """What a run took, by stage and model. A sum with a part that is not known is null; what was reused took nothing."""
    groups: dict[tuple[str, str | None], list[Mapping[str, Any]]] = {}
    for row in usage:
        groups.setdefault((row["stage"], row["model"]), []).append(row)
    return {key: {
        "requests": sum(row["calls"] for row in rows) if key[1] else None,
        "tokens_in": _total(*(row[name] for row in rows for name in
                              ("input_tokens", "cached_tokens", "cache_write_tokens", "cache_write_hour_tokens"))) if key[1] else None,
        "tokens_out": _total(*(row[name] for row in rows for name in ("output_tokens", "reasoning_tokens"))) if key[1] else None,
        "seconds": _total(*(row["seconds"] for row in rows)),
        "dollars": None if any(row["dollars"] is None for row in rows) else sum((row["dollars"] for row in rows), Decimal(0)),
    } for key, rows in groups.items()}


def _row(stage: str, model: str | None, guess: Mapping[str, Any], took: Mapping[str, Any] | None) -> dict[str, Any]:
    found = {name: _pair(guess[name], took[name] if took is not None else None) for name in FIGURES}
    return {"stage": stage, "model": model, "provider": guess["provider"], **found}


def _summed(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Of both sides where every row that has the one has the other: else the one sum would hold what the other lacks."""
    sums: dict[str, Any] = {"stage": "sum", "model": None, "provider": None}
    for name in FIGURES:
        pairs = [row[name] for row in rows if row[name][0] is not None or row[name][1] is not None]
        whole = bool(pairs) and all(guess is not None and took is not None for guess, took, _ in pairs)
        sums[name] = _pair(sum(guess for guess, _, _ in pairs), sum(took for _, took, _ in pairs)) if whole else _pair(None, None)
    return sums


def _pair(guess: Any, took: Any) -> list[Any]:
    """Estimated, done, and how far off: (estimated - done) / done."""
    off = None if guess is None or not took else float(guess - took) / float(took)
    return [guess, took, off]


def _total(*counts: Any) -> Any:
    known = [n for n in counts if n is not None]
    return sum(known) if known else None
