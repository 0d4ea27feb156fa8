"""DuckDB over one snapshot: every table a view of its own name, those without rows too.

The files are opened by the store, not by DuckDB, so the connection needs no access to any file and has none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from edgarmill.schemas.snapshot import Snapshot

# What is asked often and is no table: name → the tables it needs, and its query.
VIEWS: dict[str, tuple[tuple[str, ...], str]] = {
    "tree_faults": (  # of the trees that a model was to read off the pages: how many are none, and how many it was not asked for
        ("trees",),
        """
        select model, count(*) as trees, count(*) filter (fallback = 'MalformedAnswer' or fallback like 'InvalidTree%') as invalid,
               count(*) filter (fallback in ('OverCap', 'BadFile')) as other,
               count(*) filter (fallback = 'MalformedAnswer' or fallback like 'InvalidTree%') / count(*) as invalid_share
        from trees where parent is null and model is not null and (builder = 'model' or fallback is not null)
        group by model
        """,
    ),
}


def connect(snapshot: Snapshot, tables: Iterable[str], memory: str = "2GB", spill: str = "") -> Any:
    """A DuckDB connection with a view a table, and VIEWS. `spill` is the only folder it may write to, beyond `memory`; "" = none.

    Files, extensions, and Python variables are out of its reach, and its configuration is locked.
    """
    import duckdb

    connection = duckdb.connect(":memory:", config={"memory_limit": memory, "temp_directory": spill})
    for table in tables:
        connection.register(table, snapshot.dataset(table))
    for name, (needed, query) in VIEWS.items():
        if set(needed) <= set(tables):
            connection.execute(f"create view {name} as {query}")
    for setting in ("python_enable_replacements = false", "autoinstall_known_extensions = false", "autoload_known_extensions = false",
                    "TimeZone = 'UTC'", "preserve_insertion_order = false", "enable_progress_bar = false",
                    "enable_external_access = false", "lock_configuration = true"):
        connection.execute(f"SET {setting}")
    return connection
