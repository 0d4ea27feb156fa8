"""An evaluation as rows: its id, what it says of itself, and its scores. It searches nothing and writes nothing."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from edgarmill import __version__
from edgarmill.eval.experiments import Arm, Experiment
from edgarmill.eval.metrics import Judged, judged_questions
from edgarmill.eval.questions.question_set import QuestionSet
from edgarmill.eval.replay import RULE, EvaluationKey, Replay
from edgarmill.eval.resolve import Resolved
from edgarmill.eval.scores import METRICS, Place, scores
from edgarmill.eval.stored import Stored, ranked_of
from edgarmill.retrieval.retriever import Retriever
from edgarmill.retrieval.search import EXACT_ROWS, OVER_FETCH
from edgarmill.schemas.ids import digest, fingerprint, sha256
from edgarmill.schemas.records import Asked, EvaluationRow, GoldRow, IndexVersion, Ranking, Score
from edgarmill.schemas.snapshot import Snapshot

HITS = 10  # that the rank metrics look at
LIBRARIES = ("ir-measures", "pytrec-eval-terrier", "numpy", "pylance")


@dataclass(frozen=True, slots=True)
class Named:
    """How an evaluation is called: the set and the arm."""

    set_name: str
    questions_hash: str
    arm: str
    experiment: str | None = None
    engine: str = "loop"


@dataclass(frozen=True, slots=True)
class Result:
    """One evaluation as it stands in the lake. `stored`: it was there before this run."""

    arm: Arm
    evaluation: EvaluationRow
    scores: tuple[Score, ...]
    stored: bool


@dataclass(frozen=True, slots=True)
class Evaluated:
    """All evaluations that were asked for, in order. `skipped`: what was not evaluated and why, a line each."""

    asked: QuestionSet
    resolved: Resolved
    results: tuple[Result, ...]
    skipped: tuple[str, ...]
    experiment: Experiment | None
    versions: Mapping[str, IndexVersion]

    @property
    def stored(self) -> bool:
        return all(result.stored for result in self.results)


def evaluation_id(version_id: str, set_hash: str, retriever: Retriever) -> str:
    """The same for the same index version, questions, texts, rule of relevance and knobs, whatever the arm is called."""
    return digest(version_id, set_hash, retriever.hash, HITS, RULE)


def key_of(version_id: str, set_hash: str, retriever: Retriever) -> EvaluationKey:
    return EvaluationKey(evaluation_id(version_id, set_hash, retriever), set_hash, version_id)


def row_of(key: EvaluationKey, version: IndexVersion, retriever: Retriever, rows: Sequence[GoldRow], played: Replay,
           named: Named) -> EvaluationRow:
    """What an evaluation says of itself."""
    judged, counts = judged_questions(rows)
    corpus = json.loads(version.manifest or "{}").get("corpus", {}).get("sha256", {})
    return EvaluationRow(
        key.evaluation_id, key.set_hash, named.questions_hash, named.set_name, version.version_id, version.recipe, version.tag,
        sha256(version.manifest.encode()), fingerprint(corpus), json.dumps(asdict(retriever), sort_keys=True), retriever.hash,
        named.experiment, named.arm, retriever.k, len(played.asked), len(judged), counts["null_questions"], counts["unresolved_questions"],
        sum(one.error is not None for one in played.asked), len(played.rankings), METRICS, software(named.engine), datetime.now(UTC))


def software(engine: str = "loop") -> str:
    """JSON of what the figures depend on beside the index: libraries, constants of the search, and whether searches ran beside others."""
    return json.dumps({"edgarmill": __version__, "engine": engine, "over_fetch": OVER_FETCH, "exact_rows": EXACT_ROWS,
                       **{name: _version(name) for name in LIBRARIES}}, sort_keys=True)


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def scored(evaluation: EvaluationRow, rows: Sequence[GoldRow], played: Replay, places: Mapping[str, Place]) -> list[Score]:
    """Scores of what was just replayed."""
    return _scored(evaluation, judged_questions(rows)[0], ranked_of(played.rankings), {a.question_id: a for a in played.asked}, places)


def rescored(found: Stored, places: Mapping[str, Place]) -> list[Score]:
    """Scores of a stored evaluation from its rows: the same as when it was made, by today's definitions."""
    return _scored(found.evaluation, found.judged, found.ranked, found.asked, places)


def _scored(evaluation: EvaluationRow, judged: Sequence[Judged], ranked: Mapping[str, Sequence[Ranking]], asked: Mapping[str, Asked],
            places: Mapping[str, Place]) -> list[Score]:
    mode = str(json.loads(evaluation.retriever)["mode"])
    return scores(evaluation, mode, sorted(judged, key=lambda q: q.question_id), ranked, asked, places)


def places_of(snapshot: Snapshot, rows: Iterable[GoldRow]) -> dict[str, Place]:
    """Form and fiscal year of the filings that gold is in, by accession."""
    wanted = {row.document_id.rpartition(":")[0] for row in rows if row.document_id}
    table = snapshot.read("filings", ["accession", "form", "family", "fiscal_year"], {"accession": sorted(wanted)})
    return {row["accession"]: (row["form"] if row["family"] in (None, "", "other") else row["family"], row["fiscal_year"])
            for row in table.to_pylist()}
