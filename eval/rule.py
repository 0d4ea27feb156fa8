"""A gate's rule: what an index version must show before it becomes prod. A TOML file; eval/rules/default.toml is one, with its reasons.

    primary = "coverage@2000t"      # the metric that decides, named before anything is looked at
    margin = 0.03                   # pass: the lower bound of its difference to prod is above -margin; a share, so this is 3 points
    questions = 50                  # judged ones, below which nothing is decided

    [labels]                        # of the set, not of the index
    unresolved = 0.05               # share of questions with evidence that is found in no text
    failed = 0.0                    # share of questions that ended with an error

    [floors]                        # metric, or its bound METRIC_low = at least, or {at_least = 0.5, questions = 20}: with its own number
                                    # of judged questions
    [ceilings]                      # latency_p95_seconds, tokens, usd: at most, a question; tokens and usd are means
    [growth]                        # the same: at most so many times prod's

    [coverage]                      # against prod's manifest; filings that were removed on purpose are not missed
    filings_lost = 0
    companies_lost = 0
    forms_lost = 0
    chunks_lost = 0.02              # share, where the recipe is the same
    corpus_may_change = true        # may other filings be in it at all?

    [retriever]                     # how the questions are asked: fields of retrieval.retriever.Retriever
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from edgarmill.eval.compare import NO_QUALITY
from edgarmill.eval.metrics import NAMES
from edgarmill.retrieval.retriever import Retriever, retriever_of
from edgarmill.schemas.errors import SettingsError, UnknownName, UsageError
from edgarmill.schemas.files import check_regular, toml_of
from edgarmill.schemas.ids import fingerprint

DEFAULT = "default"
MOST_BYTES = 65_536
MOST = 10**9  # of what is counted
MARGIN = "It is a share, above 0 and below 1: 3 points are 0.03."
FORM = "See eval/rules/default.toml for the form."


class _Part(BaseModel):
    """Strict: `true` is no 1, and text no number."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)


class Labels(_Part):
    unresolved: float = Field(0.05, ge=0, le=1)
    failed: float = Field(0.0, ge=0, le=1)


class Floor(_Part):
    at_least: float
    questions: int | None = Field(None, ge=1, le=MOST)


class Limits(_Part):
    """Of what a question takes. None = no limit."""

    latency_p95_seconds: float | None = Field(None, gt=0)
    tokens: float | None = Field(None, gt=0)
    usd: float | None = Field(None, gt=0)

    @property
    def given(self) -> dict[str, float]:
        return {name: limit for name, limit in self.model_dump().items() if limit is not None}


class Kept(_Part):
    """What of prod's corpus must still be there. None = not looked at."""

    filings_lost: int | None = Field(0, ge=0, le=MOST)
    companies_lost: int | None = Field(0, ge=0, le=MOST)
    forms_lost: int | None = Field(0, ge=0, le=MOST)
    chunks_lost: float | None = Field(0.02, ge=0, le=1)
    corpus_may_change: bool = True


class Rule(_Part):
    name: str = ""
    primary: str
    margin: float = Field(gt=0, lt=1)
    questions: int = Field(ge=1, le=MOST)
    labels: Labels = Labels()
    floors: dict[str, float | Floor] = {}
    ceilings: Limits = Limits()
    growth: Limits = Limits()
    coverage: Kept = Kept()
    retriever: dict[str, Any] = {}

    @property
    def hash(self) -> str:
        """16 hex digits; the name is not in it."""
        return fingerprint(self.model_dump(exclude={"name"}, mode="json"))

    @property
    def asks(self) -> Retriever:
        return retriever_of(self.retriever)


def shipped() -> list[str]:
    folder = resources.files("edgarmill") / "eval" / "rules"
    return sorted(p.name.removesuffix(".toml") for p in folder.iterdir() if p.name.endswith(".toml"))


def load(name: str = DEFAULT) -> Rule:
    """A shipped rule by name, or a TOML file by path. Raises UnknownName or SettingsError, both in one line."""
    if not (name.endswith(".toml") or "/" in name):
        if name not in shipped():
            raise UnknownName("no such rule", name[:80], f"Shipped: {', '.join(shipped())}; or give the path of a TOML file.")
        return parse((resources.files("edgarmill") / "eval" / "rules" / f"{name}.toml").read_text(encoding="utf-8"), name)
    check_regular(name)
    try:
        with open(name, "rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise SettingsError(f"rule of more than {MOST_BYTES:,} bytes", name, "Give a rule.")
        return parse(data.decode("utf-8"), name)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"rule cannot be read ({type(error).__name__})", name, "Give a readable TOML file.") from None


def parse(text: str, where: str) -> Rule:
    """A rule from TOML text; `where` is named in errors, and names it. Raises SettingsError."""
    told = toml_of(text, "rule", where)
    try:
        rule = Rule.model_validate({"name": Path(where).stem, **told})
        _ = rule.asks
    except ValidationError as error:
        first = error.errors()[0]
        todo = MARGIN if first["loc"] == ("margin",) else FORM
        raise SettingsError(f"rule: {'.'.join(str(p) for p in first['loc'])[:120]}: {first['msg']}", where, todo) from None
    except UsageError as error:
        raise SettingsError(f"rule: retriever: {error.what} {error.subject}".strip(), where, error.todo) from None
    _check_names(rule, where)
    return rule


def _check_names(rule: Rule, where: str) -> None:
    """A name that is no metric's would be looked up for ever and never measured."""
    deciding = [name for name in NAMES if not name.startswith(NO_QUALITY)]
    if rule.primary not in deciding:
        raise SettingsError(f"rule: primary: no such metric of quality: {rule.primary[:40]}", where, _near(rule.primary, deciding))
    bounded = [*NAMES, *(f"{name}_{side}" for name in NAMES for side in ("low", "high"))]
    for name in rule.floors:
        if name not in bounded:
            raise SettingsError(f"rule: floors: no such metric: {name[:40]}", where, _near(name, NAMES))


def _near(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, 3)
    return f"Near: {', '.join(near)}." if near else f"Metrics: {', '.join(sorted(known))}."
