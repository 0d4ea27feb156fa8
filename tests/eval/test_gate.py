"""The gate's outcomes, each from the cause that it is for."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from stored_evaluations import NOON, stored
from tiny_lake import accession, commit, filing, rows_of

from edgarmill.eval import rule as rules
from edgarmill.eval.certainty import Difference
from edgarmill.eval.compare import compare
from edgarmill.eval.gate import EXIT_CODES, Corpus, Decision, corpus_of, decide, no_worse, outside
from edgarmill.eval.rule import Rule
from edgarmill.eval.stored import Stored
from edgarmill.schemas.errors import SettingsError, UnknownName, UsageError
from edgarmill.schemas.records import IndexVersion
from edgarmill.schemas.store import Lake

RULE = Rule.model_validate({"name": "test", "primary": "nDCG@10", "margin": 0.03, "questions": 30})
GOOD = [1] * 60
SAME = Corpus((), (), (), 0.0, 0, 0, 0)


def asked(tmp_path: Path, before: Stored | None, after: Stored, rule: Rule = RULE, corpus: Corpus | None = SAME) -> Decision:
    lake = Lake.open(str(tmp_path / "lake"), create=True)
    comparison = None
    if before and before.evaluation.set_hash == after.evaluation.set_hash:
        comparison = compare(lake.snapshot(), before, after, rule.primary)
    return decide(rule, after, before, comparison, corpus if before else None)


def outcomes(decision: Decision) -> dict[str, str]:
    return {check.check: check.outcome for check in decision.checks}


def test_the_same_version_passes(tmp_path: Path) -> None:
    found = asked(tmp_path, stored("a", GOOD), stored("b", GOOD, seconds=0.9))
    assert found.outcome == "pass" and EXIT_CODES[found.outcome] == 0
    assert found.line == "pass by rule test on set: nDCG@10: 1.000 -> 1.000, +0.000 [0.000 0.000], n 60"
    assert found.notes == ()


def test_a_certain_loss_fails_and_a_doubtful_one_is_undecided(tmp_path: Path) -> None:
    lost = asked(tmp_path, stored("a", GOOD), stored("b", [None if n % 4 == 0 else 1 for n in range(60)]))
    assert (lost.outcome, EXIT_CODES[lost.outcome]) == ("fail", 5)
    assert "nDCG@10: 1.000 -> 0.750" in lost.line
    doubtful = asked(tmp_path, stored("a", GOOD), stored("b", [None if n < 3 else 1 for n in range(60)]))
    assert (doubtful.outcome, EXIT_CODES[doubtful.outcome]) == ("undecided", 6), "three questions of one document prove nothing"


@pytest.mark.parametrize(("low", "high", "p", "outcome"), [
    (-0.029, 0.01, 0.4, "pass"),
    (-0.029, -0.001, 0.01, "pass"),  # surely a little worse, and surely by less than the margin
    (-0.03, 0.01, 0.2, "undecided"),
    (-0.2, -0.1, 0.001, "fail"),
    (-0.2, -0.01, 0.06, "undecided"),  # few documents: the test does not bear the interval out
    (0.01, 0.2, 0.01, "pass"),
    (None, None, None, "undecided"),
])
def test_the_margin_decides_by_the_interval(low: float | None, high: float | None, p: float | None, outcome: str) -> None:
    assert no_worse(Difference(60, 20, 0.5, 0.4, low, high, p, 0, 6), 0.03) == outcome


def test_labels_that_no_longer_resolve_are_no_fall_of_quality(tmp_path: Path) -> None:
    broken = stored("b", [None] * 60, unresolved=10)
    found = asked(tmp_path, stored("a", GOOD), broken)
    assert (found.outcome, EXIT_CODES[found.outcome]) == ("not comparable", 7)
    assert "10 of 70: labels no longer resolve" in found.line
    assert "nDCG@10" not in outcomes(found), "no metric is judged"


def test_other_questions_other_texts_and_errors_are_not_comparable(tmp_path: Path) -> None:
    other = asked(tmp_path, stored("a", GOOD, set_hash="t"), stored("b", GOOD))
    assert other.outcome == "not comparable" and "resolved on other texts" in other.line
    failed = stored("b", GOOD, failed=1)
    failed.asked["q000"] = replace(failed.asked["q000"], error="the endpoint did not answer")  # type: ignore[index]
    found = asked(tmp_path, stored("a", GOOD), failed)
    assert found.outcome == "not comparable" and "1 of 60: the endpoint did not answer" in found.line


def test_a_lost_company_fails_even_where_labels_are_broken(tmp_path: Path) -> None:
    lost = Corpus((accession(1), accession(4)), ("Company B",), (), None, 0, 0, 0)
    found = asked(tmp_path, stored("a", GOOD), stored("b", GOOD, unresolved=30), corpus=lost)
    assert found.outcome == "fail"
    assert outcomes(found)["companies of prod"] == outcomes(found)["filings of prod"] == "fail"
    assert "1 lost: Company B" in found.line


def test_a_changed_corpus_is_said_and_may_be_forbidden(tmp_path: Path) -> None:
    grown = Corpus((), (), (), 0.0, 0, 3, 1)
    assert asked(tmp_path, stored("a", GOOD), stored("b", GOOD), corpus=grown).notes == (
        "The corpus changed: 3 filings added, 1 filing changed. A difference may be the corpus's and not the index's.",)
    strict = Rule.model_validate({**RULE.model_dump(), "coverage": {"corpus_may_change": False}})
    assert asked(tmp_path, stored("a", GOOD), stored("b", GOOD), strict, grown).outcome == "not comparable"
    assert asked(tmp_path, stored("a", GOOD), stored("b", GOOD), strict).outcome == "pass"


def test_fewer_chunks_with_the_same_recipe_fail(tmp_path: Path) -> None:
    found = asked(tmp_path, stored("a", GOOD), stored("b", GOOD), corpus=Corpus((), (), (), 0.1, 0, 0, 0))
    assert outcomes(found)["chunks of prod"] == "fail"


def test_too_few_questions_decide_nothing(tmp_path: Path) -> None:
    assert asked(tmp_path, stored("a", [1] * 12), stored("b", [1] * 12)).outcome == "undecided"


def ruled(**more: Any) -> Rule:
    return Rule.model_validate({"name": "test", "primary": "nDCG@10", "margin": 0.03, "questions": 30, **more})


def test_floors_count_the_questions_behind_them(tmp_path: Path) -> None:
    rule = ruled(floors={
        "hit@5": 0.9, "AllGold@10_g2": {"at_least": 0.1, "questions": 20}, "doc_hit@5": {"at_least": 0.5, "questions": 60}})
    found = outcomes(asked(tmp_path, None, stored("b", [1, 1, 1, None, 1, 1] * 10), rule))
    assert found["hit@5"] == "fail" and found["doc_hit@5"] == "pass"
    assert found["AllGold@10_g2"] == "undecided", "no question has two pieces of gold"


def test_the_first_version_is_held_against_floors_alone_and_that_is_said(tmp_path: Path) -> None:
    found = asked(tmp_path, None, stored("b", GOOD), ruled(floors={"hit@5": 0.5}))
    assert (found.outcome, found.before, found.comparison) == ("pass", None, None)
    assert found.notes == ("No version is prod yet: floors and ceilings alone were asked for.",)


def test_ceilings_and_growth_are_of_what_a_question_takes(tmp_path: Path) -> None:
    rule = ruled(ceilings={"latency_p95_seconds": 0.5, "usd": 0.01}, growth={"tokens": 1.2, "usd": 1.5})
    quick, slow = stored("a", GOOD), stored("b", GOOD, seconds=0.7)
    assert outcomes(asked(tmp_path, quick, quick, rule))["latency_p95_seconds"] == "pass"
    assert outcomes(asked(tmp_path, quick, slow, rule))["latency_p95_seconds"] == "fail"
    dear = outcomes(asked(tmp_path, stored("a", GOOD, usd=Decimal("0.004")), stored("b", GOOD, usd=Decimal("0.008")), rule))
    assert (dear["usd"], dear["usd beside prod"], dear["tokens beside prod"]) == ("pass", "fail", "pass")
    unpriced = stored("b", GOOD)
    unpriced.asked["q000"] = replace(unpriced.asked["q000"], input_tokens=900)  # type: ignore[index]
    assert outcomes(asked(tmp_path, quick, unpriced, rule))["usd"] == "undecided", "paid, and nobody knows what"


def version(name: str, *numbers: int, chunks: int = 100, fingerprint: str = "f") -> IndexVersion:
    manifest = json.dumps({"corpus": {"sha256": {accession(n): f"bytes {n}" for n in numbers}}})
    return IndexVersion(name, "tiny", fingerprint, "m", "h", 1, "t", None, "verified", len(numbers), chunks, 1, 0, 1, None, manifest, NOON)


def test_what_prod_had_is_missed_unless_it_was_removed_on_purpose(tmp_path: Path) -> None:
    lake = Lake.open(str(tmp_path / "lake"), create=True)
    rows = [rows_of(filing(n, status="removed") if n == 5 else filing(n), 1) for n in range(6)]
    snapshot = commit(lake, "one", rows)  # companies A, B, C in turn; 2 and 5 are the 10-Qs
    found = corpus_of(snapshot, version("a", 0, 1, 2, 3, 4, 5), version("b", 0, 3, 4, chunks=60))
    assert found.filings == (accession(1), accession(2)) and found.removed == 1
    assert found.companies == ("Company C",) and found.forms == ("10-Q",)
    assert found.chunks == pytest.approx(0.4) and not found.same
    assert corpus_of(snapshot, version("a", 0), version("b", 0, 1, chunks=50, fingerprint="g")) == Corpus((), (), (), None, 0, 1, 0)


def test_evidence_in_filings_that_the_version_lacks_is_counted(tmp_path: Path) -> None:
    new = stored("b", GOOD, per_document=20)  # documents of filings 0, 1 and 2
    assert outside(new, version("b", 0, 1)) == 20
    found = decide(RULE, new, None, None, None, 20)
    assert found.notes[-1].startswith("Judged questions with evidence in filings that this version lacks: 20.")


def test_the_shipped_rule_reads_and_has_an_id_of_its_content(tmp_path: Path) -> None:
    shipped = rules.load()
    assert (shipped.name, shipped.primary, shipped.asks.mode) == ("default", "coverage@2000t", "hybrid")
    text = (Path(rules.__file__).parent / "rules" / "default.toml").read_text(encoding="utf-8")
    own = tmp_path / "own.toml"
    own.write_text(text, encoding="utf-8")
    assert rules.load(str(own)).hash == shipped.hash and rules.load(str(own)).name == "own"
    own.write_text(text.replace("margin = 0.03", "margin = 0.05"), encoding="utf-8")
    assert rules.load(str(own)).hash != shipped.hash


READS = 'primary = "MRR@5"\nmargin = 0.1\nquestions = 1\n'


@pytest.mark.parametrize(("text", "says"), [
    ("primary = ", "not TOML"),
    ('primary = "x"', "margin: Field required"),
    ('primary = "x"\nmargin = -1\nquestions = 1', "margin: Input should be greater than 0"),
    ('primary = "x"\nmargin = nan\nquestions = 1', "margin: Input should be a finite number"),
    ('primary = "x"\nmargin = 3\nquestions = 1', "less than 1. It is a share, above 0 and below 1: 3 points are 0.03."),
    ('primary = "x"\nmargin = true\nquestions = 1', "margin: Input should be a valid number. It is a share"),
    ('primary = "x"\nmargin = 0.1\nquestions = true', "questions: Input should be a valid integer"),
    ('primary = "x"\nmargin = 0.1\nquestions = 0x' + "f" * 5_000, "questions: Input should be less than or equal to"),
    (READS + '[ceiling]\nusd = 1', "ceiling: Extra inputs are not permitted"),
    (READS + '[ceilings]\nusd = true', "ceilings.usd: Input should be a valid number"),
    (READS + '[coverage]\nforms_lost = false', "coverage.forms_lost: Input should be a valid integer"),
    (READS + '[coverage]\ncorpus_may_change = 0', "coverage.corpus_may_change: Input should be a valid boolean"),
    (READS + '[floors]\n"hit@5" = true', "floors.hit@5.float: Input should be a valid number"),
    (READS + '[floors]\n"hit@7" = 0.1', "floors: no such metric: hit@7. Near: "),
    (READS + '[floors]\n"category:multi-hop" = 0.1', "floors: no such metric: category:multi-hop. "),
    (READS.replace("MRR", "MMR"), "primary: no such metric of quality: MMR@5. Near: MRR@5"),
    (READS.replace("MRR@5", "tokens"), "primary: no such metric of quality: tokens. "),
    (READS + '[retriever]\nmode = "guess"', "no such mode"),
    (READS + '[retriever]\nspeed = 1', "no such setting of a retriever"),
    (READS + '[retriever]\nmodel = {x = 1}', "model is {'x': 1}, no text"),
    (READS + '[retriever]\nspelling = "no"', "spelling is 'no', neither true nor false"),
    (READS + '[retriever]\nk = ' + "1" * 5_000, "not TOML: it holds a number of too many digits"),
    (READS + '[retriever]\nk = 0x' + "f" * 5_000, "a number of very many digits"),
    ("#" * 70_000, "more than 65,536 bytes"),
])
def test_a_rule_that_is_none_is_told_in_a_line(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "rule.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as error:
        rules.load(str(file))
    assert says in str(error.value) and "\n" not in str(error.value)


def test_a_metric_that_there_is_and_these_questions_have_not_is_undecided(tmp_path: Path) -> None:
    rule = rules.parse(READS.replace("MRR@5", "page_hit@5") + '[floors]\n"page_hit@10" = 0.1\n"hit@5_low" = 0.1\n', "rule.toml")
    found = asked(tmp_path, stored("a", GOOD), stored("b", GOOD), rule)
    assert outcomes(found) | {"page_hit@5": "undecided", "page_hit@10": "undecided", "hit@5_low": "pass"} == outcomes(found)
    assert found.outcome == "undecided" and "page_hit@5: not measured" in found.line


def test_a_rule_that_is_not_there_names_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="Shipped: default"):
        rules.load("strict")
    with pytest.raises(SettingsError, match="cannot be read .FileNotFoundError"):
        rules.load(str(tmp_path / "none.toml"))
