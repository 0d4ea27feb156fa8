"""What may be spent, asked before every call: a cap per filing, and one budget that all workers of a run share.

A call is held at the most that it can cost: its input as counted before, or its bytes where no tokenizer is at hand (no token has less than
one), and all the output that it may write. Once answered it counts as what it did cost. A try that ended without an answer may have been
billed: it stays held. So no call is sent that could pass a cap or the budget.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from edgarmill.schemas.disk import refusals
from edgarmill.schemas.errors import LakeCorrupt, OverBudget, OverCap
from edgarmill.schemas.records import Usage
from edgarmill.workers.models.buckets import Tokens

_WIDTH = 40  # bytes of a budget file: one number, written in one piece


@dataclass(frozen=True, slots=True)
class Cost:
    """Tokens and USD of a call, at most or in fact. None = unknown."""

    tokens: int | None
    dollars: Decimal | None


class Budget:
    """USD that a run may spend over all of its processes: one number in a locked file, spent and held together.

    What a killed worker held stays taken; the next run begins a new file.
    """

    def __init__(self, path: str, dollars: Decimal) -> None:
        self._path, self.dollars = path, dollars

    def take(self, amount: Decimal) -> None:
        """Raises OverBudget where it would pass the budget, and takes nothing then."""
        with self._taken() as taken:
            if taken[0] + amount > self.dollars:
                left = max(Decimal(0), self.dollars - taken[0])
                raise OverBudget(f"the next call may cost ${amount:.4f} and ${left:.4f} of ${self.dollars} is left", "budget",
                                 "What is done stays done: run again with --retry-quarantined and a new budget for the rest.")
            taken[0] += amount

    def give_back(self, amount: Decimal) -> None:
        """What was taken and not spent; less than nothing where a call cost more than was held for it."""
        with self._taken() as taken:
            taken[0] -= amount

    @property
    def taken(self) -> Decimal:
        with self._taken() as taken:
            return taken[0]

    @contextmanager
    def _taken(self) -> Iterator[list[Decimal]]:
        with refusals(self._path):
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            before = _number(os.pread(handle, _WIDTH, 0), self._path)
            taken = [before]
            yield taken
            if taken[0] != before:
                with refusals(self._path):
                    os.pwrite(handle, f"{taken[0]:f}".ljust(_WIDTH).encode(), 0)
        finally:
            os.close(handle)


def _number(data: bytes, path: str) -> Decimal:
    try:
        return Decimal(data.decode("ascii").strip()) if data else Decimal(0)
    except (UnicodeDecodeError, InvalidOperation):
        raise LakeCorrupt("the run's budget cannot be read", path, "Nothing more is spent: start a new run.") from None


class Purse:
    """What one filing may spend in one stage, and what it spent. Threads may share it."""

    def __init__(self, subject: str, stage: str, *, tokens: int | None = None, dollars: Decimal | None = None,
                 budget: Budget | None = None, run_id: str = "") -> None:
        self.subject, self.stage, self.run_id = subject, stage, run_id
        self._most, self._budget, self._lock = Cost(tokens, dollars), budget, threading.Lock()
        self._tokens, self._dollars = 0, Decimal(0)
        self._paid: list[tuple[Tokens, str]] = []
        self._hits, self._keys = 0, set[str]()

    def hold(self, most: Cost) -> None:
        """Raises OverCap or OverBudget where a call of this cost could pass what is left, or where its cost cannot be told."""
        with self._lock:
            self._check(most)
            if self._budget is not None:
                self._budget.take(most.dollars or Decimal(0))
            self._tokens += most.tokens or 0
            self._dollars += most.dollars or Decimal(0)

    def _check(self, most: Cost) -> None:
        todo = "Raise the endpoint's filing_tokens or filing_dollars to take it."
        if self._most.tokens is not None and (most.tokens is None or self._tokens + most.tokens > self._most.tokens):
            raise OverCap(f"{self._tokens:,} tokens are spent and the next call may take {most.tokens or 0:,}, of {self._most.tokens:,}",
                          self.subject, todo)
        if most.dollars is None and (self._budget is not None or self._most.dollars is not None):
            raise OverBudget("the model has no price, so no budget or cap in dollars can hold", self.subject,
                             "Give its price under [[prices]] in the settings, or leave the budget out.")
        if self._most.dollars is not None and self._dollars + (most.dollars or 0) > self._most.dollars:
            raise OverCap(f"${self._dollars:.4f} is spent and the next call may cost ${most.dollars:.4f}, of ${self._most.dollars}",
                          self.subject, todo)

    def release(self, held: Cost, spent: Cost) -> None:
        """Counts `spent` in place of what was held. Where it is unknown, what was held stays."""
        with self._lock:
            if spent.tokens is not None:
                self._tokens += spent.tokens - (held.tokens or 0)
            if spent.dollars is not None and held.dollars is not None:
                self._dollars += spent.dollars - held.dollars
                if self._budget is not None:
                    self._budget.give_back(held.dollars - spent.dollars)

    @property
    def payer(self) -> dict[str, str]:
        """Under whose row of the ledger a payment will stand."""
        return {"run_id": self.run_id, "subject": self.subject, "stage": self.stage}

    def paid(self, tokens: Tokens, origin: str, key: str = "") -> None:
        """An answer that was sent for."""
        with self._lock:
            self._paid.append((tokens, origin))
            self._keys.add(key)

    def has_paid(self, key: str) -> bool:
        """Whether this purse paid for the answer under that key."""
        with self._lock:
            return key in self._keys

    def hit(self) -> None:
        """An answer from our own cache."""
        with self._lock:
            self._hits += 1

    def usage(self, model: str, provider: str, tier: str) -> Usage:
        """One row of all calls: tokens of those that were paid. Nothing but answers from our own cache is origin reused, 0 dollars.

        Without seconds: the waiting stands in the row of the stage's own work.
        """
        with self._lock:
            paid = [tokens for tokens, _ in self._paid]
            counted = any(origin == "counted" for _, origin in self._paid)
            origin = "counted" if counted else "provider" if paid else "reused"
            return Usage(
                self.subject, self.stage, model, provider, origin, len(paid),
                input_tokens=_sum([t.input for t in paid], every=True), cached_tokens=_sum([t.cached for t in paid]),
                output_tokens=_sum([t.output for t in paid], every=True),
                dollars=None if paid else Decimal(0), price=None if paid else "reused",
                cache_write_tokens=_sum([t.cache_write for t in paid]), cache_write_hour_tokens=_sum([t.cache_write_hour for t in paid]),
                reasoning_tokens=_sum([t.reasoning for t in paid]), hits=self._hits, tier=tier,
            )


def _sum(counts: list[int | None], every: bool = False) -> int | None:
    """None where none is known, or with `every` where one is not."""
    known = [n for n in counts if n is not None]
    return sum(known) if (len(known) == len(counts) if every else known or not counts) else None
