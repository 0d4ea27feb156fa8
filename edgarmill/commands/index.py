"""index: the versions of the indexes, their checks, and which one is prod."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from edgarmill.options import Given, pass_given, shared
from edgarmill.schemas.errors import UnknownName, UsageError
from edgarmill.terminal import Column, Progress, clean, columns, complain, dollars, listing, share, show, show_json, size

if TYPE_CHECKING:
    from edgarmill.eval.gate import Decision, Outcome
    from edgarmill.eval.rule import Rule
    from edgarmill.schemas.promotions import Promotion
    from edgarmill.schemas.records import IndexVersion
    from edgarmill.schemas.store import Lake, Snapshot

NAMES = (
    "version_id",
    "recipe",
    "recipe_fingerprint",
    "model",
    "model_hash",
    "lance_version",
    "tag",
    "parent",
    "state",
    "filings",
    "chunks",
    "tokens",
    "cut_tokens",
    "bytes",
    "dollars",
    "created_at",
)
COLUMNS = columns(
    "recipe",
    "tag",
    "state",
    "prod",
    "filings",
    "chunks",
    "tokens",
    Column("cut_share", "cut", share),
    Column("bytes", "size", size),
    Column("dollars", "cost", dollars, "unpriced"),
    "created_at:created (UTC)",
)
CHECKS = columns("check", "ok", "expected", "found")
GATE = columns("outcome", "check", "rule", "found")
MOVES = columns("number:no.", "at:at (UTC)", "action", "recipe", "tag", "gate", "reason")
CHANGES = columns("change", "accession", "company", "form", "period_on:period")
SHOWN_CHANGES = 40
named = click.option("--recipe", help="Of which recipe, where two have a version of this name.")


@dataclass(frozen=True)
class Answer:
    """The gate's verdict in a line. `decision` is None where nothing could be asked."""

    outcome: Outcome
    line: str
    decision: Decision | None


@click.group()
@shared
def command() -> None:
    """Index versions: which there are, what they hold, what was checked."""


@command.command("list")
@shared
@pass_given
def list_(given: Given) -> None:
    """Every version, the newest first. `cut` is the share of tokens that the embedding model did not read, of those it was given."""
    listing(rows(given.snapshot()), COLUMNS, as_json=given.json, empty="No index yet: edgarmill ingest makes the first.")


@command.command("show")
@click.argument("tag")
@named
@shared
@pass_given
def show_(given: Given, tag: str, recipe: str | None) -> None:
    """One version by tag (or version id) with each check: expected and found."""
    from edgarmill.schemas.tables import pylist

    snapshot = given.snapshot()
    version = find(rows(snapshot), tag, recipe)
    checks = [c for c in pylist(snapshot.read("checks")) if c["version_id"] == version["version_id"]]
    if given.json:
        return show_json({**version, "checks": checks})
    show([version], COLUMNS)
    print()
    listing(checks, CHECKS, as_json=False, empty="No checks are recorded for this version.")


@command.command("promote")
@click.argument("tag", required=False)
@named
@click.option("--newest", is_flag=True, help="The newest verified version (with --recipe: of that one), whatever its tag.")
@click.option("--reason", help="Why, for who asks later. By hand, and to overrule a gate, it is a must.")
@click.option("--questions", type=click.Path(), help="Ask the gate first: evaluate this version and prod on this question set.")
@click.option("--rule", help="The gate's rule: a TOML file, or one that ships (default).")
@click.option("--override", is_flag=True, help="Promote whatever the gate says; --reason is kept beside its verdict.")
@shared
@pass_given
def promote_(given: Given, tag: str | None, recipe: str | None, newest: bool, reason: str | None, questions: str | None, rule: str | None,
             override: bool) -> int:
    """Make a verified version `prod`: what search, and every reader that follows prod, opens from now on. Versions in use stay readable.

    By hand with a --reason, or through a gate with --questions: it must then be no worse than prod. A gate that does not say pass moves
    nothing and ends with 5 (fail), 6 (undecided) or 7 (not comparable).
    """
    from edgarmill.flows.promote import promote

    if bool(tag) == newest:
        raise click.UsageError("say TAG or --newest.")
    if not questions and (rule or override):
        raise click.UsageError("--rule and --override belong to a gate: say --questions SET.")
    if override and not (reason or "").strip():
        raise click.UsageError("overruling a gate needs a --reason.")
    lake = given.lake()
    version = _meant(lake.snapshot(), tag, recipe)
    if not questions:
        _moved(given, promote(lake, version, reason or ""))
        return 0
    return _through_gate(given, lake, version, questions, rule, reason if override else None)


def _meant(snapshot: Snapshot, tag: str | None, recipe: str | None) -> IndexVersion:
    from edgarmill.retrieval.versions import by_id, newest

    return by_id(snapshot, find(rows(snapshot), tag, recipe)["version_id"]) if tag else newest(snapshot, recipe)


def _through_gate(given: Given, lake: Lake, version: IndexVersion, questions: str, rule: str | None, overruling: str | None) -> int:
    """Promotes on pass, or with a reason that overrules. Gives the exit code of the verdict."""
    from edgarmill.eval import questions as question_sets
    from edgarmill.eval import rule as rules
    from edgarmill.eval.gate import EXIT_CODES
    from edgarmill.flows.promote import check_usable, promote
    from edgarmill.schemas.promotions import promotions

    chosen = rules.load(rule or rules.DEFAULT)
    question_sets.load(questions)  # both are read first: one that is off must not wait for a night with something to promote
    moves = promotions(lake.root)
    if moves and moves[-1].version_id == version.version_id:
        return _is_prod(given, version)
    check_usable(lake, version)
    answer = _asked(given, version, questions, chosen)
    made = None
    if answer.outcome == "pass":
        made = promote(lake, version, "the gate let it through", answer.line, answer.outcome)
    elif overruling:
        made = promote(lake, version, overruling, f"overruled: {answer.line}", answer.outcome)
    _moved_or_not(given, answer, made)
    return 0 if made else EXIT_CODES[answer.outcome]


def _asked(given: Given, version: IndexVersion, questions: str, chosen: Rule) -> Answer:
    """Raises UsageError, LakeLocked."""
    from edgarmill.flows.gate import Asking, ask
    from edgarmill.schemas.errors import NotComparable

    try:
        decision = ask(Asking(given.settings(), questions, given.overrides, given.config, Progress(), complain), version, chosen)
    except NotComparable as error:
        return Answer("not comparable", f"not comparable by rule {chosen.name}: {error}", None)
    return Answer(decision.outcome, decision.line, decision)


def _tell(answer: Answer) -> None:
    """Prints the verdict, the rule line by line beside what was found, and the worst regressions."""
    from edgarmill.commands.compare import tell_moved

    print(clean(answer.line))
    if answer.decision is None:
        return
    print()
    show([{"check": c.check, "rule": c.rule, "found": clean(c.found)[:160], "outcome": c.outcome} for c in answer.decision.checks], GATE)
    for note in answer.decision.notes:
        print(note)
    if answer.decision.comparison is not None:
        found = answer.decision.comparison
        tell_moved(f"Worst regressions of {found.primary}", found.regressions, found.regressed)


def _is_prod(given: Given, version: IndexVersion) -> int:
    if given.json:
        show_json({"promoted": False, "prod": {"recipe": version.recipe, "tag": version.tag}, "gate": None})
    else:
        print(f"{version.recipe} {version.tag} is prod already: nothing to do.")
    return 0


def _moved_or_not(given: Given, answer: Answer, made: Promotion | None) -> None:
    """Tells the verdict and, where prod moved, the webhook."""
    from edgarmill.eval import gate
    from edgarmill.flows.promote import announce
    from edgarmill.schemas.promotions import as_json

    failed = announce(given.settings(), made) if made else None
    if given.json:
        decision = gate.as_json(answer.decision) if answer.decision else None
        show_json({"promoted": made is not None, "outcome": answer.outcome, "line": answer.line, "gate": decision,
                   "prod": as_json(made) if made else None, "webhook": failed})
    else:
        _tell(answer)
        print(f"\n{_now(made)}" if made else "\nprod did not move.")
    if failed:
        complain(failed)


@command.command("rollback")
@click.option("--reason", default="rolled back", show_default=True, help="Why, for who asks later.")
@shared
@pass_given
def rollback_(given: Given, reason: str) -> None:
    """Back to the version that was prod before the current one; again goes back further. Works while a run is writing."""
    from edgarmill.flows.promote import rollback

    _moved(given, rollback(given.lake(), reason))


def _moved(given: Given, made: Promotion) -> None:
    from edgarmill.flows.promote import announce
    from edgarmill.schemas.promotions import as_json

    failed = announce(given.settings(), made)
    if given.json:
        show_json({**as_json(made), "webhook": failed})
    else:
        print(_now(made))
    if failed:
        complain(failed)


def _now(made: Promotion) -> str:
    return f"prod is {made.recipe} {made.tag} (version {made.version_id[:12]}, model {made.model})"


@command.command("history")
@shared
@pass_given
def history_(given: Given) -> None:
    """Every move of prod, the newest first, with its reason."""
    from edgarmill.schemas.promotions import as_json, promotions

    moves = [as_json(one) for one in reversed(promotions(given.lake().root))]
    listing(moves, MOVES, as_json=given.json, empty="Nothing is promoted yet: search takes the newest verified version.")


@command.command("diff")
@click.argument("first")
@click.argument("second")
@click.option("--recipe", help="Of both, where tags have a version in several recipes.")
@shared
@pass_given
def diff_(given: Given, first: str, second: str, recipe: str | None) -> None:
    """What the second version has more, less and otherwise than the first: filings, counts, and what of the recipe differs."""
    from edgarmill.retrieval.versions import by_id, difference

    snapshot = given.snapshot()
    known = rows(snapshot)
    one, other = (by_id(snapshot, find(known, name, recipe)["version_id"]) for name in (first, second))
    found = difference(snapshot, one, other)
    if given.json:
        return show_json(found)
    show([row for row in known if row["version_id"] in (one.version_id, other.version_id)], COLUMNS)
    print()
    for name, values in found["settings"].items():
        print(f"{name}: {values[0]} -> {values[1]}")
    changes = [{"change": change, **row} for change in ("added", "removed", "changed") for row in found[change]]
    listing(changes[:SHOWN_CHANGES], CHANGES, as_json=False, empty="Both hold the same filings with the same bytes.")
    if len(changes) > SHOWN_CHANGES:
        print(f"{len(changes) - SHOWN_CHANGES:,} more: --json lists them all.")


@command.command("verify")
@click.argument("tag", required=False)
@named
@click.option("--reject", is_flag=True, help="Reject it if a check fails: the next ingest of its recipe then writes all its rows anew.")
@shared
@pass_given
def verify_(given: Given, tag: str | None, recipe: str | None, reject: bool) -> int:
    """Check a version again, by default the one that search takes, against what was recorded when it was made. Ends with 4 if one fails."""
    from dataclasses import asdict

    from edgarmill.flows.local import stoppable
    from edgarmill.retrieval.versions import by_id, resolve
    from edgarmill.workers.index import verify_again

    lake = given.lake()
    snapshot = lake.snapshot()
    version = by_id(snapshot, find(rows(snapshot), tag, recipe)["version_id"]) if tag else resolve(snapshot, recipe)
    with stoppable() as struck:
        checks = verify_again(lake, version)
        if struck():  # some check took it for an answer
            raise KeyboardInterrupt
    good = all(check.ok for check in checks)
    if reject and not good:
        from edgarmill.flows import rejection
        from edgarmill.flows.request import new_run_id

        with lake.writer(new_run_id(), "index verify") as writer:
            rejection.reject(lake, writer, version, checks)
    if given.json:
        show_json({"recipe": version.recipe, "tag": version.tag, "ok": good, "checks": [asdict(check) for check in checks]})
        return 0 if good else 4
    print(f"{version.recipe} {version.tag}: {'all checks hold' if good else 'NOT what was recorded'}")
    listing([asdict(check) for check in checks], CHECKS, as_json=False, empty="")
    return 0 if good else 4


def rows(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Every index version, the newest first, manifests left out; `cut_share` is of the tokens that the model was given."""
    from edgarmill.retrieval.versions import versions
    from edgarmill.schemas.promotions import promotions

    moves = promotions(snapshot.root)
    prod = moves[-1].version_id if moves else None
    return [{**{n: getattr(v, n) for n in NAMES}, "cut_share": cut_share(v), "prod": "prod" if v.version_id == prod else ""}
            for v in versions(snapshot, manifests=False)]


def cut_share(version: IndexVersion) -> float | None:
    given = version.tokens + version.cut_tokens
    return version.cut_tokens / given if given else None


def find(found: list[dict[str, Any]], name: str, recipe: str | None) -> dict[str, Any]:
    """The version with this tag or version id, a rejected one too. Raises UnknownName with near names, UsageError for two recipes."""
    fitting = [r for r in found if name in (r["tag"], r["version_id"]) and recipe in (None, r["recipe"])]
    if not fitting:
        near = difflib.get_close_matches(name, [r["tag"] for r in found if r["tag"]], 3)
        raise UnknownName("no such index version", name, f"Near: {', '.join(near)}." if near else "edgarmill index list shows them all.")
    if len({r["recipe"] for r in fitting}) > 1:
        choices = " or ".join(sorted(r["recipe"] for r in fitting))
        raise UsageError("several recipes have a version of this name", name, f"Say --recipe {choices}.")
    return fitting[0]
