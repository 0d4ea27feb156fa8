"""The verbs answer and answers, each a process of its own against a scripted server: what is printed, kept, and not asked again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from answering import REFUSED, by_form, reply, shown
from fake_models import ModelServer, failure, serving
from small_ingest import World, accession

from edgarmill.schemas.store import Lake

Edgarmill = Callable[..., Any]
SALES = "$2,101 million"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serving() as found:
        yield found


@pytest.fixture
def lake(world: World, tmp_path: Path) -> Path:
    return Path(shutil.copytree(world.lake, tmp_path / "lake"))


def config(folder: Path, server: ModelServer) -> Path:
    file = folder / "settings.toml"
    file.write_text(f'[endpoints.house]\nbase_url = "{server.url}"\nmodel = "small"\nretries = 0\nconcurrency = 1\n', encoding="utf-8")
    return file


def questions(folder: Path) -> Path:
    """One whose answer is a figure, one without an answer."""
    rows = [{"id": "sales", "question": "What were the net sales of division 1?", "category": "single-hop", "answer": SALES,
             "gold": [{"accession": accession(1), "quote": f"Its net sales amounted to {SALES}"}]},
            {"id": "none", "question": "Who is the king of pumps?", "category": "null", "answer": "", "gold": []}]
    file = folder / "set.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return file


def test_a_set_is_answered_judged_told_and_not_asked_again(edgarmill: Edgarmill, lake: Path, prefect: str, server: ModelServer,
                                                           tmp_path: Path) -> None:
    server.reply = by_form(
        Reply=lambda request: reply(f"{SALES}.", 1, text=f"Net sales amounted to {SALES}.")
        if "net sales of division 1" in request.body["messages"][1]["content"].rpartition("Question")[2] else REFUSED,
        GoldVerdict={"reason": "the same", "label": "correct"})
    words = ("answers", questions(tmp_path), "--model", "endpoint:house", "--judge", "endpoint:house/large", "--mode", "keyword", "--lake",
             lake, "--config", config(tmp_path, server), "--set", f"prefect_api_url={prefect}")
    ran = edgarmill(*words, "--json")
    assert ran.code == 0, ran.err
    told = json.loads(ran.out)
    assert (told["fresh"], told["questions"], told["gold"]["correct"]["value"], told["numbers"]["0.5 %"]["value"]) == (2, 2, 1, 1)
    assert told["abstained"]["value"] == 1 and told["claims"]["supported"] == told["claims"]["by_string"] == 1 and not told["errors"]
    snapshot, requests = Lake.open(str(lake)).snapshot(), len(server.requests)
    assert snapshot.count("answers") == 2 and snapshot.count("judgements") == 4 and requests == 3
    again = edgarmill(*words)
    assert again.code == 0, again.err
    assert "0 of 2 questions answered now" in again.out and "correct" in again.out and "Advisory" in again.out
    assert len(server.requests) == requests and Lake.open(str(lake)).snapshot().count("answers") == 2


def test_what_failed_is_named_with_its_reason_and_a_silent_judge_is_no_success(
        edgarmill: Edgarmill, lake: Path, prefect: str, server: ModelServer, tmp_path: Path) -> None:
    answered = by_form(Reply=reply(f"{SALES}.", 1, text=f"Sales were {SALES}."))
    server.reply = lambda request: failure(500) if request.body["model"] == "large" else answered(request)
    words = ("answers", questions(tmp_path), "--mode", "keyword", "--lake", lake, "--config", config(tmp_path, server), "--set",
             f"prefect_api_url={prefect}", "--model")
    ran = edgarmill(*words, "endpoint:house", "--judge", "endpoint:house/large")
    assert ran.code == 3 and "Not judged, and in no figure: 1 ModelFailed" in ran.out
    server.reply = lambda request: failure(500)
    ran = edgarmill(*words, "endpoint:house/other")
    assert ran.code == 3 and "failed sales: ModelFailed (" in ran.out and "500" in ran.out.split("failed sales")[1]


def test_one_question_is_answered_with_its_places_and_nothing_of_it_is_kept_but_the_models_word(
        edgarmill: Edgarmill, lake: Path, server: ModelServer, tmp_path: Path) -> None:
    server.reply = by_form(Reply=reply(f"{SALES}.", 1, text=f"Sales were {SALES}."))
    words = ("answer", "What were the net sales of division 1?", "--model", "endpoint:house", "--mode", "keyword", "--lake", lake,
             "--config", config(tmp_path, server))
    ran = edgarmill(*words)
    assert ran.code == 0, ran.err
    first = shown(server.requests[0])[0]
    assert f"{SALES}." in ran.out and f"- Sales were {SALES}." in ran.out and "characters" in ran.out and first["text"]
    assert "plain, house/small: 1 calls, 14 tokens, unpriced" in ran.out
    again = json.loads(edgarmill(*words, "--json").out)
    assert (again["calls"], again["hits"], again["seconds"], again["citations"][0]["number"]) == (0, 1, None, 1)
    assert len(server.requests) == 1 and Lake.open(str(lake)).snapshot().count("answers") == 0


@pytest.mark.parametrize(("words", "code", "said"), [
    (("answer", "What?", "--model", "endpoint:none"), 2, "no such endpoint"),
    (("answer", "What?", "--model", "house"), 2, "no such model"),
    (("answer", "What?", "--model", "endpoint:house", "--kind", "oracle"), 2, "no such answerer"),
    (("answers", "set.jsonl", "--model", "endpoint:house", "--judge", "endpoint:none"), 2, "no such endpoint"),
    (("answers", "absent.jsonl", "--model", "endpoint:house"), 2, "questions cannot be read"),
    (("answer", "What were the net sales?", "--model", "endpoint:house", "--mode", "keyword"), 3, "No answer (ModelFailed)"),
])
def test_what_cannot_be_is_one_line(edgarmill: Edgarmill, lake: Path, server: ModelServer, tmp_path: Path, words: tuple[str, ...],
                                    code: int, said: str) -> None:
    server.reply = lambda request: failure(500)
    questions(tmp_path)
    ran = edgarmill(*words, "--lake", lake, "--config", config(tmp_path, server))
    assert ran.code == code and said in ran.out + ran.err and "Traceback" not in ran.err
    assert len(ran.complaints) == (code == 2)
