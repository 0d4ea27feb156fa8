"""One page of HTML about evaluations side by side. It stands for itself: it works from disk and offline, and loads nothing.

    subject = subject_of(snapshot, ids)
    text = page_of(snapshot, subject)

Its policy lets the page's own style and script run, by their hashes, and nothing else: what comes from a lake (names, questions, passages)
is escaped in the markup, and the script puts it in as text.
"""

from __future__ import annotations

import base64
import hashlib
from importlib import resources

from edgarmill.eval.page.charts import charts
from edgarmill.eval.page.drilldown import MOST_QUESTIONS, drilldown, encoded, packed
from edgarmill.eval.page.subject import Subject, subject_of
from edgarmill.eval.page.tables import evaluations, figures, head, slices, title_of
from edgarmill.eval.page.words import said
from edgarmill.schemas.snapshot import Snapshot

__all__ = ["page_of", "subject_of"]

POLICY = "default-src 'none'; style-src '{style}'; script-src '{script}'; base-uri 'none'; form-action 'none'"
QUESTIONS = """
<section id="questions"><h2>Question by question</h2><p class="about" id="told">{told}</p>
<noscript><p class="about">The list of questions needs the page's own script; all above does not.</p></noscript>
<form id="controls" hidden><label>from <select id="first"></select></label><label>to <select id="second"></select></label>
<label>by <select id="metric"></select></label>
<label>show <select id="outcome"><option value="">all</option><option value="lost">lost</option><option value="won">won</option>
<option value="tied">tied</option><option value="missed">found by neither</option><option value="failed">failed</option></select></label>
<label>of <select id="slice"><option value="">all slices</option></select></label>
<label>with the words <input id="words" type="search" autocomplete="off" spellcheck="false"></label></form>
<p id="count" role="status"></p><div class="scroll"><table id="list" hidden><thead><tr></tr></thead><tbody></tbody></table></div>
<button id="more" type="button" hidden></button></section>
"""


def page_of(snapshot: Snapshot, subject: Subject) -> str:
    """The page. Raises LakeCorrupt, NewerSchema."""
    style, script = (resources.files("edgarmill") / "eval" / "page" / name for name in ("page.css", "page.js"))
    css, js = (file.read_text(encoding="utf-8") for file in (style, script))
    policy = POLICY.format(style=_hash(css), script=_hash(js))
    data = drilldown(snapshot, subject)
    texts = packed(data.pop("texts"))
    questions = QUESTIONS.format(told=said(_told(data)))
    body = (head(subject), charts(subject), figures(subject), slices(subject), questions, evaluations(subject))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light dark">'
        f'<meta name="referrer" content="no-referrer"><title>{said(title_of(subject))}</title><style>{css}</style></head>\n'
        f'<body><main>{"".join(body)}</main>\n<script type="application/json" id="data">{encoded(data)}</script>\n'
        f'<script type="text/plain" id="texts">{texts}</script>\n'
        f"<script>{js}</script></body></html>\n"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _told(data: dict[str, object]) -> str:
    """What the list holds of all there is."""
    shown, known = len(data["questions"]), data["all"]  # type: ignore[arg-type]
    if shown == known:
        return "Open a question to see its evidence, what each arm found, and the passages in their documents."
    return (f"{shown:,} of {known:,} questions, those in which the arms differ most: a page holds {MOST_QUESTIONS:,} at most, fewer where "
            "many arms are compared. The figures above are of all of them.")
