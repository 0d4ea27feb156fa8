"""The tree that stands in the document itself: Parts, Items, then the headings of each Item, nested by their level. No tokens.

A heading is a node where enough text stands under it. Not one: a line of a title above another line of it (a company's name over each
statement), a caption over a small table, dates and units of a table's head, a running head that comes again. Numbered notes hang under
"Notes to Financial Statements", and what is between two of them under the first.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, zip_longest

from edgarmill.schemas.records import Document, Element, Section
from edgarmill.workers.outline import LONGEST_TITLE, Node, bounded, split_long, trimmed
from edgarmill.workers.tree import TreeOptions

VERSION = 1
FRONT = "Cover and front matter"
_PART = re.compile(r"part\s+([ivx]{1,4})\b", re.I)
_NOTES = re.compile(r"\W*(?:condensed |combined )?notes to (?:the |our )?(?:[\w,()’'-]+ ){0,6}(?:financial )?statements\b", re.I)
_NUMBERED = re.compile(r"note\s+\d{1,2}\b", re.I)
_NOTE = re.compile(r"\(?(?:note\s+)?(?:\d{1,2}|[a-z](?=[.)]))\s*[.:)—–-]|note\s+(?:\d{1,2}|[a-z])\b", re.I)
_AFTER_NOTES = re.compile(
    r"\W*(?:reports? of (?:independent|management|certified)|independent (?:auditor|accountant|registered)|management’?'?s? report|"
    r"signatures?\b|exhibits?\b|schedule [ivx\d]|supplementa(?:ry|l)|selected|quarterly|item\s*\d|part\s+[ivx])", re.I)
_LETTERS = re.compile(r"[^\W\d_]")
_NO_TITLE = re.compile(  # dates and units of a table's head, column names, sources, page numbers
    r"\W*(?:(?:\(|as of|at|for the|years? ended|(?:three|six|nine|twelve) months|(?:in|dollars|amounts) (?:in )?(?:millions|thousands)|"
    r"source:|unaudited|(?:fiscal )?(?:january|february|march|april|may|june|july|august|september|october|november|december)\s+\d"
    r").{0,200}|[\W\d]*|\d?\s*source: .*|[a-z]{1,4}-\d{1,3}|table of contents|index|/?text|(?:total |current )?assets|"
    r"liabilities and .{0,60}|signatures?\W+(?:and )?(?:title|name|date|capacity).{0,80}|"
    r"(?:name|no\.|number|exhibit)\b(?! index)[^.]{0,60}\b(?:age|position|title|description|ownership|owned|percent|page|no\.?)\b.{0,80}"
    r")\W*", re.I | re.S)
_CONTINUED = re.compile(r"[\s–—-]*\(?\bcont(?:inued|['’]d|\.)\)?\.?\s*$", re.I)
_COMPANY = re.compile(
    r"(?!.*\b(?:of|the|our|by) company\b)(?:the )?[A-Z][\w.,&’'/ ]{1,60}?,? (?:inc|corp|corporation|company|co|ltd|llc|plc|l\.?p)\b\.?"
    r"(?:,? (?:and|&) (?:its )?(?:consolidated )?subsidiar(?:y|ies)(?: compan(?:y|ies))?)?\W*"
    r"|[A-Z][\w.&’' -]{1,60} (?:and|&) (?:its )?(?:consolidated )?subsidiaries\W*", re.I)
_PLACE = re.compile(
    r"[A-Z][\w. ]{2,25}, (?:[A-Z]{2}|[A-Z][a-z]+(?: (?:York|Jersey|Hampshire|Mexico|Carolina|Dakota|Island|Virginia))?)(?: \d{5})?")
_REPORT = re.compile(
    r"\W*(?:reports? of (?:independent|management|certified|[\w&, ]{3,40}llp)|independent (?:auditor|accountant|registered))", re.I)
_IN_REPORT = re.compile(
    r"\W*(?:opinions?\b|basis for|critical audit|definition|description|how (?:the|we)|.{0,40}responsibilit|emphasis|"
    r"to the (?:board|share|stock)|change in accounting)", re.I)
_GOES_ON = re.compile(
    r"(?:\b(?:and|or|of|the|to|on|for|in|with|by|related|certain|financial|accounting|registrant[’']?s|company[’']?s)|[,;–—-])$", re.I)
_OWN = re.compile(  # a Part's or an Item's number, or several
    r"(?=part|item)(?:part\s+[ivx]{1,4}\b[\s.,:—–-]*)?"
    r"(?:items?\s*(\d{1,2}[a-z]?)\b(?:\s*[,&]?\s*(?:and\s*)?\d{1,2}[a-z]?\b)*)?[\s.,:—–-]*", re.I)
_SIGNATURES = re.compile(r"\W*signatures?\b", re.I)
_SIGNED_WITHIN = 8_000  # characters below "Signatures" in which names and titles stand
_REPORT_WITHIN, _AUDITED_WITHIN = 6_000, 40_000  # characters of an auditor's report, and of one with critical audit matters
_LOWEST = 6  # of the parser's levels: it holds all styles that are left
_SENTENCE = 5  # words; a shorter one is a title with a full stop
_OFTEN = 3  # times that a title stands in the document: over text it may, over nothing it is a running head
_TABLE_SHARE = 4  # a character of a table counts a fourth of one of prose: a caption is no node, a balance sheet is


class Options(TreeOptions):
    pass


def build(document: Document, elements: Sequence[Element], sections: Sequence[Section], options: Options) -> Node:
    """Never fails: a document without headings is one node, or its pages."""
    text = document.text
    root = Node(document.type or document.name or "Document", 0, len(text))
    grown = _Grower(document, elements, options)
    tops = _tops(grown, sections)
    edges = [0, *(edge for node in tops for edge in (node.start, node.end)), len(text)]
    for number, (begin, end) in enumerate(zip(edges[::2], edges[1::2], strict=True)):
        if number == 0 and tops:
            first, last = trimmed(text, begin, end)
            if last - first >= max(1, options.min_characters):
                root.children.append(Node(FRONT, first, last))
        else:
            gap = Node("", begin, end)
            grown.nest(gap)
            root.children += gap.children
        if number < len(tops):
            root.children.append(tops[number])
    bounded(root, options.max_depth, options.max_children)
    split_long(root, document, elements, options.leaf_characters)
    bounded(root, options.max_depth, options.max_children)
    return root


def _tops(grown: _Grower, sections: Sequence[Section]) -> list[Node]:
    """Parts with their Items, or Items alone where the form has no Parts or the filing does not keep their order."""
    items = [(part, grown.item(list(rows))) for part, rows in _ranges(sections)]
    runs = [(part, [node for _, node in group]) for part, group in groupby(items, key=lambda one: one[0])]
    parts = [part for part, _ in runs if part in ("I", "II", "III", "IV")]
    if len(parts) != len(set(parts)):
        return [node for _, node in items]
    tops: list[Node] = []
    for part, nodes in runs:
        if part not in ("I", "II", "III", "IV"):
            tops += nodes
            continue
        title, start = grown.part(part, tops[-1].end if tops else 0, nodes[0].start)
        tops.append(Node(title, start, nodes[-1].end, children=grown.between(nodes, start)))
    return tops


def _ranges(sections: Sequence[Section]) -> list[tuple[str, list[Section]]]:
    """Rows by range, in the order of the text, with the part of the first: rows of one range are one node."""
    rows = sorted((s for s in sections if s.end > s.start), key=lambda s: (s.start, s.ordinal))
    found: list[tuple[str, list[Section]]] = []
    for row in rows:
        if found and row.start < found[-1][1][0].end:
            if (row.start, row.end) == (found[-1][1][0].start, found[-1][1][0].end):
                found[-1][1].append(row)
            continue
        found.append((row.part, [row]))
    return found


@dataclass(slots=True)
class _Heading:
    level: float
    title: str
    start: int
    end: int


class _Grower:
    """A document's headings, and how much text stands between two places."""

    def __init__(self, document: Document, elements: Sequence[Element], options: Options) -> None:
        self.text, self.options = document.text, options
        self.headings = [self._heading(e) for e in elements if e.kind == "heading"]
        self.places = [h.start for h in self.headings]
        self.often = Counter(h.title.lower() for h in self.headings)
        self.starts = [e.start for e in elements]
        self.weights = list(accumulate((_weight(e) for e in elements), initial=0))

    def _heading(self, element: Element) -> _Heading:
        title, level = _line(self.text[element.start : element.end]), float(element.level or _LOWEST)
        title = _CONTINUED.sub("", title)
        return _Heading(level + 0.5 * (level == _LOWEST and not title.isupper()), title, element.start, element.end)

    def weight(self, start: int, end: int) -> int:
        """Characters of text that begin there, headings aside."""
        return self.weights[bisect_left(self.starts, end)] - self.weights[bisect_left(self.starts, start)]

    def item(self, rows: list[Section]) -> Node:
        """An Item, or several that share a range, with its headings."""
        titles = dict.fromkeys(_item_title(row) for row in rows)
        section = ".".join(filter(None, (rows[0].part, rows[0].item)))
        node = Node("; ".join(titles)[:LONGEST_TITLE], rows[0].start, rows[0].end, section or None)
        self.nest(node, rows)
        return node

    def part(self, part: str, after: int, before: int) -> tuple[str, int]:
        """Title and beginning of a Part: its heading between the Items around, or where its first Item begins."""
        for heading in reversed(self.headings[bisect_left(self.places, after) : bisect_left(self.places, before)]):
            found = _PART.match(heading.title)
            if found and found[1].upper() == part:
                return f"Part {part}{_rest(heading.title[found.end() :])}", heading.start
        return f"Part {part}", before

    def between(self, nodes: Sequence[Node], start: int) -> list[Node]:
        """The Items of a Part, and headings that stand between them."""
        found: list[Node] = []
        for node in nodes:
            gap = Node("", start, node.start)
            self.nest(gap)
            found += [child for child in gap.children if not _PART.match(child.title)]
            found.append(node)
            start = node.end
        return found

    def nest(self, parent: Node, rows: Sequence[Section] = ()) -> None:
        """Hangs the headings of a node's range under it; `rows` are the Items that it is."""
        inside = self.headings[bisect_left(self.places, parent.start) : bisect_left(self.places, parent.end)]
        titles = " ".join(_line(row.title) for row in rows).lower()
        while titles and inside and (inside[0].start == parent.start or inside[0].title.lower() in titles):
            inside = inside[1:]  # the Item's own heading, in one line or several
        if rows and inside and _GOES_ON.search(parent.title) and not self.weight(parent.start, inside[0].start):
            parent.title = f"{parent.title} {inside[0].title}"[:LONGEST_TITLE]  # its second line
            inside = inside[1:]
        inside = _signed(_without_own(inside, rows) if rows else inside)
        inside = _with_sentences([h for h in self._joined(inside, parent.end) if not _NO_TITLE.fullmatch(h.title)])
        inside = _with_notes(inside)
        open_nodes: list[tuple[float, Node]] = [(0, parent)]
        for heading in inside:
            again = next((n for n, (_, node) in enumerate(open_nodes) if n and node.title.lower() == heading.title.lower()), 0)
            if again:  # "continued" at the head of a page
                while len(open_nodes) > again + 1:
                    self._close(open_nodes.pop()[1], heading.start)
                continue
            while open_nodes[-1][0] >= heading.level or _ended(open_nodes[-1][1], heading):
                self._close(open_nodes.pop()[1], heading.start)
            node = Node(heading.title[:LONGEST_TITLE], heading.start, parent.end, parent.section)
            open_nodes[-1][1].children.append(node)
            open_nodes.append((heading.level, node))
        while len(open_nodes) > 1:
            self._close(open_nodes.pop()[1], parent.end)
        self._drop_small(parent)

    def _joined(self, headings: Sequence[_Heading], end: int) -> list[_Heading]:
        """One heading of several lines: a heading with nothing under it goes into the next of its level. A running head goes altogether."""
        out: list[_Heading] = []
        begin = None  # of a running head: what follows begins there
        notes = set[str]()
        for one, after in zip_longest(headings, headings[1:]):
            bare = self.weight(one.end, after.start if after else end) == 0
            if _NOTES.match(one.title):
                bare, again = False, one.title.lower() in notes
                notes.add(one.title.lower())
                if again:
                    continue
            named = _COMPANY.fullmatch(one.title) or _PLACE.fullmatch(one.title)
            if named or bare and self.often[one.title.lower()] >= _OFTEN:
                begin = one.start if begin is None else begin
                continue
            if begin is not None:
                one, begin = _Heading(one.level, one.title, begin, one.end), None
            before = out[-1] if out else None
            above = before and before.level == one.level and self.weight(before.end, one.start) == 0
            if before and above and len(before.title) + len(one.title) < 120:
                join = not _NO_TITLE.fullmatch(one.title) and not _NOTES.match(before.title) and not _NOTE.match(one.title)
                if join:
                    out[-1] = _Heading(one.level, f"{before.title} – {one.title}", before.start, one.end)
                    continue
            if before and before.title.lower() == one.title.lower() and before.level == one.level:
                continue  # the head of the next page
            out.append(one)
        return out

    def _close(self, node: Node, end: int) -> None:
        node.start, node.end = trimmed(self.text, node.start, end)
        self._drop_small(node)

    def _drop_small(self, node: Node) -> None:
        least = self.options.min_characters
        node.children = [c for c in node.children if c.children or self.weight(c.start, c.end) >= least]


def _ended(node: Node, heading: _Heading) -> bool:
    """Whether an auditor's report has ended before the heading, whatever its level: old ones have no headings of their own."""
    if not _REPORT.match(node.title) or _IN_REPORT.match(heading.title):
        return False
    audited = any("critical audit" in child.title.lower() for child in node.children)
    return heading.start - node.start > (_AUDITED_WITHIN if audited else _REPORT_WITHIN)


def _without_own(headings: Sequence[_Heading], rows: Sequence[Section]) -> list[_Heading]:
    """Without the Item's number and title where they come again, as they do at the head of pages; what stands beside them stays."""
    items = {row.item.lower() for row in rows}
    titles = [title for row in rows if (title := _title(row).lower())]
    out = []
    for one in headings:
        found = _OWN.match(one.title)
        rest = one.title[found.end() :] if found else one.title
        if found and (not rest or (found[1] or "").lower() in items or one.title[:4].lower() == "part" and not found[1]):
            again = next((title for title in titles if rest.lower().startswith(title)), "")
            rest = rest[len(again) :].strip(" .,:—–-")
            if not _LETTERS.search(rest):
                continue
            one = _Heading(one.level, rest, one.start, one.end)
        out.append(one)
    return out


def _signed(headings: list[_Heading]) -> list[_Heading]:
    """Without the names and titles below "Signatures"."""
    at = next((n for n, h in enumerate(headings) if _SIGNATURES.match(h.title)), None)
    if at is None:
        return headings
    reach = headings[at].start + _SIGNED_WITHIN
    later = (n for n in range(at + 1, len(headings)) if _AFTER_NOTES.match(headings[n].title) or headings[n].start > reach)
    return headings[: at + 1] + headings[next(later, len(headings)) :]


def _with_sentences(headings: list[_Heading]) -> list[_Heading]:
    """Of one level, headings that are sentences (each a risk) below those that are none (what the risks relate to)."""
    sentences = [h for h in headings if h.title.endswith(".") and len(h.title.split()) > _SENTENCE]
    counts = Counter(h.level for h in sentences)
    for one in sentences:
        if counts[one.level] >= _OFTEN:
            one.level += 0.25
    return headings


def _with_notes(headings: list[_Heading]) -> list[_Heading]:
    """The notes to the statements below their heading, and what stands between two notes below the first."""
    at = next((n for n, h in enumerate(headings) if _NOTES.match(h.title)), None)
    if at is None:
        at = next((n for n, h in enumerate(headings) if _NUMBERED.match(h.title)), None)
    if at is None:
        return headings
    end = next((n for n in range(at + 1, len(headings)) if _AFTER_NOTES.match(headings[n].title)), len(headings))
    headed = bool(_NOTES.match(headings[at].title))
    notes = Counter(h.level for h in headings[at + headed : end] if _NOTE.match(h.title))
    if not notes or sum(notes.values()) < _OFTEN:
        return headings
    level = notes.most_common(1)[0][0]
    over = min(headings[at].level, level) - 0.5 * headed
    for number, heading in enumerate(headings[at:], at):
        if headed and number == at or number >= end and heading.level >= over:
            heading.level = over if headed and number == at or _AFTER_NOTES.match(heading.title) else max(heading.level, over)
        elif number < end:
            heading.level = level if _NOTE.match(heading.title) and heading.level <= level else max(heading.level, level + 0.5)
    return headings


def _weight(element: Element) -> int:
    if element.kind == "heading":
        return 0
    length = element.end - element.start
    return length // _TABLE_SHARE if element.kind == "table" else length


def _line(text: str) -> str:
    return " ".join(text.split())


def _title(row: Section) -> str:
    return _CONTINUED.sub("", _line(row.title)).rstrip(" .:")


def _item_title(row: Section) -> str:
    title = _title(row)
    if not row.item or row.item.startswith("EX-") or row.part == "F":
        return title or row.item
    return f"Item {row.item}. {title}" if title else f"Item {row.item}"


def _rest(text: str) -> str:
    """What follows a Part's number."""
    words = text.strip(" .:—–-")
    return f". {words}" if words else ""
