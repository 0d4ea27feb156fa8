"""The page in a real browser: it opens from disk, loads nothing, its plots stand as they should, and its list of questions works."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from browser import Browser, Page, running
from evaluated_lake import TWO, Asking, evaluated_lake, gate

from edgarmill.eval import certainty
from edgarmill.eval.experiments import load
from edgarmill.eval.page import page_of, subject_of

VECTOR, HYBRID = TWO[0], TWO[1]
RERANKED = [Asking("baseline", {"mode": "vector", "k": 5}, 0.4, experiment="reranking"),
            *(Asking(f"({read}, {given})", {"mode": "vector", "reranker": "late_interaction", "k_initial": read, "k": given},
                     0.3 + given / 20, seconds=read / 200, usd=Decimal("0.0002") * read, experiment="reranking")
              for read, given in ((5, 3), (5, 5), (10, 3), (10, 5), (10, 10), (20, 5), (20, 10)))]
# Boxes of all text and marks of a plot, in units of its viewBox.
GEOMETRY = """
[...document.querySelectorAll("svg.plot")].map((svg) => {
  const box = (one) => { const b = one.getBBox(); return [b.x, b.y, b.x + b.width, b.y + b.height]; };
  const all = (name) => [...svg.querySelectorAll(name)].map(box);
  return {name: svg.getAttribute("aria-label"), view: svg.getAttribute("viewBox").split(" ").map(Number), text: all("text"),
          ticks: all("text.tick"), numbers: all("text.number"), points: all("g.point"), marks: all("g.point > .m"),
          grid: all("path.grid"), names: all("text.name"), figures: all("text.figure")};
})
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with running(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A hostile lake's page of two arms with a gate, of one alone, and of an experiment."""
    folder = tmp_path_factory.mktemp("pages")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(certainty, "RESAMPLES", 200)
        lake = evaluated_lake(folder, questions=130, hostile=True)
        gate(lake, VECTOR.id, HYBRID.id)
        (folder / "many").mkdir()
        other = evaluated_lake(folder / "many", RERANKED, questions=24)
        asked = {"two": (lake, [VECTOR.id, HYBRID.id], None), "one": (lake, [HYBRID.id], None), "many": (other, [], load("reranking"))}
        for name, (where, ids, experiment) in asked.items():
            text = page_of(where.snapshot(), subject_of(where.snapshot(), ids, experiment))
            (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in asked}


def inside(box: list[float], other: list[float], slack: float = 0.5) -> bool:
    return box[0] >= other[0] - slack and box[1] >= other[1] - slack and box[2] <= other[2] + slack and box[3] <= other[3] + slack


def meet(one: list[float], other: list[float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def questions(page: Page) -> list[str]:
    found: list[str] = page.run("[...document.querySelectorAll('#list .open')].map((one) => one.dataset.id)")
    return found


@pytest.mark.parametrize("name", ["two", "one", "many"])
@pytest.mark.parametrize("dark", [False, True])
def test_it_opens_from_disk_without_a_complaint_or_a_request(browser: Browser, pages: dict[str, Path], name: str, dark: bool) -> None:
    page = browser.open(pages[name], dark=dark)
    page.until("document.querySelectorAll('#list tbody tr').length > 0")
    assert page.messages() == []
    assert page.requests() == []
    background = page.run("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(20, 23, 26)" if dark else "rgb(255, 255, 255)")


def test_hostile_names_and_passages_do_nothing_and_are_shown_as_they_are(browser: Browser, pages: dict[str, Path]) -> None:
    page = browser.open(pages["two"])
    title = page.run("document.title")
    page.click(".open")
    page.click(".detail .evidence summary")
    page.until("document.querySelector('.passage .gold')")
    assert page.run("document.title") == title != "taken"
    assert page.run("document.querySelectorAll('img, iframe, object, script:not([id])').length") == 1  # its own script
    assert "</script><script>" in page.run("document.querySelector('.passage .gold').textContent")
    assert "<img src=x onerror=" in page.run("document.querySelector('.detail').textContent")
    assert page.messages() == []


@pytest.mark.parametrize("name", ["two", "one", "many"])
def test_plots_have_their_text_inside_and_nothing_over_an_axis(browser: Browser, pages: dict[str, Path], name: str) -> None:
    plots = browser.open(pages[name]).run(GEOMETRY)
    assert len(plots) >= {"two": 12, "one": 4, "many": 12}[name]
    for plot in plots:
        view = [0, 0, plot["view"][2], plot["view"][3]]
        field = [min(box[0] for box in plot["grid"]), min(box[1] for box in plot["grid"]),
                 max(box[2] for box in plot["grid"]), max(box[3] for box in plot["grid"])]
        assert plot["points"], plot["name"]
        assert all(inside(box, view) for box in plot["text"]), plot["name"]
        assert all(inside(box, field, slack=8) for box in plot["points"]), plot["name"]
        texts = plot["text"]
        assert not [(a, b) for n, a in enumerate(texts) for b in texts[:n] if meet(a, b)], plot["name"]
        labels = [*plot["ticks"], *plot["names"], *plot["figures"]]
        assert not [(a, b) for a in labels for b in plot["points"] if meet(a, b)], plot["name"]
        assert not [(a, b) for a in plot["numbers"] for b in plot["marks"] if meet(a, b)], plot["name"]


def test_every_plot_has_its_figures_as_a_table(browser: Browser, pages: dict[str, Path]) -> None:
    page = browser.open(pages["two"])
    assert page.run("[...document.querySelectorAll('figure')].every((one) => one.querySelector('table'))")
    row = page.run("document.querySelector('figure tbody tr').innerText || document.querySelector('figure tbody tr').textContent")
    shown = page.run("document.querySelector('svg.plot text.figure').textContent")
    assert shown in row and row.startswith("vector")


def test_the_grid_of_an_experiment_is_shaded_by_its_figures(browser: Browser, pages: dict[str, Path]) -> None:
    page = browser.open(pages["many"])
    cells = page.run("[...document.querySelectorAll('.heat')[0].querySelectorAll('td')].map((one) => [one.firstChild.data, one.className])")
    known = sorted((float(text), int(shade[1:])) for text, shade in cells if shade)
    assert len(cells) == 9 and len(known) == 7
    assert [shade for _, shade in known] == sorted(shade for _, shade in known)
    assert known[0][1] == 0 and known[-1][1] == 6
    colours = page.run("[...document.querySelectorAll('td.h0, td.h6')].map((one) => getComputedStyle(one).backgroundColor)")
    assert len(set(colours)) == 2


def test_filters_words_and_order(browser: Browser, pages: dict[str, Path]) -> None:
    page = browser.open(pages["two"])
    assert len(questions(page)) == 100
    page.click("#more")
    everything = questions(page)
    assert len(set(everything)) == 130 and page.run("document.getElementById('more').hidden")
    by_kind = {}
    for kind in ("won", "lost", "tied", "failed"):
        page.run(f"document.getElementById('outcome').value = '{kind}'; "
                 "document.getElementById('outcome').dispatchEvent(new Event('input', {bubbles: true}))")
        by_kind[kind] = set(questions(page))
    assert by_kind["failed"] == {"q0005"} and by_kind["won"] and by_kind["lost"]
    assert not by_kind["won"] & by_kind["lost"]
    assert page.run("document.getElementById('count').textContent") == "1 of 130 questions"
    page.run("document.getElementById('outcome').value = ''")
    page.click("#words")
    page.type("0000000001-24-000003 paragraph")
    found = page.run("[...document.querySelectorAll('#list .open')].map((one) => one.textContent)")
    assert 0 < len(found) < 40 and all("0000000001-24-000003" in text for text in found)
    page.click("th button")
    assert page.run("document.querySelector('th[aria-sort=ascending] button').dataset.sort") == "question"
    up = questions(page)
    page.click("th button")
    assert page.run("document.querySelector('th[aria-sort=descending]') !== null")
    assert sorted(questions(page)) == sorted(up) != questions(page)


def test_from_a_question_to_the_passage_in_its_document(browser: Browser, pages: dict[str, Path]) -> None:
    page = browser.open(pages["two"])
    page.run("document.getElementById('outcome').value = 'won'; "
             "document.getElementById('outcome').dispatchEvent(new Event('input', {bubbles: true}))")
    page.click(".open")
    assert page.run("document.querySelectorAll('.detail .sides > div').length") == 2
    held = page.run("[...document.querySelectorAll('.detail .hits details')].findIndex((one) => one.querySelector('.tag'))")
    page.click(".detail .hits summary", held)
    page.until("document.querySelector('.hits .passage')")
    quotes = page.run("[...document.querySelectorAll('.detail .evidence')].map((one) => one.firstChild.textContent)")
    assert page.run("document.querySelector('.hits .passage mark.gold.hit').textContent") in quotes
    assert len(page.run("document.querySelector('.hits .passage').textContent")) > 400
    assert page.run("document.querySelector('.hits a').href").startswith("https://www.sec.gov/")
    page.click(".open")
    assert page.run("document.querySelectorAll('.detail').length") == 0


def tab_to(page: Page, wanted: str) -> None:
    for _ in range(20):
        page.key("Tab", 9)
        if page.run(f"((one) => {wanted})(document.activeElement)"):
            return
    pytest.fail(f"no key leads to {wanted}")


def test_the_keyboard_is_enough(browser: Browser, pages: dict[str, Path]) -> None:
    page = browser.open(pages["two"])
    page.run("document.querySelector('#words').focus()")
    tab_to(page, "one.className === 'open'")
    page.key("Enter", 13, "\r")
    assert page.run("document.activeElement.getAttribute('aria-expanded')") == "true"
    tab_to(page, "one.tagName === 'SUMMARY'")
    page.key("Enter", 13, "\r")
    page.until("document.querySelector('.evidence .passage')")
    outline = page.run("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


@pytest.mark.parametrize("name", ["two", "one", "many"])
def test_a_narrow_screen_does_not_scroll_sideways(browser: Browser, pages: dict[str, Path], name: str) -> None:
    page = browser.open(pages[name], width=400)
    page.click(".open")
    page.click(".detail .hits summary")
    assert page.run("document.documentElement.scrollWidth") <= 400
    assert page.run("document.querySelector('.detail > td > div').getBoundingClientRect().right") <= 400
    assert page.run("Math.min(...[...document.querySelectorAll('svg.plot')].map((one) => one.getBoundingClientRect().width))") > 300


def test_in_print_it_is_light_without_controls(browser: Browser, pages: dict[str, Path]) -> None:
    page = browser.open(pages["two"], width=720, dark=True, media="print")
    assert page.run("document.documentElement.scrollWidth") <= 720
    assert page.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.run("getComputedStyle(document.getElementById('controls')).display") == "none"
    assert page.run("getComputedStyle(document.querySelector('svg.plot')).display") == "block"
    assert page.printed().startswith(b"%PDF")


def test_without_script_all_but_the_list_is_there(browser: Browser, pages: dict[str, Path]) -> None:
    page = browser.open(pages["one"])
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    page.call("Page.reload")
    page.until("document.readyState === 'complete' && document.querySelector('noscript')")
    assert page.run("document.getElementById('controls').hidden")
    assert page.run("document.querySelectorAll('svg.plot').length") >= 4
