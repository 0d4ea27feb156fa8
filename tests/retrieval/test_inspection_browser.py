"""The page of `edgarmill inspect --html` in a real browser."""

from __future__ import annotations

from pathlib import Path

from browser import running

from edgarmill.retrieval.page import page_of
from edgarmill.schemas.settings import Settings
from edgarmill.workers.reading import read_file

FILING = """<html><head><title>t</title><script>document.title = "taken"</script><link rel="stylesheet" href="https://x.example/a.css"></head>
<body onload="document.title = 'taken'"><h1>ANNUAL REPORT</h1><p><b>Item 1. Business</b></p><p>It makes pumps.</p>
<img src="https://x.example/logo.png" onerror="document.title = 'taken'"><p><b>Item 7. Management's Discussion</b></p>
<table><tr><th>Year</th><th>Sales</th></tr><tr><td>2024</td><td>1,204</td></tr></table><p>&lt;/iframe&gt;&lt;script&gt;</p></body></html>"""


def test_it_opens_loads_nothing_runs_nothing_and_its_outline_leads_to_the_elements(tmp_path: Path) -> None:
    (tmp_path / "a.htm").write_text(FILING, encoding="utf-8")
    filed = read_file(str(tmp_path / "a.htm"), Settings(), "10-K")
    (tmp_path / "look.html").write_text(page_of(filed.filing, filed.documents[0]), encoding="utf-8")
    (tmp_path / "profile").mkdir()
    with running(tmp_path / "profile") as browser:
        page = browser.open(tmp_path / "look.html")
        assert page.messages() == []
        assert [url for url in page.requests() if not url.startswith("about:")] == []
        assert page.run("document.title") != "taken"
        assert page.run("document.querySelectorAll('main section').length") == len(filed.documents[0].elements) > 3
        page.click("nav a:not(.o)")
        page.until("location.hash.startsWith('#e') && document.querySelector('section:target')")
        assert page.run("document.querySelector('section:target').getBoundingClientRect().top") < 900
        assert page.run("document.documentElement.scrollWidth <= innerWidth")
