"""What may be spent: by a filing, and by all workers of a run together."""

from __future__ import annotations

import subprocess
import sys
import threading
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgarmill.schemas.errors import LakeCorrupt, OverBudget, OverCap
from edgarmill.workers.models.buckets import Tokens
from edgarmill.workers.models.purse import Budget, Cost, Purse

D = Decimal
WORKER = """
import sys
from decimal import Decimal
from edgarmill.schemas.errors import OverBudget
from edgarmill.workers.models.purse import Budget
budget, taken = Budget(sys.argv[1], Decimal("1")), 0
try:
    while True:
        budget.take(Decimal("0.01"))
        taken += 1
        budget.give_back(Decimal("0.003"))
except OverBudget:
    print(taken)
"""


def test_processes_together_never_pass_a_budget(tmp_path: Path) -> None:
    path = str(tmp_path / "budget")
    workers = [subprocess.Popen([sys.executable, "-c", WORKER, path], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    taken = sum(int(worker.communicate()[0]) for worker in workers)
    assert Budget(path, D(1)).taken == taken * D("0.007")
    assert taken * D("0.007") <= 1 < taken * D("0.007") + D("0.01")


def test_threads_together_never_pass_a_budget(tmp_path: Path) -> None:
    budget, refused = Budget(str(tmp_path / "budget"), D("0.5")), []

    def spend() -> None:
        for _ in range(20):
            try:
                budget.take(D("0.01"))
            except OverBudget as error:
                refused.append(error)

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (budget.taken, len(refused)) == (D("0.5"), 30)


def test_a_budget_outlives_its_process_and_a_broken_one_spends_nothing(tmp_path: Path) -> None:
    path = tmp_path / "budget"
    Budget(str(path), D(1)).take(D("0.75"))
    with pytest.raises(OverBudget, match=r"\$0.3000 and \$0.2500 of \$1 is left"):
        Budget(str(path), D(1)).take(D("0.3"))
    path.write_bytes(b"\xff\xff")
    with pytest.raises(LakeCorrupt, match="budget"):
        Budget(str(path), D(1)).take(D("0.01"))


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), max_size=20), st.integers(0, 5000))
@settings(deadline=None)
def test_a_cap_is_never_passed_whatever_calls_are_asked_for(calls: list[tuple[int, int]], most: int) -> None:
    purse, spent = Purse("a", "s", tokens=most), 0
    for held, real in calls:
        real = min(held, real)
        try:
            purse.hold(Cost(held, None))
        except OverCap:
            assert spent + held > most
            continue
        spent += real
        purse.release(Cost(held, None), Cost(real, None))
        assert spent <= most


def test_a_cap_in_dollars_counts_what_is_held(tmp_path: Path) -> None:
    purse = Purse("a", "s", dollars=D("0.10"), budget=Budget(str(tmp_path / "budget"), D(1)))
    purse.hold(Cost(10, D("0.06")))
    with pytest.raises(OverCap, match=r"\$0.0600 is spent and the next call may cost \$0.0500"):
        purse.hold(Cost(10, D("0.05")))
    purse.release(Cost(10, D("0.06")), Cost(5, D("0.01")))
    purse.hold(Cost(10, D("0.05")))
    assert Budget(str(tmp_path / "budget"), D(1)).taken == D("0.06")


def test_one_row_sums_the_calls_and_one_that_is_unknown_makes_the_sum_unknown() -> None:
    purse = Purse("a", "s")
    purse.paid(Tokens(1, 2, output=3), "provider")
    purse.paid(Tokens(10, output=30, reasoning=5), "provider")
    purse.hit()
    row = purse.usage("m", "p", "standard")
    assert (row.input_tokens, row.cached_tokens, row.cache_write_tokens, row.output_tokens, row.reasoning_tokens) == (11, 2, None, 33, 5)
    assert (row.calls, row.hits, row.origin, row.dollars, row.tier) == (2, 1, "provider", None, "standard")
    purse.paid(Tokens(), "provider")
    assert purse.usage("m", "p", "standard").input_tokens is None
    purse.paid(Tokens(1, output=1), "counted")
    assert purse.usage("m", "p", "standard").origin == "counted"
