"""Filings out of a folder, read in place: .txt .htm .html .pdf .nc, each also as .gz or .zst.

A manifest (`manifest.jsonl` in the folder, or the one that is named; JSONL or CSV) overrides what the content says, one line per file.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import IO, Any

import zstandard

from edgarmill.schemas import ids
from edgarmill.schemas.errors import BadFile, BadInput, DuplicateAccession, StorageError, TooLarge, UsageError
from edgarmill.schemas.records import Filing
from edgarmill.schemas.settings import Settings
from edgarmill.workers.source.listed import Listed
from edgarmill.workers.source.manifest import OWN_MANIFEST, read_manifest
from edgarmill.workers.submission import ACCESSION, is_submission, read_header

KINDS = (".txt", ".htm", ".html", ".pdf", ".nc")
PACKED = (".gz", ".zst")
_HEAD = 256 * 1024  # a header's first lines hold the accession, however many filers follow
_CHUNK = 1 << 20
_ZSTD_PIECE = 1024  # of four bytes may come 128 KB, so that this much gives 32 MB at most


def list_filings(path: str, settings: Settings, warn: Callable[[str], None], manifest: str | None = None) -> Iterator[Listed]:
    """Every filing of the folder in the order of names. Raises UsageError (no folder), StorageError (unreadable), SettingsError (manifest).

    A file that cannot be read, is too large or claims an accession that another one has is yielded with its error.
    """
    root = folder_at(path)
    names, passed_over = _names(root)
    lines = read_manifest(_manifest_path(root, manifest), strict=manifest is not None, warn=warn)
    _report(names, passed_over, lines, warn)
    taken: dict[str, str] = {}
    for name in names:
        listed = _listed(root, name, _line_of(lines, name), settings.max_filing_bytes)
        accession = listed.filing.accession
        if accession in taken:
            error = DuplicateAccession(f"accession {accession} is claimed by {taken[accession]} too", name, "Remove one of the two files.")
            key = ids.local_accession(f"{name} (duplicate)")
            listed = replace(listed, filing=replace(listed.filing, accession=key), error=listed.error or error)
        taken.setdefault(listed.filing.accession, name)
        yield listed


def fetch(listed: Listed, settings: Settings) -> bytes:
    """The file's bytes, decompressed. Raises BadFile, TooLarge."""
    return read(listed.where, settings.max_filing_bytes, listed.filing.name)


def read(path: str, max_bytes: int, subject: str = "") -> bytes:
    """A file's bytes, out of .gz or .zst; never more than `max_bytes` are held. Raises BadFile, TooLarge."""
    return b"".join(_pieces(path, max_bytes, subject or os.path.basename(path)))


def _pieces(path: str, max_bytes: int, subject: str) -> Iterator[bytes]:
    size = 0
    try:
        for piece in _read(path):
            size += len(piece)
            if size > max_bytes:
                raise TooLarge(f"more than {max_bytes} bytes", subject, "Raise max_filing_bytes if it is a filing.")
            yield piece
    except (gzip.BadGzipFile, EOFError, zlib.error, zstandard.ZstdError) as error:
        raise BadFile(f"compressed file is damaged: {error}", subject, "Compress or download it again.") from None
    except OSError as error:
        raise BadFile(f"cannot be read: {error.strerror or error}", subject, "Check its permissions and its disk.") from None


def _opened(path: str) -> IO[bytes]:
    return gzip.open(path) if path.lower().endswith(".gz") else open(path, "rb")  # type: ignore[return-value]


def _read(path: str) -> Iterator[bytes]:
    with _opened(path) as stream:
        if path.lower().endswith(".zst"):
            yield from _unzstd(stream)
            return
        while piece := stream.read(_CHUNK):
            yield piece


def _unzstd(stream: IO[bytes]) -> Iterator[bytes]:
    """The content of zstd frames. Raises ZstdError for one that is cut off, which the library's own reader takes for the end."""
    frame = None
    while piece := stream.read(_ZSTD_PIECE):
        while piece:
            frame = frame or zstandard.ZstdDecompressor().decompressobj()
            yield frame.decompress(piece)
            piece, frame = (frame.unused_data, None) if frame.eof else (b"", frame)
    if frame is not None:
        raise zstandard.ZstdError("it ends in the middle")


# --- which files -------------------------------------------------------------------------------------------------------------------

def folder_at(path: str) -> Path:
    """The folder itself. Raises UsageError when there is none, StorageError when it cannot be read."""
    root = Path(path)
    try:
        mode = root.stat().st_mode
    except FileNotFoundError:
        raise UsageError("no such folder", path, "Name the folder that holds the filings.") from None
    except OSError as error:
        raise StorageError(f"folder cannot be read: {error.strerror}", path, "Check its permissions.") from None
    if not stat.S_ISDIR(mode):
        raise UsageError("not a folder", path, "Name the folder that holds the filings.")
    return root.resolve()


def _names(root: Path) -> tuple[list[str], list[str]]:
    """Relative names of the files to take, and of those passed over. A link that leads out of the folder is passed over."""

    def refuse(error: OSError) -> None:
        raise StorageError(f"folder cannot be read: {error.strerror}", str(error.filename), "Check its permissions.")

    taken: list[str] = []
    passed: list[str] = []
    for folder, folders, files in os.walk(root, onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for file in files:
            name = Path(folder, file).relative_to(root).as_posix()
            if file.startswith(".") or name == OWN_MANIFEST:
                continue
            (taken if _is_filing(root, Path(folder, file)) else passed).append(name)
    return sorted(taken), sorted(passed)


def _is_filing(root: Path, path: Path) -> bool:
    name = path.name.lower()
    for suffix in PACKED:
        name = name.removesuffix(suffix)
    if not name.endswith(KINDS) or name.startswith("readme"):
        return False
    real = path.resolve()
    return real.is_relative_to(root) and not (real.exists() and not real.is_file())


def _manifest_path(root: Path, manifest: str | None) -> str | None:
    own = root / OWN_MANIFEST
    return manifest or (str(own) if own.is_file() else None)


def _line_of(lines: Mapping[str, dict[str, Any]], name: str) -> dict[str, Any]:
    return lines.get(name) or lines.get(_unpacked(name)) or {}


def _unpacked(name: str) -> str:
    return re.sub(r"\.(gz|zst)$", "", name, flags=re.I)


def _report(names: list[str], passed_over: list[str], lines: Mapping[str, Any], warn: Callable[[str], None]) -> None:
    if passed_over:
        warn(f"{len(passed_over)} files passed over, not of a kind that is read ({', '.join(KINDS)}): {_some(passed_over)}")
    there = set(names) | {_unpacked(name) for name in names}
    absent = sorted(name for name in lines if name not in there)
    if absent:
        warn(f"{len(absent)} lines of the manifest name files that are not in the folder: {_some(absent)}")


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (" …" if len(names) > 5 else "")


# --- one file ----------------------------------------------------------------------------------------------------------------------

def _listed(root: Path, name: str, stated: dict[str, Any], max_bytes: int) -> Listed:
    where, sha, size, head = str(root / name), hashlib.sha256(), 0, b""
    error: BadInput | None = None
    try:
        for piece in _pieces(where, max_bytes, name):
            head = head or piece[:_HEAD]
            sha.update(piece)
            size += len(piece)
    except BadInput as bad:
        error = bad
    overrides = {key: value for key, value in stated.items() if key not in ("accession", "sha256")}
    accession = stated.get("accession") or _accession(head, name)
    if error is None and stated.get("sha256") not in (None, sha.hexdigest()):
        error = BadFile("its bytes are not those of the manifest (sha256 differs)", name, "Download it again, or mend the manifest.")
    digest = "" if error else sha.hexdigest()
    return Listed(Filing(accession, **{"name": name, "source": "folder", "sha256": digest, "bytes": size, **overrides}), where, error)


def _accession(head: bytes, name: str) -> str:
    """Out of the header, the file's name, or the folders it stands in (nearest first); else a stand-in."""
    if is_submission(head) and (stated := read_header(head).accession):
        return stated
    for part in reversed(PurePosixPath(name).parts):
        if match := ACCESSION.search(part):
            return "-".join(match.groups())
    return ids.local_accession(name)
