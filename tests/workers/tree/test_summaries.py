"""Summaries: from the leaves up, each text read once, and nobody asked what is short."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from documents import Parsed, parsed

from edgarmill.schemas.errors import BadInput, OverCap
from edgarmill.schemas.recipe import EmbeddingModel
from edgarmill.schemas.settings import Settings
from edgarmill.workers.embed.models import resolve
from edgarmill.workers.embed.tokens import Tokenizer
from edgarmill.workers.outline import walk
from edgarmill.workers.summaries import Summary, summarised
from edgarmill.workers.tree import structural

MORE = ", and so on" * 8
TOKENIZER = Tokenizer(resolve(EmbeddingModel(), Settings()).tokenizer_path)


def prose(name: str, sentences: int = 12) -> str:
    return " ".join(f"Sentence {name}{n} tells what came of it." for n in range(sentences))


class Model:
    """Answers every ask with a summary that can be told apart; keeps what it was shown."""

    def __init__(self, fails: str = "\0") -> None:
        self.turns: list[list[str]] = []
        self.fails = fails

    def __call__(self, form: type[Summary], asks: Sequence[list[dict[str, str]]], most: int) -> list[Summary | BadInput]:
        texts = [ask[-1]["content"] for ask in asks]
        self.turns.append(texts)
        return [OverCap("no more") if self.fails in t else form(summary=f"summary of {' '.join(t.split()[:2])}{MORE}") for t in texts]

    @property
    def shown(self) -> str:
        return "\n".join(text for turn in self.turns for text in turn)


def report() -> Parsed:
    return parsed([("heading", "Alpha one"), ("paragraph", prose("a")), ("heading 2", "Beta two"), ("paragraph", prose("b")),
                   ("heading 2", "Gamma three"), ("paragraph", prose("c")), ("heading", "Delta four"), ("paragraph", prose("d")),
                   ("heading", "Short five"), ("paragraph", "Nothing.")])


def written(model: Model, given: Parsed | None = None, **options: Any) -> dict[str, tuple[str | None, str | None, str | None, int]]:
    """By title: summary, how, why there is none, and tokens cut."""
    given = given or report()
    made = structural.Options(**{"summaries": "all", "min_characters": 0, **options})
    root = structural.build(given.document, given.elements, given.sections, made)
    found = summarised(root, given.document.text, made, TOKENIZER, model)
    assert set(found) == {node for node, _, _ in walk(root)}
    assert all(found[n].tokens == TOKENIZER.count(_own(n, given)) for n in found)
    return {n.title: (w.summary, w.how, w.why, w.cut) for n, w in found.items()}


def _own(node: Any, given: Parsed) -> str:
    from edgarmill.workers.outline import own_text

    return own_text(node, given.document.text)


def test_a_parent_is_told_its_children_s_summaries_and_each_text_is_read_once() -> None:
    model = Model()
    found = written(model)
    assert [len(turn) for turn in model.turns] == [3, 1, 1]
    assert [model.shown.count(f"Sentence {name}7 ") for name in "abcd"] == [1, 1, 1, 1]
    alpha = model.turns[1][0]
    assert "- Beta two: summary of Beta two" in alpha and "- Gamma three: summary of Gamma three" in alpha
    assert found["Alpha one"] == (f"summary of Alpha one{MORE}", "model", None, 0)
    assert "- Alpha one: summary of Alpha one" in model.turns[2][0]


def test_a_text_as_short_as_a_summary_is_its_own() -> None:
    model = Model()
    assert written(model)["Short five"] == ("Short five\n\nNothing.", "text", None, 0)
    assert "- Short five\n\nNothing." in model.turns[-1][0]
    assert not any(text.startswith("Short five") for turn in model.turns for text in turn)


def test_a_text_longer_than_the_window_is_cut_at_its_end_and_counted() -> None:
    model = Model()
    long = parsed([("heading", "Alpha one"), ("paragraph", prose("a", 200)), ("heading", "Beta two"), ("paragraph", prose("b"))])
    found = written(model, long, window_tokens=500)
    assert found["Alpha one"][3] == TOKENIZER.count(f"Alpha one\n\n{prose('a', 200)}") - 500
    assert "Sentence a10 " in model.shown and "Sentence a199 " not in model.shown
    assert TOKENIZER.count(model.turns[0][0]) <= 500


def test_a_summary_longer_than_allowed_is_cut() -> None:
    def wordy(form: type[Summary], asks: Sequence[Any], most: int) -> list[Summary]:
        return [form(summary="very " * 400)] * len(asks)

    found = written(wordy, summary_tokens=20)  # type: ignore[arg-type]
    assert TOKENIZER.count(found["Delta four"][0] or "") == 20


def test_one_ask_that_fails_leaves_its_node_without_and_says_why() -> None:
    model = Model(fails="Sentence b")
    found = written(model)
    assert found["Beta two"] == (None, None, "OverCap", 0)
    assert found["Gamma three"][1] == "model"
    assert "- Beta two\n" in model.turns[1][0]


@pytest.mark.parametrize(("rule", "asked"), [
    ({"levels": [1]}, {"Alpha one", "Delta four"}),
    ({"items": ["II.7"]}, set()),
    ({"items": ["1"]}, {"Item 1. Title 1", "Beta two", "Gamma three"}),
    ({"questions": ["summary"], "levels": [2, 9], "items": ["I.1"]}, {"Item 1. Title 1"}),
    ({"least_tokens": 300}, {"Alpha one"}),
])
def test_summaries_only_where_a_rule_asks(rule: dict[str, Any], asked: set[str]) -> None:
    given = report()
    if asked & {"Item 1. Title 1"} or "items" in rule:
        blocks = [("heading", "Alpha one"), ("paragraph", prose("a")), ("heading 2", "Beta two"), ("paragraph", prose("b")),
                  ("heading 2", "Gamma three"), ("paragraph", prose("c")), ("heading", "Delta four"), ("paragraph", prose("d"))]
        given = parsed(blocks, {0: ("1",), 6: ("2",)})
    found = written(Model(), given, summaries="rule", rule=rule)
    assert {t for t, (_, how, _, _) in found.items() if how == "model"} == asked
