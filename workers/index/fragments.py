"""Writing all rows of an index as Lance fragments in several processes: each takes the filings of one share, the driver commits once.

What a killed worker or driver leaves are files that no version names; `clean` removes them when they are old enough.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from edgarmill.schemas.store import Lake
from edgarmill.workers.index.rows import IndexSpec, some_rows

SHARE_ROWS = 100_000  # of one worker, about: some 300 MB in memory; an index of fewer rows is written by the driver alone

Spread = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]  # a function over items, elsewhere: the results in the items' order


@dataclass(frozen=True)
class Share:
    """What one worker writes: the rows of some filings, as a snapshot wants them. `metadata` is the dataset's."""

    root: str
    snapshot: int
    spec: IndexSpec
    accessions: tuple[str, ...]
    metadata: dict[str, str]


def write(share: Share) -> list[str]:
    """The share's fragments as JSON, in document order. Raises LakeCorrupt, NewerSchema; Lance's OSError where the disk is full."""
    from lance.fragment import write_fragments

    lake = Lake.open(share.root)
    schema = share.spec.schema.with_metadata(share.metadata)
    with some_rows(lake, lake.snapshot(share.snapshot), share.spec, share.accessions) as rows:
        made = write_fragments(rows.coming(schema), lake.index_uri(share.spec.recipe.name), schema)
    return [json.dumps(fragment.to_json()) for fragment in made]


def write_all(spread: Spread, lake: Lake, snapshot: int, spec: IndexSpec, shares: Sequence[Sequence[str]], metadata: dict[str, str]) -> Any:
    """The dataset with those shares' rows as its newest version, all of them or none: one commit."""
    import lance
    from lance.fragment import FragmentMetadata

    few = replace(spec, accessions=None)  # a share names its filings itself
    made = spread(write, [Share(lake.root, snapshot, few, tuple(one), metadata) for one in shares])
    fragments = [FragmentMetadata.from_json(one) for some in made for one in some]
    operation = lance.LanceOperation.Overwrite(spec.schema.with_metadata(metadata), fragments)
    return lance.LanceDataset.commit(lake.index_uri(spec.recipe.name), operation)
