"""May this index version become prod? A rule (rule.py) held against its evaluation and that of prod, on one question set.

Every line of the rule is a check with an outcome of its own, and the worst outcome is the gate's:

  fail             surely worse: the primary metric's interval lies below 0 (and its p says so) and reaches below -margin; or a floor, a
                   ceiling or the coverage is broken
  not comparable   nothing can be said about quality: labels that no longer resolve, questions that ended with an error, another set,
                   other texts
  undecided        too few questions, or the interval reaches below -margin without lying below 0
  pass             all checks do. Of the primary metric: the interval's lower bound is above -margin

"Labels no longer resolve" is apart from "quality fell": where labels are broken, no metric is judged, but what the corpus lost is.
The first version, with no prod before it, is held against floors and ceilings alone. Where the two versions hold other filings, that is
said.
Only metrics of stored rankings decide: no model's opinion.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from edgarmill.eval.certainty import LEVEL, Difference
from edgarmill.eval.compare import Comparison, percentile, seconds, why_not
from edgarmill.eval.metrics import by_metric
from edgarmill.eval.rule import Floor, Kept, Rule
from edgarmill.eval.scores import summary
from edgarmill.eval.stored import Stored
from edgarmill.schemas.records import EvaluationRow, IndexVersion
from edgarmill.schemas.snapshot import Snapshot

Outcome = Literal["pass", "undecided", "not comparable", "fail"]
ORDER: tuple[Outcome, ...] = ("pass", "undecided", "not comparable", "fail")
EXIT_CODES: dict[Outcome, int] = {"pass": 0, "fail": 5, "undecided": 6, "not comparable": 7}
REMOVED = "removed"  # status of a filing that was taken out on purpose


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the rule, as it reads, and what was found."""

    check: str
    rule: str
    found: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Corpus:
    """What of prod's corpus the new version lacks; accessions, names and forms. `chunks`: share of chunks lost, None for another recipe."""

    filings: tuple[str, ...]
    companies: tuple[str, ...]
    forms: tuple[str, ...]
    chunks: float | None
    removed: int  # filings that were taken out on purpose
    added: int
    changed: int  # other bytes

    @property
    def same(self) -> bool:
        return not (self.filings or self.removed or self.added or self.changed)


@dataclass(frozen=True, slots=True)
class Decision:
    """`comparison` is None for the first version, and where evaluations cannot be compared."""

    outcome: Outcome
    rule: Rule
    checks: tuple[Check, ...]
    notes: tuple[str, ...]
    comparison: Comparison | None
    evaluation: EvaluationRow
    before: EvaluationRow | None
    looks: int = 0  # other versions that this set was asked about before

    @property
    def line(self) -> str:
        """Verdict and why, in a line."""
        decisive = [c for c in self.checks if c.outcome == self.outcome and (self.outcome != "pass" or c.check == self.rule.primary)]
        why = "; ".join(_why(c) for c in decisive[:3]) + (f"; and {len(decisive) - 3} more" if len(decisive) > 3 else "")
        return f"{self.outcome} by rule {self.rule.name} on {self.evaluation.set_name}" + (f": {why}" if why else "")


def _why(check: Check) -> str:
    """What was found, and what was asked for where that is not it."""
    return f"{check.check}: {check.found}" + ("" if check.outcome == "pass" else f" (asked: {check.rule})")


def as_json(decision: Decision) -> dict[str, Any]:
    """Plain values: the rule, its checks, the comparison with all its figures."""
    return {**asdict(decision), "rule": decision.rule.model_dump(mode="json")}


def decide(rule: Rule, new: Stored, prod: Stored | None, comparison: Comparison | None, corpus: Corpus | None, outside: int = 0,
           unasked: str = "") -> Decision:
    """`comparison`: of prod with the new version, where there is one; `corpus`: None for the first version; `outside`: judged questions
    with evidence in filings that the new version lacks; `unasked`: why prod has no evaluation."""
    checks = tuple(_labels(rule, new, prod, unasked))
    if all(check.outcome == "pass" for check in checks):
        checks += (*_quality(rule, comparison), *_floors(rule, new))
    checks += (_enough(rule, new.evaluation), *_limits(rule, new, prod), *_coverage(rule.coverage, corpus))
    worst = max((check.outcome for check in checks), key=ORDER.index)
    before = prod.evaluation if prod else None
    return Decision(worst, rule, checks, tuple(_notes(corpus, outside)), comparison, new.evaluation, before)


def corpus_of(snapshot: Snapshot, before: IndexVersion, after: IndexVersion) -> Corpus:
    """What the one's manifest has and the other's has not."""
    had, has = accessions(before), accessions(after)
    wanted = ["accession", "ciks", "company", "form", "status"]
    rows = {row["accession"]: row for row in snapshot.read("filings", wanted).select(wanted).to_pylist()}
    gone = had.keys() - has.keys()
    removed = {key for key in gone if rows.get(key, {}).get("status") == REMOVED}
    then, now = ([rows[key] for key in keys if key in rows] for keys in (had.keys() - removed, has.keys()))
    names = {row["ciks"][0]: row["company"] or row["ciks"][0] for row in then if row["ciks"]}
    companies = names.keys() - {row["ciks"][0] for row in now if row["ciks"]}
    forms = {row["form"] for row in then if row["form"]} - {row["form"] for row in now}
    chunks = max(0.0, 1 - after.chunks / before.chunks) if before.recipe_fingerprint == after.recipe_fingerprint and before.chunks else None
    return Corpus(tuple(sorted(gone - removed)), tuple(sorted(names[cik] for cik in companies)), tuple(sorted(forms)), chunks, len(removed),
                  len(has.keys() - had.keys()), sum(had[key] != has[key] for key in had.keys() & has.keys()))


def accessions(version: IndexVersion) -> dict[str, str]:
    """Hash of the source of every filing in the version, by accession."""
    found: dict[str, str] = json.loads(version.manifest)["corpus"]["sha256"]
    return found


def outside(new: Stored, version: IndexVersion) -> int:
    """Judged questions with evidence in a filing that the version lacks: it cannot find that, and they count 0."""
    has = accessions(version)
    return sum(any((g.document_id or "").rpartition(":")[0] not in has for g in q.gold) for q in new.judged)


def _labels(rule: Rule, new: Stored, prod: Stored | None, unasked: str) -> Iterator[Check]:
    e = new.evaluation
    asked = e.judged + e.unresolved
    resolve = e.judged > 0 and e.unresolved <= rule.labels.unresolved * asked
    yield Check("labels", f"at most {rule.labels.unresolved:.0%} of the questions have evidence that is found nowhere",
                f"{e.unresolved:,} of {asked:,}" + ("" if resolve else ": labels no longer resolve"),
                "pass" if resolve else "not comparable")
    for which, stored in (("", new), (" of prod", prod)):
        if stored is not None:
            failed, n = stored.evaluation.failed, stored.evaluation.questions
            error = next((f": {one.error}" for one in stored.asked.values() if one.error), "")
            yield Check(f"errors{which}", f"at most {rule.labels.failed:.0%} of the questions end with an error",
                        f"{failed:,} of {n:,}{error}", "pass" if failed <= rule.labels.failed * n else "not comparable")
    reason = why_not(prod.evaluation, e) if prod else unasked
    if reason:
        yield Check("same questions", "prod was asked the same questions over the same texts", reason, "not comparable")


def _enough(rule: Rule, new: EvaluationRow) -> Check:
    return Check("questions", f"at least {rule.questions:,} judged", f"{new.judged:,}",
                 "pass" if new.judged >= rule.questions else "undecided")


def _quality(rule: Rule, comparison: Comparison | None) -> Iterator[Check]:
    if comparison is not None:
        d = comparison.metric(rule.primary).difference
        yield Check(rule.primary, f"lower bound of the difference to prod above -{rule.margin:g}", shown(d), no_worse(d, rule.margin))


def no_worse(d: Difference, margin: float) -> Outcome:
    """pass, fail or undecided by this module's rule."""
    if d.low is None or d.high is None:
        return "undecided"
    if d.low > -margin:
        return "pass"
    return "fail" if d.high < 0 and d.p is not None and d.p <= LEVEL else "undecided"


def shown(d: Difference) -> str:
    """`0.412 -> 0.409, -0.003 [-0.010 0.004], n 187`."""
    if d.first is None or d.second is None or d.mean is None:
        return "not measured"
    bounds = "no interval" if d.low is None or d.high is None else f"[{d.low:.3f} {d.high:.3f}]"
    return f"{d.first:.3f} -> {d.second:.3f}, {d.mean:+.3f} {bounds}, n {d.questions:,}"


def _floors(rule: Rule, new: Stored) -> Iterator[Check]:
    found = {metric: (value, n) for metric, value, n in summary(new.judged, by_metric(new.judged, new.ranked, new.asked))}
    for metric, floor in rule.floors.items():
        least = floor if isinstance(floor, Floor) else Floor(at_least=floor)
        value, n = found.get(metric, (None, 0))
        low, high = (found.get(f"{metric}_{side}", (None, 0))[0] for side in ("low", "high"))
        text = f"at least {least.at_least:g}" + (f" over {least.questions:,} questions" if least.questions else "")
        if value is None:
            yield Check(metric, text, "not measured", "undecided")
            continue
        told = f"{value:.3f}" + (f" [{low:.3f} {high:.3f}]" if low is not None and high is not None else "") + f", n {n:,}"
        enough = n >= (least.questions or 1)
        yield Check(metric, text, told, "undecided" if not enough else "pass" if value >= least.at_least else "fail")


def _limits(rule: Rule, new: Stored, prod: Stored | None) -> Iterator[Check]:
    now = taken(new)
    for name, most in rule.ceilings.given.items():
        yield Check(name, f"at most {most:g} a question", *_limited(name, now, most))
    for name, times in rule.growth.given.items() if prod else ():
        before = taken(prod)[name] if prod else None
        if before is None:
            yield Check(f"{name} beside prod", f"at most {times:g} times prod's", "not measured of prod", "pass")
        else:
            found, outcome = _limited(name, now, times * before)
            yield Check(f"{name} beside prod", f"at most {times:g} times prod's", f"{before:.4g} -> {found}", outcome)


def taken(stored: Stored) -> dict[str, float | None]:
    """What a question took, by the names of Limits, over those that ended without an error."""
    answered = [one for one in stored.asked.values() if not one.error]
    tokens = [float(one.tokens) for one in answered if one.tokens is not None]
    dollars = [float(one.usd or 0) for one in answered]
    unpriced = any(one.input_tokens and one.usd is None for one in answered)
    return {"latency_p95_seconds": percentile(seconds(answered), 95), "tokens": sum(tokens) / len(tokens) if tokens else None,
            "usd": sum(dollars) / len(dollars) if dollars and not unpriced else None}


def _limited(name: str, now: Mapping[str, float | None], most: float) -> tuple[str, Outcome]:
    value = now[name]
    if value is None:
        return "not measured", "undecided"
    return f"{value:.4g}", "pass" if value <= most else "fail"


def _coverage(kept: Kept, corpus: Corpus | None) -> Iterator[Check]:
    if corpus is None:
        return
    for name, most, lost in (("filings", kept.filings_lost, corpus.filings), ("companies", kept.companies_lost, corpus.companies),
                             ("forms", kept.forms_lost, corpus.forms)):
        if most is not None:
            which = f": {', '.join(lost[:3])}{' …' if len(lost) > 3 else ''}" if lost else ""
            yield Check(f"{name} of prod", f"at most {most:,} lost", f"{len(lost):,} lost{which}", "pass" if len(lost) <= most else "fail")
    if kept.chunks_lost is not None and corpus.chunks is not None:
        yield Check("chunks of prod", f"at most {kept.chunks_lost:.0%} fewer", f"{corpus.chunks:.1%} fewer",
                    "pass" if corpus.chunks <= kept.chunks_lost else "fail")
    if not kept.corpus_may_change:
        yield Check("corpus", "the same filings as prod, with the same bytes", "the same" if corpus.same else moved(corpus),
                    "pass" if corpus.same else "not comparable")


def moved(corpus: Corpus) -> str:
    """What of the corpus changed, in a line."""
    parts = {"added": corpus.added, "changed": corpus.changed, "removed on purpose": corpus.removed, "lost": len(corpus.filings)}
    return ", ".join(f"{n:,} filing{'s' * (n != 1)} {what}" for what, n in parts.items() if n)


def _notes(corpus: Corpus | None, outside: int) -> Iterator[str]:
    if corpus is None:
        yield "No version is prod yet: floors and ceilings alone were asked for."
    elif not corpus.same:
        yield f"The corpus changed: {moved(corpus)}. A difference may be the corpus's and not the index's."
    if outside:
        yield f"Judged questions with evidence in filings that this version lacks: {outside:,}. They count 0."
