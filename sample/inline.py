"""Writes one inline-XBRL document page by page, and remembers where each quotable sentence and row came to stand."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from edgarmill.sample.companies import Company

ROOM = 3600  # visible characters of a page
BREAK = '<hr style="page-break-after:always"/>'
NAMESPACES = (
    'xmlns="http://www.w3.org/1999/xhtml" xmlns:ix="http://www.xbrl.org/2013/inlineXBRL" '
    'xmlns:ixt="http://www.xbrl.org/inlineXBRL/transformation/2020-02-12" '
    'xmlns:ixt-sec="http://www.sec.gov/inlineXBRL/transformation/2015-08-31" '
    'xmlns:link="http://www.xbrl.org/2003/linkbase" xmlns:xlink="http://www.w3.org/1999/xlink" '
    'xmlns:xbrli="http://www.xbrl.org/2003/instance" '
    'xmlns:xbrldi="http://xbrl.org/2006/xbrldi" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
    'xmlns:iso4217="http://www.xbrl.org/2003/iso4217" '
    'xmlns:dei="http://xbrl.sec.gov/dei/2024" xmlns:us-gaap="http://fasb.org/us-gaap/2024"')
UNITS = ('<xbrli:unit id="usd"><xbrli:measure>iso4217:USD</xbrli:measure></xbrli:unit>'
         '<xbrli:unit id="shares"><xbrli:measure>xbrli:shares</xbrli:measure></xbrli:unit>'
         '<xbrli:unit id="usdPerShare"><xbrli:divide><xbrli:unitNumerator><xbrli:measure>iso4217:USD</xbrli:measure></xbrli:unitNumerator>'
         '<xbrli:unitDenominator><xbrli:measure>xbrli:shares</xbrli:measure></xbrli:unitDenominator></xbrli:divide></xbrli:unit>')


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence that answers a question: what it answers, and its figure where it has one."""

    key: str
    text: str
    answer: str
    value: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """A quote where it stands: page counted from 1, part "I" … "IV" or "", item or exhibit."""

    key: str
    quote: str
    answer: str
    value: Decimal | None
    page: int
    part: str
    item: str
    type: str  # text | table


@dataclass(frozen=True, slots=True)
class Percent:
    value: Decimal


@dataclass(frozen=True, slots=True)
class PerShare:
    value: Decimal


Value = int | Percent | PerShare | str | None  # int: thousands of dollars; None: a dash


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table. `flip` prints the figure with the other sign than its fact has, as costs in a cash flow statement."""

    label: str
    values: Sequence[Value] = ()
    concept: str = ""
    contexts: Sequence[str] = ()
    indent: int = 0
    total: bool = False
    flip: bool = False
    quote: Quote | None = None


class Contexts:
    """The contexts that facts refer to, each written once."""

    def __init__(self, company: Company) -> None:
        self._company, self._ids = company, dict[tuple[str, str, str], str]()

    def duration(self, start: date, end: date, member: str = "") -> str:
        return self._id(start.isoformat(), end.isoformat(), member)

    def instant(self, day: date) -> str:
        return self._id("", day.isoformat(), "")

    def _id(self, start: str, end: str, member: str) -> str:
        return self._ids.setdefault((start, end, member), f"c-{len(self._ids) + 1}")

    def render(self) -> str:
        made = []
        for (start, end, member), name in self._ids.items():
            segment = (f'<xbrli:segment><xbrldi:explicitMember '
                       f'dimension="us-gaap:StatementBusinessSegmentsAxis">{self._company.prefix}:{member}'
                       "</xbrldi:explicitMember></xbrli:segment>") if member else ""
            period = (f"<xbrli:startDate>{start}</xbrli:startDate><xbrli:endDate>{end}</xbrli:endDate>" if start
                      else f"<xbrli:instant>{end}</xbrli:instant>")
            made.append(f'<xbrli:context id="{name}"><xbrli:entity><xbrli:identifier scheme="http://www.sec.gov/CIK">{self._company.cik}'
                        f"</xbrli:identifier>{segment}</xbrli:entity><xbrli:period>{period}</xbrli:period></xbrli:context>")
        return "".join(made)


@dataclass(frozen=True, slots=True)
class House:
    """How a filer's software writes: paragraph, bold line, and whether Item headings are small tables."""

    open: str
    close: str
    bold_open: str
    bold_close: str
    heading_tables: bool
    capitals: bool
    curly: bool


FONT = "color:#000000;font-family:'Times New Roman',sans-serif;font-size:10pt;line-height:120%"
HOUSES = (
    House(f'<div style="margin-bottom:9pt;text-align:justify"><span style="{FONT};font-weight:400">', "</span></div>",
          f'<div style="margin-bottom:9pt"><span style="{FONT};font-weight:700">', "</span></div>", False, False, True),
    House('<p style="font:10pt Times New Roman, Times, Serif;margin:0pt 0pt 8pt 0pt;text-align:justify">', "</p>",
          '<p style="font:10pt Times New Roman, Times, Serif;margin:0pt 0pt 8pt 0pt"><b>', "</b></p>", False, True, False),
    House('<div style="text-align:justify;margin-top:6pt"><font style="font-family:Arial;font-size:9.5pt">', "</font></div>",
          '<div style="margin-top:6pt"><font style="font-family:Arial;font-size:9.5pt;font-weight:bold">', "</font></div>", True, False,
          True),
)


def house_of(company: Company) -> House:
    return HOUSES[company.index % len(HOUSES)]


class Report:
    """A document in the making. `evidence` says where the quotes stand once it is written. An exhibit is not `tagged`: it has no facts."""

    def __init__(self, company: Company, running: str, tagged: bool = True) -> None:
        self._tagged = tagged
        self.company, self.house, self.running = company, house_of(company), running
        self.contexts = Contexts(company)
        self.evidence: dict[str, Evidence] = {}
        self.page = 1
        self._part = self._item = ""
        self._used = 0
        self._facts = 0
        self._out: list[str] = []
        self._index: list[tuple[str, str, str]] = []  # part, item, title of the table of contents
        self._pages: dict[tuple[str, str], int] = {}
        self._hidden: list[str] = []

    # -- structure

    def part(self, number: str, title: str = "") -> None:
        self._part = number
        self.new_page()
        self._add(f'<div style="text-align:center">{self._bold("PART " + number + (" - " + title if title else ""))}</div>', 60)

    def item(self, number: str, title: str) -> None:
        self._room(500)
        self._item = number
        key = (self._part, number)
        self._pages[key] = self.page
        word, shown = ("ITEM", title.upper()) if self.house.capitals else ("Item", title)
        anchor = f'<div id="{_anchor(*key)}"></div>'
        if self.house.heading_tables:
            self._add(f'{anchor}<table style="width:100%"><tr><td style="width:10%">{self._bold(f"{word} {number}.")}</td>'
                      f"<td>{self._bold(shown)}</td></tr></table>", 100)
        else:
            self._add(anchor + self._bold(f"{word} {number}.&#160;&#160;{self._text(shown)}", escape=False), 100)

    def exhibit(self, name: str) -> None:
        """All that follows belongs to this exhibit."""
        self._part, self._item = "", name

    def heading(self, text: str) -> None:
        self._room(400)
        self._add(self._bold(text), 80)

    def signatures(self, day: date) -> None:
        self.new_page()
        self._item = ""
        self._add(f'<div style="text-align:center">{self._bold("SIGNATURES")}</div>', 60)
        self.say("Pursuant to the requirements of the Securities Exchange Act of 1934, the registrant has duly caused this report to be "
                 "signed on its behalf by the undersigned, thereunto duly authorized.")
        self.say(f"{self.company.name}")
        self.say(f"Date: {long_date(day)}")
        self.say(f"By: /s/ {self.company.officers[1]}, Chief Financial Officer (principal financial officer)")

    def contents(self, items: Sequence[tuple[str, str, str]]) -> None:
        """A page with the table of contents: (part, item, title); page numbers are filled in at the end."""
        self._index = list(items)
        self.new_page()
        rows, part = [], ""
        for key in items:
            if key[0] != part:
                part = key[0]
                rows.append(f'<tr><td colspan="3"><b>PART {part}</b></td></tr>')
            rows.append(f'<tr><td style="width:12%">Item {key[1]}.</td><td><a '
                        f'href="#{_anchor(key[0], key[1])}">{self._text(key[2])}</a></td>'
                        f'<td style="text-align:right">@@{_anchor(key[0], key[1])}@@</td></tr>')
        self._add('<div id="toc"></div>' + self._bold("TABLE OF CONTENTS") + f'<table style="width:100%">{"".join(rows)}</table>',
                  ROOM // 2)

    # -- content

    def say(self, *pieces: str | Quote) -> None:
        """A paragraph of these sentences."""
        plain = " ".join(piece.text if isinstance(piece, Quote) else piece for piece in pieces)
        quotes = [piece for piece in pieces if isinstance(piece, Quote)]
        left = ROOM - self._used
        if not quotes and 400 < left < len(plain) + 100 and len(plain) > 300:  # a page may end inside a paragraph
            cut = plain.rfind(" ", 0, left - 100)
            if cut > 100:
                self._add(self.house.open + self._text(plain[:cut]) + self.house.close, cut)
                plain = plain[cut + 1:]
        self._room(len(plain) + 100)
        for quote in quotes:
            self._remember(quote, quote.text, "text")
        self._add(self.house.open + self._text(plain) + self.house.close, len(plain) + 100)

    def bullets(self, *lines: str) -> None:
        self._room(sum(len(line) + 60 for line in lines))
        made = "".join(f'<tr><td style="width:18pt">&#8226;</td><td>{self._text(line)}</td></tr>' for line in lines)
        self._add(f'<table style="width:100%">{made}</table>', sum(len(line) + 60 for line in lines))

    def table(self, head: Sequence[str], rows: Sequence[Row], contexts: Sequence[str] = (), caption: str = "") -> None:
        """A table of figures; each figure is three cells (sign, number, bracket or percent), as filers' software writes them."""
        width = 1 + 4 * len(head)
        height = 120 * (len(rows) + 2)
        self._room(min(height, ROOM - 400))
        top = f'<tr><td colspan="{width}" style="font-size:8pt">{self._text(caption)}</td></tr>' if caption else ""
        names = "".join(f'<td></td><td colspan="3" style="border-bottom:1pt solid #000;text-align:center"><b>{self._text(h)}</b></td>'
                        for h in head)
        made = [self._row(row, width, contexts, n == 0) for n, row in enumerate(rows)]
        self._add(f'<table style="border-collapse:collapse;width:100%">{top}<tr><td></td>{names}</tr>{"".join(made)}</table>', height)

    def text_table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A table of words."""
        cells = [[self._text(c) for c in row] for row in (head, *rows)]
        made = "".join("<tr>" + "".join(f'<td style="vertical-align:top;padding:2pt">{c}</td>' for c in row) + "</tr>" for row in cells)
        height = 110 * (len(rows) + 1)
        self._room(min(height, ROOM - 400))
        self._add(f'<table style="border-collapse:collapse;width:100%">{made}</table>', height)

    def raw(self, markup: str, height: int) -> None:
        self._add(markup, height)

    def fact(self, name: str, text: str, context: str, form: str = "") -> str:
        """Words as a dei fact, for the cover."""
        self._facts += 1
        shape = f' format="ixt:{form}"' if form else ""
        return f'<ix:nonNumeric contextRef="{context}" name="dei:{name}"{shape} id="f-{self._facts}">{self._text(text)}</ix:nonNumeric>'

    def number(self, name: str, text: str, context: str, unit: str, scale: int = 0) -> str:
        self._facts += 1
        return (f'<ix:nonFraction unitRef="{unit}" contextRef="{context}" decimals="INF" name="{name}" format="ixt:num-dot-decimal" '
                f'scale="{scale}" '
                f'id="f-{self._facts}">{text}</ix:nonFraction>')

    def open_block(self, concept: str, context: str) -> str:
        """Start of a text block; the caller closes it. Page breaks may fall inside, as they do in filings."""
        self._facts += 1
        return f'<ix:nonNumeric contextRef="{context}" name="us-gaap:{concept}" id="f-{self._facts}" escape="true">'

    def hide(self, name: str, text: str, context: str) -> None:
        self._facts += 1
        self._hidden.append(f'<ix:nonNumeric contextRef="{context}" name="dei:{name}" '
                            f'id="f-{self._facts}">{self._text(text)}</ix:nonNumeric>')

    def new_page(self) -> None:
        if not self._out:
            return
        label = self._label()
        link = '<div style="font-size:8pt"><a href="#toc">Table of Contents</a></div>' if self._index else ""
        self._out.append(f'<div style="text-align:center;font-size:8pt">{self._text(label)}</div>{BREAK}{link}'
                         f'<div style="text-align:right;font-size:8pt">{self._text(self.running)}</div>\n')
        self.page += 1
        self._used = 0

    def html(self, title: str) -> bytes:
        """The whole document."""
        body = "".join(self._out)
        for part, item, _ in self._index:
            number = self._pages.get((part, item))
            body = body.replace(f"@@{_anchor(part, item)}@@", self._label(number) if number else "")
        if not self._tagged:
            return f"<html><head><title>{html.escape(title)}</title></head><body>\n{body}</body></html>\n".encode()
        head = (f'<?xml version="1.0" encoding="UTF-8"?>\n<html {NAMESPACES} '
                f'xmlns:{self.company.prefix}="http://www.{self.company.prefix}.example/2024" '
                f'xml:lang="en-US"><head><meta http-equiv="Content-Type" content="text/html; '
                f'charset=UTF-8"/><title>{html.escape(title)}</title></head>')
        hidden = (f'<div style="display:none"><ix:header><ix:hidden>{"".join(self._hidden)}</ix:hidden><ix:references xml:lang="en-US">'
                  f'<link:schemaRef xlink:type="simple" '
                  f'xlink:href="{title}.xsd"/></ix:references><ix:resources>{self.contexts.render()}{UNITS}'
                  "</ix:resources></ix:header></div>")
        return f"{head}<body>{hidden}\n{body}</body></html>\n".encode()

    # -- inside

    def _label(self, page: int | None = None) -> str:
        if not self._index:
            return str(self.page)
        number = (page or self.page) - 2
        if number < 1:
            return "" if page is None and self.page == 1 else "i"
        return f"{self.running} | {number}" if self.house.curly and page is None else str(number)

    def _row(self, row: Row, width: int, contexts: Sequence[str], first: bool) -> str:
        shade = "background-color:#cceeff" if not row.total else "border-top:1pt solid #000"
        label = f'<td style="padding-left:{2 + 10 * row.indent}pt;{shade}">{self._text(row.label)}</td>'
        if not row.values:
            return f'<tr>{label}<td colspan="{width - 1}"></td></tr>'
        if row.quote:
            self._remember(row.quote, " ".join([row.label, *(self._shown(v, row.flip) for v in row.values)]), "table")
        cells = "".join(self._cell(v, row, (row.contexts or contexts)[n] if row.concept else "", first or row.total) for n,
                        v in enumerate(row.values))
        return f"<tr>{label}{cells}</tr>\n"

    def _cell(self, value: Value, row: Row, context: str, sign: bool) -> str:
        """A gap and three cells."""
        style = ' style="text-align:right"'
        if value is None or isinstance(value, str):
            return f"<td></td><td></td><td{style}>{self._text(value or '—')}</td><td></td>"
        if isinstance(value, Percent):
            bracket = value.value < 0
            return f"<td></td><td></td><td{style}>{'(' if bracket else ''}{abs(value.value)}</td><td>{')' if bracket else ''}%</td>"
        amount = value.value if isinstance(value, PerShare) else value
        shown_negative = (amount < 0) != row.flip and amount != 0
        digits = f"{abs(amount):,}"
        if row.concept and self._tagged:
            self._facts += 1
            unit, decimals, scale = ("usdPerShare", "2", "0") if isinstance(value, PerShare) else ("usd", "-3", "3")
            if row.concept.endswith("SharesOutstandingBasic"):
                unit = "shares"
            negative = ' sign="-"' if amount < 0 else ""
            digits = (f'<ix:nonFraction unitRef="{unit}" contextRef="{context}" decimals="{decimals}" name="us-gaap:{row.concept}" '
                      f'format="ixt:num-dot-decimal" scale="{scale}"{negative} id="f-{self._facts}">{digits}</ix:nonFraction>')
        dollar = "$" if (sign and not row.concept.endswith("SharesOutstandingBasic")) else ""
        return f"<td></td><td>{dollar}</td><td{style}>{'(' if shown_negative else ''}{digits}</td><td>{')' if shown_negative else ''}</td>"

    @staticmethod
    def _shown(value: Value, flip: bool) -> str:
        """A figure as a quote has it: without $, brackets and percent signs."""
        if isinstance(value, Percent | PerShare):
            return f"{abs(value.value):,}"
        return f"{abs(value):,}" if isinstance(value, int) else value or "—"

    def _remember(self, quote: Quote, text: str, kind: str) -> None:
        shown = html.unescape(self._text(text))
        self.evidence[quote.key] = Evidence(quote.key, shown, quote.answer, quote.value, self.page, self._part, self._item, kind)

    def _bold(self, text: str, escape: bool = True) -> str:
        return self.house.bold_open + (self._text(text) if escape else text) + self.house.bold_close

    def _text(self, text: str) -> str:
        text = text if "&#160;" in text else html.escape(text, quote=False)
        return text.replace("'", "\u2019") if self.house.curly else text

    def _room(self, height: int) -> None:
        if self._used and self._used + height > ROOM:
            self.new_page()

    def _add(self, markup: str, height: int) -> None:
        self._out.append(markup + "\n")
        self._used += height


def _anchor(part: str, item: str) -> str:
    return f"i_{part}_{item}".replace(".", "_")


def long_date(day: date) -> str:
    """December 31, 2024."""
    return f"{day:%B} {day.day}, {day.year}"


def millions(thousands: int) -> str:
    """$12.3 million."""
    return f"${Decimal(thousands) / 1000:,.1f} million"
