"""Bytes as received, kept under raw/ab/abcd….zst and addressed by their sha256. Used through `Lake`."""

from __future__ import annotations

import hashlib
import os
import uuid
from contextlib import suppress
from types import TracebackType

from edgarmill.schemas.disk import TEMPORARY, make_folder, refusals, storage_error, sync_folder

PIECE = 2**18  # bytes held when a file is checked
LEVEL = 1  # of zstd: 7.6 : 1 at 505 MB/s on 66 real filings; 3 gives 7.9 : 1 at 333 MB/s and holds 2 MB more for each file being written


class RawFile:
    """Bytes on their way into raw/: hashed and compressed piece by piece, so that only a piece is ever held.

    They are there under their sha256 once `keep` has returned; if the block is left without, or the process is killed, not at all.
    """

    def __init__(self, folder: str) -> None:
        import zstandard

        self._folder, self._path = folder, os.path.join(folder, TEMPORARY + uuid.uuid4().hex)
        self._sha, self._packed = hashlib.sha256(), zstandard.ZstdCompressor(level=LEVEL).compressobj()
        self.size = 0
        with refusals(folder):
            make_folder(folder)
            self._file = open(self._path, "xb")  # closed by __exit__

    def write(self, piece: bytes) -> None:
        """Raises StorageError."""
        self.size += len(piece)
        self._sha.update(piece)
        with refusals(self._path):
            self._file.write(self._packed.compress(piece))

    @property
    def sha256(self) -> str:
        """Of what was written so far."""
        return self._sha.hexdigest()

    def keep(self) -> str:
        """Names the file by its content and gives the sha256. The same bytes again change nothing; a damaged file is mended."""
        sha256 = self._sha.hexdigest()
        path = raw_path(self._folder, sha256)
        with refusals(path):
            self._file.write(self._packed.flush())
            self._file.flush()
            if os.path.exists(path) and intact(path, sha256):
                return sha256
            os.fsync(self._file.fileno())
            make_folder(os.path.dirname(path))
            os.rename(self._path, path)
            sync_folder(os.path.dirname(path))
        return sha256

    def __enter__(self) -> RawFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with suppress(OSError):  # what could not be written has been told; what was kept is flushed
            self._file.close()
        with suppress(FileNotFoundError):
            os.unlink(self._path)


def raw_path(folder: str, sha256: str) -> str:
    return os.path.join(folder, sha256[:2], f"{sha256}.zst")


def unpacked(path: str) -> bytes | None:
    """Content of a raw file, None when it is no whole zstd frame. Raises FileNotFoundError, StorageError."""
    import zstandard

    try:
        with open(path, "rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as reader:
            return bytes(reader.read())
    except FileNotFoundError:
        raise
    except OSError as error:
        raise storage_error(error, path) from error
    except zstandard.ZstdError:
        return None


def intact(path: str, sha256: str) -> bool:
    """Whether a raw file holds what its name says; read piece by piece. Raises FileNotFoundError, StorageError."""
    import zstandard

    found = hashlib.sha256()
    try:
        with open(path, "rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as reader:
            while piece := reader.read(PIECE):
                found.update(piece)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise storage_error(error, path) from error
    except zstandard.ZstdError:
        return False
    return found.hexdigest() == sha256
