"""How every id is derived from content: the same input gives the same id on every machine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence


def digest(*parts: object) -> str:
    """32 hex digits (128 bits) of SHA-256 over the parts, each prefixed by its length so that no two lists collide."""
    sha = hashlib.sha256()
    for part in parts:
        data = str(part).encode("utf-8", "surrogatepass")
        sha.update(b"%d:" % len(data))
        sha.update(data)
    return sha.hexdigest()[:32]


def sha256(data: bytes) -> str:
    """64 hex digits: the address of raw bytes."""
    return hashlib.sha256(data).hexdigest()


def fingerprint(content: Mapping[str, object] | Sequence[object]) -> str:
    """Id of a configuration: its JSON with sorted keys; 16 hex digits."""
    return digest(json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False))[:16]


def stage_key(before: str, stage: str, version: int, settled: str) -> str:
    """Key of a stage's done work and of its rows: of its version, all that decides them, and the key of the stage it builds on."""
    return digest(before, stage, version, settled)[:16]


def document_id(accession: str, sequence: int) -> str:
    return f"{accession}:{sequence}"


def chunk_id(document: str, chunker_fingerprint: str, start: int, end: int, text: str) -> str:
    return digest(document, chunker_fingerprint, start, end, text)


def text_hash(text: str) -> str:
    """Key of an embedded text."""
    return digest(text)


def local_accession(name: str) -> str:
    """Stand-in key of a filing whose accession nobody states: from its name in the folder, without .gz or .zst."""
    for suffix in (".gz", ".zst"):
        name = name.removesuffix(suffix)
    return "local-" + digest(name)[:16]
