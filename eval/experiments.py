"""Experiments: a baseline and arms that change one knob each. Knobs are the fields of `Retriever`, and `recipe`: whose index is asked.

    title = "Hits given"
    metrics = ["AllGold@10", "tokens"]      # shown, the first one first
    published = "one-knob"                  # a ladder of schemas/paper/ladders.toml; left out where none is
    [baseline]
    mode = "vector"
    [[arm]]
    name = "twenty hits"
    k = 20
    [[arm]]
    name = "reranked"
    on = "twenty hits"                      # what it changes; left out: the baseline
    together = true                         # these knobs are one change
    reranker = "late_interaction"
    k_initial = 50

Of an arm that changes several knobs at once nobody could say which of them did it; one that means them as one says `together`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from edgarmill.eval.replay import MODES
from edgarmill.eval.scores import NAMES
from edgarmill.retrieval.retriever import Retriever, retriever_of, shown
from edgarmill.schemas.errors import SettingsError, UnknownName, UsageError
from edgarmill.schemas.files import check_regular, toml_of
from edgarmill.schemas.paper.ladders import ladder

MAX_BYTES = 256 * 1024
MOST_ARMS = 200
BASELINE = "baseline"


class _Arm(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow")
    name: str = Field(min_length=1, max_length=60)
    on: str = BASELINE
    together: bool = False

    @property
    def knobs(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    title: str = Field("", max_length=200)
    about: str = Field("", max_length=2000)
    metrics: tuple[str, ...] = Field((), max_length=12)
    published: str = ""
    baseline: dict[str, Any] = Field(default_factory=dict)
    arm: tuple[dict[str, Any], ...] = Field((), max_length=MOST_ARMS)


@dataclass(frozen=True, slots=True)
class Arm:
    """One setting of an experiment. `recipe` "" = that of the version asked for; `changes`: its knobs beside what it builds on."""

    name: str
    retriever: Retriever
    recipe: str = ""
    changes: str = ""


@dataclass(frozen=True, slots=True)
class Experiment:
    """`problems`: arms of the file that are none, one line each; the others go on."""

    name: str
    title: str
    about: str
    metrics: tuple[str, ...]
    published: str
    arms: tuple[Arm, ...]
    problems: tuple[str, ...] = ()
    path: str = ""  # of a user's own file, as it was given

    @property
    def asked(self) -> str:
        """What names it on the command line."""
        return self.path or self.name


def by_modes(modes: tuple[str, ...] = MODES, knobs: Mapping[str, Any] | None = None) -> tuple[Arm, ...]:
    """What is asked where no experiment is named: every mode with the knobs given. Raises UsageError."""
    given = dict(knobs or {})
    if "recipe" in given:
        raise UsageError("recipe is no knob here", shown(given["recipe"]), "Say --recipe.")
    return tuple(Arm(mode, retriever_of({**given, "mode": mode})) for mode in modes)


def shipped() -> list[str]:
    """Names of the experiments that ship with edgarmill."""
    folder = resources.files("edgarmill") / "eval" / "ladders"
    return sorted(p.name.removesuffix(".toml") for p in folder.iterdir() if p.name.endswith(".toml"))


def load(name: str) -> Experiment:
    """A shipped experiment by name, or a TOML file by path. Raises UnknownName, SettingsError, both in one line."""
    if name in shipped():
        text = (resources.files("edgarmill") / "eval" / "ladders" / f"{name}.toml").read_text(encoding="utf-8")
        return parse(text, name)
    if not name.endswith(".toml") and "/" not in name:
        raise UnknownName("no such experiment", name[:60], f"Shipped: {', '.join(shipped())}; or give the path of a TOML file.")
    check_regular(name)
    try:
        with Path(name).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise SettingsError(f"experiment has more than {MAX_BYTES:,} bytes", name, "Give a TOML file of arms.")
        return replace(parse(data.decode("utf-8"), Path(name).stem), path=name)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"experiment cannot be read ({type(error).__name__})", name, "Give a readable TOML file.") from None


def parse(text: str, name: str) -> Experiment:
    """Raises SettingsError where the file as a whole, or its baseline, is none; an arm that is none becomes a problem."""
    told = toml_of(text, "experiment", name)
    try:
        file = _File.model_validate(told)
        baseline = _arm(BASELINE, file.baseline)
    except ValidationError as error:
        raise SettingsError(f"experiment: {_first(error)}", name, "The form is in eval/experiments.py.") from None
    except UsageError as error:
        raise SettingsError(f"baseline: {error.what} {error.subject}".strip(), name, error.todo) from None
    _check_shown(file, name)
    arms, problems = {BASELINE: (baseline, dict(file.baseline))}, []
    for number, given in enumerate(file.arm, 1):
        what = _add(arms, given)
        if what:
            named = given.get("name", "without name")
            problems.append(f"arm {number} ({repr(named[:40]) if isinstance(named, str) else shown(named)}): {what}")
    return Experiment(name, file.title or name, file.about, file.metrics, file.published, tuple(arm for arm, _ in arms.values()),
                      tuple(problems))


def _check_shown(file: _File, name: str) -> None:
    """What is shown in the end is looked up at the beginning: an evaluation may take hours. Raises SettingsError."""
    strange = [metric for metric in file.metrics if metric.removesuffix("_low").removesuffix("_high") not in NAMES]
    if strange:
        near = get_close_matches(strange[0], NAMES, 3) or sorted(NAMES)
        raise SettingsError(f"experiment: metrics: no such metric: {strange[0][:40]}", name, f"Known: {', '.join(near)}.")
    try:
        _ = ladder(file.published) if file.published else None
    except UnknownName as error:
        raise SettingsError(f"experiment: published: {error.what}: {error.subject}", name, error.todo) from None


def _add(arms: dict[str, tuple[Arm, dict[str, Any]]], given: Mapping[str, Any]) -> str:
    """Adds an arm; or says in a line why it is none."""
    try:
        asked = _Arm.model_validate(given)
    except ValidationError as error:
        return _first(error)
    if asked.name in arms:
        return "the name was there before"
    if asked.on not in arms:
        return f"it builds on {asked.on[:40]!r}, which is no arm before it"
    before = arms[asked.on][1]
    if not asked.knobs:
        return "it changes nothing"
    if len(asked.knobs) > 1 and not asked.together:
        return f"it changes {' and '.join(asked.knobs)} at once: one knob an arm, or together = true"
    knobs = {**before, **asked.knobs}
    try:
        made = _arm(asked.name, knobs)
    except UsageError as error:
        return " ".join(f"{error.what} {error.subject}. {error.todo}".split())
    changes = ", ".join(f"{name} = {value}" for name, value in asked.knobs.items())
    arms[asked.name] = (replace(made, changes=changes), knobs)
    return ""


def _arm(name: str, knobs: Mapping[str, Any]) -> Arm:
    """Raises UsageError."""
    recipe = knobs.get("recipe", "")
    if not isinstance(recipe, str):
        raise UsageError("recipe is not a name", shown(recipe), "Name the recipe of an index.")
    return Arm(name, retriever_of({knob: value for knob, value in knobs.items() if knob != "recipe"}), recipe)


def knobs_of(arm: Arm) -> dict[str, Any]:
    """All knobs of an arm that are not as in a plain Retriever."""
    plain = asdict(Retriever())
    return {name: value for name, value in asdict(arm.retriever).items() if value != plain[name]}


def _first(error: ValidationError) -> str:
    one = error.errors()[0]
    return f"{'.'.join(str(part) for part in one['loc'])}: {one['msg']}"
