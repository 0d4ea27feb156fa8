"""Any sequence of commits, drops, retries and housekeeping gives exactly the rows of a plain list."""

from __future__ import annotations

import tempfile

from hypothesis import given, settings
from hypothesis import strategies as st

from edgarmill.schemas.records import Section
from edgarmill.schemas.store import Drop, Lake, write_part

ACCESSIONS = st.sampled_from("abcde")
STEPS = st.one_of(
    st.tuples(st.just("commit"), st.lists(st.lists(ACCESSIONS, max_size=4), max_size=3), st.frozensets(ACCESSIONS, max_size=2)),
    st.tuples(st.just("retry"), st.integers(0, 9), st.none()),
    st.tuples(st.just("vacuum"), st.integers(1, 3), st.none()),
    st.tuples(st.just("compact"), st.integers(0, 3), st.none()),
)


def row(accession: str, ordinal: int) -> Section:
    return Section(f"{accession}:1", accession, "", "7", "", 0, 1, 1, 1, None, "heading", ordinal)


@settings(max_examples=30, deadline=None)
@given(st.lists(STEPS, max_size=8))
def test_a_lake_holds_the_rows_of_a_list(steps: list[tuple[str, object, object]]) -> None:
    with tempfile.TemporaryDirectory() as root:
        lake, model, written = Lake.open(root, create=True), [], 0
        past: dict[int, list[Section]] = {0: []}
        for step, what, drop in steps:
            with lake.writer("run") as writer:
                if step == "commit":
                    assert isinstance(what, list)
                    assert isinstance(drop, frozenset)
                    groups = [[row(a, written + 10 * i + j) for j, a in enumerate(group)] for i, group in enumerate(what)]
                    parts = [write_part(root, "sections", "p", group, "run") for group in groups]
                    writer.commit(parts, key=f"k{written}", drop=[Drop("sections", "accession", drop)])
                    model = [r for r in model if r.accession not in drop] + [r for group in groups for r in group]
                    written += 100
                elif step == "retry":
                    again = write_part(root, "sections", "p", [row("z", -1)], "run")
                    if written:
                        writer.commit([again], key=f"k{written - 100}", drop=[Drop("sections", "accession", frozenset("abcde"))])
                elif step == "vacuum":
                    assert isinstance(what, int)
                    writer.vacuum(grace_seconds=-60, keep=what)
                else:
                    assert isinstance(what, int)
                    writer.compact(most=what)
            now = lake.snapshot()
            past[now.number] = model
            assert now.records("sections") == model
            assert now.count("sections") == len(model)
            for number in lake.numbers():
                assert lake.snapshot(number).records("sections", {"item": ["7"]}) == past[number]
