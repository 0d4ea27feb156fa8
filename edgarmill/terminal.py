"""What the command prints: tables, JSON, progress, one-line errors. Plain text unless a terminal is too narrow for the plain table."""

from __future__ import annotations

import json
import re
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from edgarmill.schemas.records import RunRecord

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")  # a filing's name must not steer the terminal
PLAIN_EVERY_SECONDS = 5.0
LIVE_EVERY_SECONDS = 0.1


def clean(text: object) -> str:
    """One line without control characters."""
    return CONTROL.sub(" ", str(text)).strip()


def count(value: int) -> str:
    return f"{value:,}"


def counted(value: int, noun: str) -> str:
    """`1 filer`, `2,000 filers`."""
    return f"{value:,} {noun}{'' if value == 1 else 's'}"


def left_over(record: RunRecord) -> str:
    """What is to be done after a run, or ""."""
    if record.quarantined:
        return "  See: edgarmill quarantine list"
    return f"  {record.message[:1].upper()}{record.message[1:]}. Run it again." if record.exit_code == 3 else ""


def number(value: float) -> str:
    """Three significant places below 100, none above."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def dollars(value: Decimal | float) -> str:
    """US dollars: cents above one dollar, else three significant places (never rounded to zero)."""
    amount = Decimal(str(value))
    if amount == 0 or abs(amount) >= 1:
        return f"${amount:,.2f}"
    whole, _, places = f"{amount:.{2 - amount.adjusted()}f}".partition(".")
    return f"${whole}.{places.rstrip('0').ljust(2, '0')}"


def size(value: float) -> str:
    """Bytes with a decimal unit."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(value) < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} TB"


def share(value: float) -> str:
    """A share as per cent; what is not zero never reads as zero."""
    return "<0.1 %" if 0 < value < 0.001 else f"{100 * value:.1f} %"


def seconds(value: float) -> str:
    """A duration as a person says it."""
    whole = round(value)
    if value < 10:
        return f"{value:.1f} s" if value >= 1 else f"{value:.2g} s"
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def text(value: object) -> str:
    """The default form of a cell."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return count(value)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, list | tuple | frozenset | set):
        return ", ".join(clean(v) for v in value)
    return clean(value)


@dataclass(frozen=True)
class Column:
    """A column of a listing: which key, its heading, how a value reads, and what stands where there is none."""

    key: str
    heading: str
    form: Callable[[Any], str] = text
    absent: str = "-"

    def cell(self, row: Mapping[str, Any]) -> str:
        value = row.get(self.key)
        return self.absent if value is None or value in ("", [], ()) else self.form(value)


def columns(*words: str | Column) -> tuple[Column, ...]:
    """Columns from "key" or "key:heading" for the plain ones, and from Column."""
    return tuple(w if isinstance(w, Column) else Column(w.partition(":")[0], w.partition(":")[2] or w) for w in words)


def show(rows: Sequence[Mapping[str, Any]], columns: Sequence[Column], stream: TextIO | None = None) -> None:
    """Prints rows as a table."""
    out = stream or sys.stdout
    cells = [[c.cell(r) for c in columns] for r in rows]
    right = [_numeric(rows, c.key) for c in columns]
    widths = [max(map(len, (c.heading, *(line[i] for line in cells)))) for i, c in enumerate(columns)]
    if out.isatty() and sum(widths) + 2 * len(widths) > shutil.get_terminal_size().columns:
        return _folded(cells, columns, right, out)
    for line in ([c.heading for c in columns], *cells):
        parts = (w.rjust(n) if r else w.ljust(n) for w, n, r in zip(line, widths, right, strict=True))
        print("  ".join(parts).rstrip(), file=out)


def _numeric(rows: Sequence[Mapping[str, Any]], key: str) -> bool:
    values = [r.get(key) for r in rows if r.get(key) is not None]
    return bool(values) and all(isinstance(v, int | float | Decimal) and not isinstance(v, bool) for v in values)


def _folded(cells: list[list[str]], columns: Sequence[Column], right: list[bool], out: TextIO) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column, numeric in zip(columns, right, strict=True):
        table.add_column(column.heading, justify="right" if numeric else "left", overflow="fold")
    for line in cells:
        table.add_row(*map(Text, line))
    Console(file=out, highlight=False, emoji=False, markup=False).print(table)


def show_json(value: object, stream: TextIO | None = None) -> None:
    """Prints a value as JSON: money and numbers as numbers, times in ISO 8601, what was not measured as null."""
    print(json.dumps(value, default=_plain, ensure_ascii=False, indent=1), file=stream or sys.stdout)


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, frozenset | set):
        return sorted(value)
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return str(value)


def listing(rows: Sequence[Mapping[str, Any]], columns: Sequence[Column], *, as_json: bool, empty: str) -> None:
    """A listing: a table, or all of its rows as JSON, or one sentence when there is none."""
    if as_json:
        show_json(list(rows))
    elif rows:
        show(rows, columns)
    else:
        print(empty)


def complain(message: object, stream: TextIO | None = None) -> None:
    """One line on stderr."""
    print(f"edgarmill: {clean(message)}", file=stream or sys.stderr, flush=True)


@dataclass
class _Stage:
    since: float
    first: int
    said: float
    done: int = 0
    total: int | None = None
    over: bool = False


@dataclass
class Progress:
    """Called with (stage, done, total) as often as one likes; total None = not known yet. Writes count, rate and time left to stderr:
    one live line on a terminal, else a plain line a stage at most every five seconds and one at its end."""

    stream: TextIO = field(default_factory=lambda: sys.stderr)
    clock: Callable[[], float] = time.monotonic
    stages: dict[str, _Stage] = field(default_factory=dict)
    drawn_at: float = float("-inf")
    drawn: int = 0  # width of the live line that stands on the screen

    def __call__(self, stage: str, done: int, total: int | None = None) -> None:
        now = self.clock()
        state = self.stages.setdefault(stage, _Stage(now, done, now))
        state.done, state.total = done, total
        if total is not None and done >= total:
            if not state.over:
                state.over = True
                self._say(self._line(stage, now))
        elif self.stream.isatty():
            state.over = False
            if now - self.drawn_at >= LIVE_EVERY_SECONDS:
                self.drawn_at = now
                self._draw(" | ".join(self._line(name, now) for name, s in self.stages.items() if not s.over))
        elif now - state.said >= PLAIN_EVERY_SECONDS:
            state.said, state.over = now, False
            self._say(self._line(stage, now))

    def close(self) -> None:
        """Takes the live line off the screen."""
        self._draw("")
        if self.drawn == 0 and self.stream.isatty():
            self.stream.write("\r")
        self.stream.flush()

    def _line(self, name: str, now: float) -> str:
        state = self.stages[name]
        spent, made = now - state.since, state.done - state.first
        rate = f", {number(made / spent)}/s" if spent > 0 and made > 0 else ""
        if state.total is None:
            return f"{name} {state.done:,}{rate}"
        line = f"{name} {state.done:,}/{state.total:,}"
        if state.done >= state.total:
            return f"{line} in {seconds(spent)}{rate}"
        return f"{line}{rate}, {seconds((state.total - state.done) * spent / made)} left" if rate else line

    def _say(self, line: str) -> None:
        self._draw("")
        self.stream.write(("\r" if self.stream.isatty() else "") + line + "\n")
        self.stream.flush()

    def _draw(self, line: str) -> None:
        if not self.stream.isatty():
            return
        line = line[: max(shutil.get_terminal_size().columns - 1, 20)]
        if line or self.drawn:
            self.stream.write("\r" + line.ljust(self.drawn))
            self.stream.flush()
        self.drawn = len(line)
