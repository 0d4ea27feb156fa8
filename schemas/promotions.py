"""What `prod` means, and has meant: a log of moves beside the snapshots, one small JSON file each.

    catalog/promotions/00000007.json   {"name": "prod", "recipe": …, "tag": …, "version_id": …, "model": …, "model_hash": …, "reason": …}

The file with the highest number is current. A move is one link(2) of a finished file under the next number, so it is there whole or not at
all, and of two publishers one wins. The log is apart from the snapshots because a bad night must be undone while a run holds the lake's
lock; and a reader without edgarmill needs no more than the newest file: see the README.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from edgarmill.schemas.disk import make_folder, refusals, storage_error, whole_file
from edgarmill.schemas.errors import LakeCorrupt, LakeLocked
from edgarmill.schemas.parts import RESTORE
from edgarmill.schemas.records import IndexVersion

PROD = "prod"
_FILE = re.compile(r"([0-9]{8})\.json")


@dataclass(frozen=True, slots=True)
class Promotion:
    """One move of `prod`. A reader opens index/<recipe>.lance at `tag`, and embeds its questions with the model of that hash."""

    number: int
    name: str
    action: Literal["promote", "rollback"]
    recipe: str
    tag: str
    version_id: str
    model: str
    model_hash: str
    reason: str
    gate: str  # "by hand", or what let it through, in a line
    before: str | None  # version_id that was prod until then
    at: datetime
    verdict: str | None = None  # of the gate: pass, or what a reason overruled; None where no gate was asked


def promotions(root: str) -> list[Promotion]:
    """All moves, the first one first. Raises LakeCorrupt, StorageError."""
    folder = _folder(root)
    with refusals(folder):
        names = sorted(name for name in os.listdir(folder) if _FILE.fullmatch(name)) if os.path.isdir(folder) else []
        return [_read(os.path.join(folder, name)) for name in names]


def latest(root: str) -> int:
    """Number of the newest move, 0 where there is none: one listing of a folder, no file is read. Raises StorageError."""
    folder = _folder(root)
    with refusals(folder):
        names = os.listdir(folder) if os.path.isdir(folder) else []
    return max((int(found[1]) for name in names if (found := _FILE.fullmatch(name))), default=0)


def history(moves: Sequence[Promotion]) -> list[Promotion]:
    """What a rollback can go back to: the moves that were not undone, the current one last."""
    standing: list[Promotion] = []
    for move in moves:
        if move.action == "rollback":
            while standing and standing[-1].version_id != move.version_id:
                standing.pop()
            if standing:
                standing.pop()
        standing.append(move)
    return standing


def move(root: str, moves: Sequence[Promotion], version: IndexVersion, action: Literal["promote", "rollback"], reason: str,
         gate: str, verdict: str | None = None) -> Promotion:
    """Writes the next move, on top of `moves` as they were read. Raises LakeLocked where someone moved meanwhile, StorageError."""
    last = moves[-1] if moves else None
    made = Promotion(last.number + 1 if last else 1, PROD, action, version.recipe, version.tag or "", version.version_id, version.model,
                     version.model_hash, reason, gate, last.version_id if last else None, datetime.now(UTC).replace(microsecond=0), verdict)
    path = os.path.join(_folder(root), f"{made.number:08d}.json")
    try:
        make_folder(os.path.dirname(path))
        with whole_file(path, replace=False) as file:
            file.write(json.dumps(as_json(made), ensure_ascii=False, indent=1).encode())
    except FileExistsError:
        raise LakeLocked("prod was moved by someone else meanwhile", root, "See edgarmill index history, and decide again.") from None
    except OSError as error:
        raise storage_error(error, path) from error
    return made


def as_json(one: Promotion) -> dict[str, Any]:
    """Plain values, as the file and a webhook have them."""
    return {**asdict(one), "at": one.at.isoformat()}


def _read(path: str) -> Promotion:
    with open(path, "rb") as file:
        data = file.read(65_536)
    try:
        found = json.loads(data)
        known = {name: found[name] for name in Promotion.__dataclass_fields__ if name != "verdict"}
        return replace(Promotion(**known), at=datetime.fromisoformat(known["at"]), verdict=found.get("verdict"))  # moves of old have none
    except (ValueError, KeyError, TypeError, RecursionError):
        raise LakeCorrupt("a move of prod cannot be read", path, RESTORE) from None


def _folder(root: str) -> str:
    return os.path.join(root, "catalog", "promotions")
