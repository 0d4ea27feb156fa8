"""How figures and names read on the page. All that comes from a lake passes through `said` on its way into markup."""

from __future__ import annotations

from html import escape

from edgarmill.eval.certainty import Difference, Verdict
from edgarmill.eval.page.subject import Arm, Cell

# Controls and what turns the direction of writing; one for one, so that ranges of a text stay true.
CONTROL = {code: " " for code in (*range(9), 11, 12, *range(14, 32), *range(127, 160), 0x2028, 0x2029, *range(0x202A, 0x202F),
                                  *range(0x2066, 0x206A), *range(0xD800, 0xE000))}
NONE = "–"
MEANING: dict[Verdict, str] = {
    "better": "surely better: the interval leaves 0 out, and the test agrees",
    "worse": "surely worse: the interval leaves 0 out, and the test agrees",
    "equal": "equal: no question differs",
    "undecided": "undecided: these questions cannot tell the two apart",
}


def plain(text: object) -> str:
    """Without controls."""
    return str(text).translate(CONTROL)


def said(text: object) -> str:
    """Safe in markup and in attributes."""
    return escape(plain(text))


def short(text: str, most: int) -> str:
    line = " ".join(plain(text).split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def number(metric: str, value: float | None) -> str:
    """Milliseconds, whole tokens, dollars with what they need, shares with three places."""
    if value is None:
        return NONE
    if metric.endswith("_seconds"):
        return f"{1000 * value:,.0f}" if value >= 0.1 else f"{1000 * value:.1f}"
    if metric.startswith("tokens"):
        return f"{value:,.0f}"
    if metric == "usd":
        return f"{value:.2g}" if 0 < value < 0.01 else f"{value:.3f}"
    return f"{value:.3f}"


def bounds(metric: str, low: float | None, high: float | None) -> str:
    """`[0.38 0.45]`, or "" without an interval."""
    return "" if low is None and high is None else f"[{number(metric, low)} {number(metric, high)}]"


def figure(metric: str, cell: Cell) -> str:
    return f"{number(metric, cell.value)} {bounds(metric, cell.low, cell.high)}".strip()


def named(metric: str) -> str:
    """As a heading: what is milliseconds, tokens or dollars says so."""
    if metric.endswith("_seconds"):
        step, percent, _ = metric.split("_", 2)
        return f"{'latency' if step == 'latency' else step} {percent}, ms"
    return {"usd": "dollars a question", "tokens": "tokens a question"}.get(metric, metric)


def change(metric: str, d: Difference) -> str:
    """`0.412 → 0.454, +0.042 [0.010 0.074]`."""
    if d.first is None or d.second is None or d.mean is None:
        return "not measured"
    interval = bounds(metric, d.low, d.high) or "no interval"
    return f"{number(metric, d.first)} → {number(metric, d.second)}, {signed(metric, d.mean)} {interval}"


def signed(metric: str, value: float | None) -> str:
    return NONE if value is None else f"{'+' if value >= 0 else '−'}{number(metric, abs(value))}"


def sure(p: float | None) -> str:
    return "no p" if p is None else "p < 0.001" if p < 0.001 else f"p {p:.3f}"


def verdict(arm: Arm, first: Arm, metric: str) -> str:
    """How an arm stands to the first one, in a sentence."""
    d = arm.difference
    if d is None or arm.verdict is None:
        return ""
    asked = f"{d.questions:,} questions of {d.documents:,} documents, {d.higher:,} up and {d.lower:,} down"
    return f"{arm.label} against {first.label}: {MEANING[arm.verdict]}. {metric} {change(metric, d)}, {sure(arm.p)}; {asked}."
