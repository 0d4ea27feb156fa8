"""The command, interrupted for real while DuckDB reads rows of Lance in the function that the first argument names.

    python struck.py _identity index verify --lake …
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from lance.dataset import LanceScanner

_whole = LanceScanner.to_reader


def _to_reader(self: Any) -> pa.RecordBatchReader:
    rows = _whole(self)

    def batches() -> Iterator[pa.RecordBatch]:
        yield from rows
        os.kill(os.getpid(), signal.SIGINT)

    return pa.RecordBatchReader.from_batches(rows.schema, batches()) if sys._getframe(1).f_code.co_name == _place else rows


if __name__ == "__main__":
    _place, sys.argv = sys.argv[1], ["edgarmill", *sys.argv[2:]]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    LanceScanner.to_reader = _to_reader

    from edgarmill.__main__ import main

    main()
