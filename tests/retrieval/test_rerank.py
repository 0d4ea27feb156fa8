"""Rerankers: each by its name, one way in; a real cross-encoder, token vectors, and a server that misbehaves."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from fake_models import Answer, ModelServer, serving

from edgarmill.retrieval.rerank import Scored, Tools, kinds, reranker
from edgarmill.schemas.errors import EdgarmillError, ModelFailed, SettingsError, UnknownName
from edgarmill.schemas.recipe import EmbeddingModel
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake
from edgarmill.workers.embed.local import open_encoder
from edgarmill.workers.embed.models import resolve

TEXTS = ["Net sales rose on higher prices.", "The board has nine members.", "Gross margin fell as freight costs rose.", ""]
MODEL = resolve(EmbeddingModel(), Settings())


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return Lake.open(str(tmp_path_factory.mktemp("rerank") / "lake"), create=True)


@pytest.fixture(scope="module")
def tools(lake: Lake) -> Tools:
    encoder = open_encoder(MODEL, Settings(device="cpu"))
    return Tools(Settings(device="cpu"), lake, lambda: encoder)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A cross-encoder with random weights and the packaged model's tokenizer."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    folder = tmp_path_factory.mktemp("cross") / "model"
    torch.manual_seed(7)
    config = BertConfig(vocab_size=30522, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, num_labels=1)
    BertForSequenceClassification(config).save_pretrained(folder, safe_serialization=True)
    AutoTokenizer.from_pretrained(MODEL.path).save_pretrained(folder)
    return str(folder)


def test_rerankers_are_known_by_their_files() -> None:
    assert kinds() == ["cross_encoder", "endpoint", "late_interaction"]


def test_a_cross_encoder_scores_each_text_with_the_question(tools: Tools, small: str) -> None:
    rerank = reranker(f"cross_encoder:{small}", tools)
    found = rerank("what happened to margins", TEXTS)
    alone = [rerank("what happened to margins", [text]).scores[0] for text in TEXTS]
    assert found.scores == pytest.approx(alone, abs=1e-5) and len(set(found.scores)) == 4 and found.usage is None
    assert rerank("another question", TEXTS).scores != found.scores
    assert rerank("x", []) == Scored(())
    assert len(rerank("x" * 20_000, ["y " * 20_000]).scores) == 1


def test_late_interaction_is_the_mean_of_each_question_tokens_best_cosine(tools: Tools) -> None:
    rerank = reranker("late_interaction", tools)
    scores = rerank("gross margin and freight costs", TEXTS).scores
    assert max(scores) == scores[2] and scores[3] == 0.0
    assert rerank(TEXTS[2], [TEXTS[2]]).scores[0] == pytest.approx(1.0, abs=1e-4)
    assert rerank("x", []).scores == () and rerank("", TEXTS[:1]).scores == (0.0,)
    assert rerank("gross margin and freight costs", TEXTS[:1]).scores[0] == pytest.approx(scores[0], abs=1e-5)


@pytest.mark.parametrize(("name", "error"), [
    ("magic", UnknownName), ("../search", UnknownName), ("__init__", UnknownName), ("cross_encoder", SettingsError),
    ("cross_encoder:/no/such/folder", UnknownName), ("cross_encoder:x", UnknownName), ("late_interaction:m", SettingsError),
    ("endpoint:", SettingsError), ("endpoint:nowhere/m", UnknownName)])
def test_what_cannot_be_opened_is_said_in_one_line(tools: Tools, name: str, error: type[Exception]) -> None:
    with pytest.raises(error) as caught:
        reranker(name, tools)
    assert "\n" not in str(caught.value)


def test_a_folder_that_holds_no_model_is_said_to_hold_none(tools: Tools, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be loaded"):
        reranker(f"cross_encoder:{tmp_path}", tools)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serving() as found:
        yield found


def hosted(server: ModelServer, lake: Lake, **more: Any) -> Any:
    settings = Settings.model_validate({
        "endpoints": {"jina": {"base_url": server.url, "provider": "jina", "model": "m", "retries": 0, "timeout_seconds": 5}},
        "prices": [{"provider": "jina", "models": ["rr"], "input": "20", "output": "0", "source": "test"}], **more})
    return reranker("endpoint:jina/rr", Tools(settings, lake, lambda: None))


def scored(*scores: float, usage: Any = None, key: str = "results") -> Answer:
    rows = [{"index": n, "relevance_score": s} for n, s in enumerate(scores)]
    return Answer(200, {key: rows[::-1], **({"usage": usage} if usage else {})})


def test_a_hosted_reranker_is_asked_once_and_its_tokens_are_priced(server: ModelServer, tmp_path: Path) -> None:
    lake = Lake.open(str(tmp_path / "lake"), create=True)
    server.then(scored(0.1, 0.9, 0.5, 0.0, usage={"total_tokens": 50}))
    rerank = hosted(server, lake)
    found = rerank("margins", TEXTS)
    assert found.scores == (0.1, 0.9, 0.5, 0.0)
    assert (found.usage.input_tokens, found.usage.dollars, found.usage.model) == (50, Decimal("0.001"), "rr")
    assert server.requests[0].path == "/v1/rerank" and server.requests[0].body == {"model": "rr", "query": "margins", "documents": TEXTS}
    again = hosted(server, lake)("margins", TEXTS)
    assert again.scores == found.scores and len(server.requests) == 1 and again.usage.dollars == 0


def test_a_reranker_billed_by_the_search_has_no_price(server: ModelServer, tmp_path: Path) -> None:
    lake = Lake.open(str(tmp_path / "lake"), create=True)
    server.then(Answer(200, {"results": [{"index": 0, "relevance_score": 0.4}], "meta": {"billed_units": {"search_units": 1}}}))
    found = hosted(server, lake)("x", ["y"])
    assert found.scores == (0.4,) and found.usage.dollars is None and found.usage.input_tokens is None


@pytest.mark.parametrize("answer", [
    Answer(200, {"results": []}), Answer(200, {}), Answer(200, []), scored(0.1), scored(0.1, 0.2, 0.3), scored(float("nan"), 0.2),
    Answer(200, {"results": [{"index": 0, "relevance_score": 1}, {"index": 0, "relevance_score": 2}]}), Answer(500, {}), Answer(400, {}),
    Answer(200, {"results": [{"index": "a", "relevance_score": 1}, 7]})], ids=range(10))
def test_an_answer_that_is_none_is_an_error_and_never_a_score(server: ModelServer, tmp_path: Path, answer: Answer) -> None:
    lake = Lake.open(str(tmp_path / "lake"), create=True)
    server.then(answer)
    with pytest.raises(ModelFailed):
        hosted(server, lake)("x", ["y", "z"])


def test_voyages_form_is_read_too(server: ModelServer, tmp_path: Path) -> None:
    server.then(scored(0.2, 0.7, usage={"total_tokens": 9}, key="data"))
    assert hosted(server, Lake.open(str(tmp_path / "lake"), create=True))("x", ["y", "z"]).scores == (0.2, 0.7)


def test_binary_text_reaches_no_server(server: ModelServer, tmp_path: Path) -> None:
    with pytest.raises(EdgarmillError):
        hosted(server, Lake.open(str(tmp_path / "lake"), create=True))("a\0b", ["y"])
    assert not server.requests
