"""What a context or a tree asks of a model, and what becomes of the filing where no good answer comes.

A malformed answer, a cap, or text that is none: the filing falls back to the metadata context or the structural tree, and its rows say why.
No answer at all, or no budget left: it is set aside, to be tried again. In each case what was paid is on record.

Of the asks of a filing that share a text the first is made alone: once it is answered the provider has that text in its cache, and the
others, made at once, read it at the cached price. They follow closely, for such a cache lives for minutes: as many windows go on together
as the endpoint takes calls. A batch is one turn: its provider answers in an order of its own, at the batch price.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from edgarmill.schemas.endpoints import Endpoint
from edgarmill.schemas.errors import BadFile, BadInput, MalformedAnswer, ModelFailed, OverBudget, OverCap, SettingsError
from edgarmill.schemas.prices import price_set
from edgarmill.schemas.recipe import Kind
from edgarmill.schemas.records import Chunk, Document, Filing, Usage
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake
from edgarmill.workers import chunk, context
from edgarmill.workers.context import Ask

if TYPE_CHECKING:
    from edgarmill.workers.models.client import Client
    from edgarmill.workers.models.purse import Budget, Purse

FALLBACK = "metadata"


@dataclass(frozen=True, slots=True)
class Answered:
    """What was found, or why the filing falls back, or the error that sets it aside; and what it cost."""

    usage: Usage
    found: Any = None
    fallback: str | None = None  # class of the error
    error: BadInput | None = None


@dataclass(frozen=True, slots=True)
class Asker:
    """A context or tree that asks a model, with the client that does."""

    kind: Kind
    client: Client
    budget: Budget | None
    run_id: str = ""
    stage: str = "context"
    ready: dict[str, Answered] = field(default_factory=dict)  # by accession: what `ask_ahead` found

    def ask_ahead(self, filings: Sequence[tuple[Filing, Sequence[Document], Sequence[Chunk]]]) -> None:
        """Asks for many filings together what each is asked once, or what goes in a batch; `ask` then has it at hand. Raises as `ask`."""
        module = context.contextualizer(self.kind.kind)
        options = chunk.options(module.Options, self.kind.options, "context")
        asks = {filing.accession: module.asks(filing, documents, chunks, options) for filing, documents, chunks in filings}
        if self.client.endpoint.tier != "batch" and any(len(mine) > 1 for mine in asks.values()):
            return
        purses = {accession: self._purse(accession) for accession in asks}
        flat = [(accession, ask) for accession, mine in asks.items() for ask in mine]
        given = self.client.ask_all(module.FORM, [(ask.messages, purses[accession]) for accession, ask in flat])
        for accession, purse in purses.items():
            mine = [(ask, answer) for (owner, ask), answer in zip(flat, given, strict=True) if owner == accession]
            failed = next((answer for _, answer in mine if isinstance(answer, ModelFailed | OverBudget)), None)
            found = None if failed else {key: answer for ask, answer in mine for key in ask.chunks}
            self.ready[accession] = Answered(self.client.usage(purse), found, error=failed)

    def ask(self, filing: Filing, documents: Sequence[Document], chunks: Sequence[Chunk]) -> Answered:
        """What the recipe's context asks of a filing: by chunk id what it says, or the BadInput that makes the chunk fall back."""
        if (ready := self.ready.pop(filing.accession, None)) is not None:
            return ready
        module = context.contextualizer(self.kind.kind)
        options = chunk.options(module.Options, self.kind.options, "context")
        asks = module.asks(filing, documents, chunks, options)

        def found(purse: Purse) -> dict[str, Any]:
            answers: dict[str, Any] = {}
            for turn in _turns(asks, self.client.endpoint):
                given = self.client.ask_each(module.FORM, [ask.messages for ask in turn], purse)
                answers |= {key: answer for ask, answer in zip(turn, given, strict=True) for key in ask.chunks}
            return answers

        return self.answered(filing.accession, found)

    def answered(self, accession: str, work: Callable[[Purse], Any]) -> Answered:
        """What `work` finds with a purse of the filing's own, or what becomes of the filing; and what was spent, either way."""
        purse = self._purse(accession)
        found, fallback, failed = None, None, None
        try:
            found = work(purse)
        except (MalformedAnswer, OverCap, BadFile) as error:
            fallback = error.reason
        except (ModelFailed, OverBudget) as error:
            failed = error
        return Answered(self.client.usage(purse), found, fallback, failed)

    def _purse(self, accession: str) -> Purse:
        return self.client.purse(accession, self.stage, self.budget, self.run_id)


def _turns(asks: Sequence[Ask], endpoint: Endpoint) -> Iterator[list[Ask]]:
    """The asks that go out at once, turn by turn: of some windows the first of each, then the others of these."""
    if endpoint.tier == "batch":
        yield list(asks)
        return
    windows = [list(same) for _, same in groupby(asks, lambda ask: (ask.instruction, ask.shared))]
    for n in range(0, len(windows), endpoint.concurrency):
        some = windows[n : n + endpoint.concurrency]
        yield [window[0] for window in some]
        yield [ask for window in some for ask in window[1:]]


def endpoint_for(kind: Kind, settings: Settings) -> Endpoint | None:
    """The endpoint of a context that asks a model, with the recipe's model; None for one that asks none.

    Raises UnknownName, SettingsError: no such endpoint, no key, or a budget though the model has no price.
    """
    module = context.contextualizer(kind.kind)
    if not getattr(module, "ASKS_MODEL", False):
        return None
    options = chunk.options(module.Options, kind.options, "context")
    return endpoint_of(options, settings)


def endpoint_of(options: Any, settings: Settings) -> Endpoint:
    """The endpoint that a plug-in's options name, with their model. Raises as `endpoint_for`."""
    return endpoint_at(str(getattr(options, "endpoint", "")), str(getattr(options, "model", "")), settings)


def endpoint_at(name: str, model: str, settings: Settings, units: Sequence[str] = ("input", "output")) -> Endpoint:
    """The endpoint of that name with that model; `units` are what a budget or cap in dollars needs a price of. Raises as `endpoint_for`."""
    endpoint = settings.endpoint(name, model)
    if settings.budget_dollars is not None or endpoint.filing_dollars is not None:
        _check_priced(endpoint, settings, units)
    return endpoint


def _check_priced(endpoint: Endpoint, settings: Settings, units: Sequence[str]) -> None:
    prices, today = price_set(settings.prices), datetime.now(UTC).date()
    if any(prices.find(endpoint.provider, endpoint.model, unit, endpoint.tier, today) is None for unit in units):
        what = f"{endpoint.provider} {endpoint.model} has no {endpoint.tier} price, so no budget or cap in dollars can hold"
        todo = "Give its price under [[prices]] in the settings, or leave budget and cap out."
        raise SettingsError(what, f"endpoints.{endpoint.provider}", todo)


def open_asker(kind: Kind, settings: Settings, root: str, run_id: str) -> Asker | None:
    """The asker of a recipe's context, None for one that asks nothing. All workers of a run share its budget. Raises as `endpoint_for`."""
    endpoint = endpoint_for(kind, settings)
    return None if endpoint is None else asker_at(endpoint, kind, settings, root, run_id)


def asker_at(endpoint: Endpoint, kind: Kind, settings: Settings, root: str, run_id: str, stage: str = "context") -> Asker:
    """An asker for the calls of one stage."""
    from edgarmill.workers.models.client import Client
    from edgarmill.workers.models.purse import Budget

    lake = Lake.open(root)
    dollars: Decimal | None = settings.budget_dollars
    budget = None if dollars is None else Budget(os.path.join(lake.folder("calls"), f"budget-{run_id or 'none'}"), dollars)
    return Asker(kind, Client(endpoint, lake, price_set(settings.prices), booked=_Ledger(lake, endpoint.model, stage)), budget, run_id,
                 stage)


class _Ledger:
    """Who has a row of paid calls in the lake; read at the first question, since a run works on a filing only once."""

    def __init__(self, lake: Lake, model: str, stage: str) -> None:
        self._lake, self._model, self._stage = lake, model, stage
        self._rows: set[tuple[str, str]] | None = None

    def __call__(self, payer: Mapping[str, Any]) -> bool:
        if self._rows is None:
            where = (pc.field("stage") == self._stage) & (pc.field("model") == self._model) & (pc.field("calls") > 0)
            found = self._lake.snapshot().read("usage", ["run_id", "subject"], where)
            self._rows = set(zip(found["run_id"].to_pylist(), found["subject"].to_pylist(), strict=True))
        return (payer.get("run_id"), payer.get("subject")) in self._rows
