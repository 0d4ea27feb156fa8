"""Writing all rows of a large index as Lance fragments, share by share or in several processes at once; the driver commits once.

What a killed worker or driver leaves are files that no version names; `clean` removes them when they are old enough.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from edgarmill.schemas.store import Lake
from edgarmill.workers.index.buckets import buckets
from edgarmill.workers.index.rows import IndexSpec, bucket_rows, keys

SHARE_ROWS = 100_000  # about: some 300 MB in memory; an index of fewer rows is joined whole
SHARES = 32  # at most: each is a fragment at least, and many fragments are merged by the next night

Spread = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]  # a function over items, elsewhere: the results in the items' order


@dataclass(frozen=True)
class Share:
    """What is written at a time: the rows of some filings, as a snapshot wants them, laid into bucket `number` of a folder. `metadata` is
    the dataset's."""

    root: str
    snapshot: int
    spec: IndexSpec
    accessions: tuple[str, ...]
    folder: str
    number: int
    metadata: dict[str, str]


def here(work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """The spread of a run without workers: one after the other."""
    return [work(item) for item in items]


def write(share: Share) -> list[str]:
    """The share's fragments as JSON, in document order. Raises LakeCorrupt, NewerSchema; Lance's OSError where the disk is full."""
    from lance.fragment import write_fragments

    lake = Lake.open(share.root)
    schema = share.spec.schema.with_metadata(share.metadata)
    snapshot, uri = lake.snapshot(share.snapshot), lake.index_uri(share.spec.recipe.name)
    mode = "overwrite" if os.path.isdir(os.path.join(uri, "_versions")) else "create"  # Lance warns of an overwrite of nothing
    with bucket_rows(lake, snapshot, share.spec, share.accessions, share.folder, share.number) as rows:
        made = write_fragments(rows.coming(schema), uri, schema, mode=mode)
    return [json.dumps(fragment.to_json()) for fragment in made]


def write_all(spread: Spread, lake: Lake, snapshot: int, spec: IndexSpec, shares: Sequence[Sequence[str]], metadata: dict[str, str]) -> Any:
    """The dataset with those shares' rows as its newest version, all of them or none: one commit. The tables are read once, here."""
    import lance
    from lance.fragment import FragmentMetadata

    few = replace(spec, accessions=None)  # a share names its filings itself
    with buckets(lake, lake.snapshot(snapshot), keys(spec), shares) as folder:
        items = [Share(lake.root, snapshot, few, tuple(one), folder, number, metadata) for number, one in enumerate(shares)]
        made = spread(write, items)
    fragments = [FragmentMetadata.from_json(one) for some in made for one in some]
    operation = lance.LanceOperation.Overwrite(spec.schema.with_metadata(metadata), fragments)
    return lance.LanceDataset.commit(lake.index_uri(spec.recipe.name), operation)
