"""Our facts against the instances that the SEC's own software extracted from the same inline documents.

    python -m eval.benchmarks.facts PATH_TO_SHARED_DATA

Compared as multisets of (concept, period, dimensions, unit, value): numbers exact, texts as folded visible text.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections import Counter
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from lxml import etree, html

from edgarmill.workers.parse import html as html_parser
from edgarmill.workers.parse.parsed import Fact, RawDocument

Key = tuple[str, str, tuple[tuple[str, str], ...], str | None, object]
_INSTANCE = "{http://www.xbrl.org/2003/instance}"
_NIL = "{http://www.w3.org/2001/XMLSchema-instance}nil"


def pairs(data: Path) -> dict[str, Any]:
    """Counts over all pairs: facts of the instances, ours, equal ones (as a multiset), numbers among them, and what differs."""
    totals: dict[str, Any] = {"pairs": 0, "instance": 0, "ours": 0, "equal": 0, "numbers": 0, "numbers_equal": 0, "differ": []}
    for line in (data / "ixbrl_pairs" / "pairs.jsonl").read_text("utf-8").splitlines():
        pair = json.loads(line)
        inline = gzip.decompress((data / "ixbrl_pairs" / pair["inline"]["file"]).read_bytes())
        instance = gzip.decompress((data / "ixbrl_pairs" / pair["instance"]["file"]).read_bytes())
        read = html_parser.parse(RawDocument(1, pair["form"], pair["inline"]["file"], inline, "html"))
        ours = Counter(_key(fact) for fact in read.facts)
        theirs = Counter(instance_keys(instance))
        same = ours & theirs
        totals["pairs"] += 1
        totals["instance"] += theirs.total()
        totals["ours"] += ours.total()
        totals["equal"] += same.total()
        totals["numbers"] += sum(count for key, count in theirs.items() if key[3] is not None)
        totals["numbers_equal"] += sum(count for key, count in same.items() if key[3] is not None)
        totals["differ"] += [("ours", pair["accession"], *key) for key in ours - theirs]
        totals["differ"] += [("instance", pair["accession"], *key) for key in theirs - ours]
    totals["equal_share"] = totals["equal"] / max(totals["instance"], totals["ours"], 1)
    return totals


def tree_of(data: bytes) -> etree._Element:
    """The bytes as libxml2 reads them, hidden parts included."""
    parser = etree.HTMLParser(huge_tree=True, remove_comments=True, remove_pis=True, encoding="utf-8", no_network=True)
    return etree.fromstring(data, parser)


def instance_keys(data: bytes) -> list[Key]:
    """The facts of an XBRL instance in the form in which they are compared."""
    root = etree.fromstring(data, etree.XMLParser(huge_tree=True, resolve_entities=False, no_network=True))
    contexts = {c.get("id"): (_period(c), _dimensions(c)) for c in root.iter(_INSTANCE + "context")}
    units = {u.get("id"): _unit(u) for u in root.iter(_INSTANCE + "unit")}
    keys: list[Key] = []
    for element in root:
        context = element.get("contextRef") if isinstance(element.tag, str) else None
        if context is None:
            continue
        period, dimensions = contexts[context]
        unit = units[element.get("unitRef")] if element.get("unitRef") else None
        nil = element.get(_NIL) in ("true", "1")
        concept = f"{element.prefix}:{etree.QName(element).localname}"
        keys.append((concept, period, dimensions, unit, None if nil else _compared("".join(element.itertext()), unit)))
    return keys


def _key(fact: Fact) -> Key:
    period = fact.instant or f"{fact.start}/{fact.end}"
    return fact.concept, period, fact.dimensions, fact.unit, None if fact.value is None else _compared(fact.value, fact.unit)


def _compared(value: str, unit: str | None) -> object:
    """A number as a number; a text as its letters and signs: where markup puts white space is not part of the value."""
    if unit is not None:
        try:
            return Decimal(value)
        except InvalidOperation:
            return value
    return re.sub(r"\s+", "", _visible(value) if "<" in value else value)


def _visible(markup: str) -> str:
    return str(html.fromstring(f"<div>{markup}</div>").text_content())


def _period(context: etree._Element) -> str:
    found = {etree.QName(e).localname: (e.text or "").strip() for e in context.iter() if isinstance(e.tag, str)}
    return found.get("instant") or f"{found.get('startDate')}/{found.get('endDate')}"


def _dimensions(context: etree._Element) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((e.get("dimension"), "".join(e.itertext()).strip()) for e in context.iter() if e.get("dimension")))


def _unit(unit: etree._Element) -> str:
    sides: dict[str, list[str]] = {"": [], "unitDenominator": []}
    for measure in unit.iter(_INSTANCE + "measure"):
        parent = etree.QName(measure.getparent()).localname
        prefix, _, local = (measure.text or "").strip().rpartition(":")
        text = local if prefix in ("", "iso4217", "xbrli") else f"{prefix}:{local}"
        sides["unitDenominator" if parent == "unitDenominator" else ""].append(text)
    above, below = ("*".join(sorted(side)) for side in sides.values())
    return f"{above}/{below}" if below else above


def main() -> None:
    found = pairs(Path(sys.argv[1]))
    print(json.dumps(found, default=str))


if __name__ == "__main__":
    main()
