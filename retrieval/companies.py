"""The companies of an index by the names that people use: as filed, without legal form, first word, ticker, known nickname.

A name that is also a word (Target, Gap, Visa, All) counts only where it is written as a name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from edgarmill.retrieval.wordlists import COMMON, LEGAL, NICKNAMES, SHORTER, TICKER_WORDS

LONGEST_NAME = 7  # words
_PLACE = re.compile(r"[/\\][A-Z ]{2,9}[/\\]?\s*$")  # WELLS FARGO & CO/MN, \PA\, /DE/
_WORD = re.compile(r"[^\W_](?:[\w&.'’\-]*[^\W_])?")
_POSSESSIVE = re.compile(r"['’][sS]?$|(?<=s)['’]$")
_TICKER_SIGN = re.compile(r"(?:\$|\b(?:NYSE|NASDAQ|Nasdaq|AMEX|[Tt]ickers?|[Ss]ymbols?)\s*:?\s*\(?)$")


@dataclass(frozen=True, slots=True)
class Mention:
    """Of one company in a text. `filers` as in Filters: its CIKs and tickers."""

    filers: tuple[str, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Word:
    plain: str  # lower case, without accents, signs, possessive
    start: int
    end: int  # without the possessive
    capital: bool
    possessive: bool
    first: bool  # of a sentence


@dataclass(frozen=True)
class Companies:
    """By plain name without blanks; sure names hold in any spelling, short ones (first words) with a capital only."""

    names: dict[str, tuple[str, ...]]
    shorts: dict[str, tuple[str, ...]]
    tickers: dict[str, tuple[str, ...]]
    words: frozenset[str]  # of all names, plain

    def mentions(self, text: str) -> list[Mention]:
        """The companies named in a text, in order, the longest name at each place."""
        words = list(words_of(text))
        case = _tells_by_case(words)
        found: list[Mention] = []
        at = 0
        while at < len(words):
            mention, used = self._at(text, words, at, case)
            if mention is not None:
                found.append(mention)
            at += used
        return found

    def _at(self, text: str, words: list[Word], at: int, case: bool) -> tuple[Mention | None, int]:
        for length in range(min(LONGEST_NAME, len(words) - at), 0, -1):
            run = words[at : at + length]
            if not _together(text, run):
                continue
            before = "".join(word.plain + "s" * word.possessive for word in run[:-1])  # DICK'S Sporting Goods
            for last in {run[-1].plain, run[-1].plain + "s" * run[-1].possessive}:  # Apple's, Lowe's
                filers = self._filers(before + last, run, case)
                if filers:
                    return Mention(filers, run[0].start, run[-1].end), length
            if length == 1 and (filers := self._ticker(text, run[0], case)):
                return Mention(filers, run[0].start, run[0].end), 1
        return None, 1

    def _filers(self, key: str, run: list[Word], case: bool) -> tuple[str, ...] | None:
        filers = self.names.get(key) if _named(run, case) else None
        short = len(run) == 1 and case and run[0].capital
        return filers or (self.shorts.get(key) if short else None)

    def _ticker(self, text: str, word: Word, case: bool) -> tuple[str, ...] | None:
        written = text[word.start : word.end]
        if not written.isupper() or written not in self.tickers:
            return None
        signed = _TICKER_SIGN.search(text, max(0, word.start - 16), word.start)
        plain = case and len(written) > 1 and written not in TICKER_WORDS and written.lower() not in COMMON
        return self.tickers[written] if signed or plain else None


def words_of(text: str) -> Iterator[Word]:
    """Words with their places; time is linear in the length."""
    last = 0
    for found in _WORD.finditer(text):
        written = found[0]
        tail = _POSSESSIVE.search(written)
        own = written[: tail.start()] if tail and tail.start() else written
        own = own[:-4] if len(own) > 4 and own.lower().endswith(".com") else own
        after = text[found.end() : found.end() + 1]
        between = text[last : found.start()].strip()
        first = last == 0 or bool(re.search(r"[.?!:;\n\"“”(]", text[last : found.start()])) or between in ("-", "–", "—")
        plain = plain_word(own)
        if plain:
            yield Word(plain, found.start(), found.start() + len(own), own[0].isupper() or own[0].isdigit(),
                       own != written or (own[-1] in "sS" and after in ("'", "’")), first)
        last = found.end()


def plain_word(written: str) -> str:
    folded = unicodedata.normalize("NFKD", written)
    plain = "".join(c for c in folded.lower() if c.isalnum())
    return SHORTER.get(plain, plain)


def companies_of(rows: Iterable[tuple[str | None, str | None, tuple[str, ...]]]) -> Companies:
    """From (company as filed, CIK, tickers) of each filer. A filing with neither number nor ticker goes by "=NAME", beside the filers of
    that short name."""
    known = [(company or "", [one for one in (cik, *tickers) if one]) for company, cik, tickers in sorted(set(rows), key=repr)]
    alike = {"".join(short_name(company)): ids for company, ids in known if ids}
    filers: dict[str, set[str]] = {}  # one set an id, shared by the ids of one company
    named: list[tuple[str, str]] = []
    for company, ids in known:
        ids = ids or ([f"={company}", *alike.get("".join(short_name(company)), [])[:1]] if company else [])
        if ids:
            whole = set(ids).union(*(filers.get(one, ()) for one in ids))
            filers.update(dict.fromkeys(whole, whole))
            named.append((company, ids[0]))
    return _named_by(named, {one: tuple(sorted(whole)) for one, whole in filers.items()})


def companies_in(dataset: Any) -> Companies:
    """Of a Lance dataset, in one pass over three columns."""
    import duckdb

    with duckdb.connect(":memory:") as connection:
        connection.register("held", dataset.scanner(columns=["company", "ciks", "tickers"]).to_reader())
        rows = connection.execute("SELECT DISTINCT company, ciks[1], tickers FROM held").fetchall()
    return companies_of((company, cik, tuple(tickers or ())) for company, cik, tickers in rows)


def _named_by(named: list[tuple[str, str]], by: dict[str, tuple[str, ...]]) -> Companies:
    names: dict[str, set[tuple[str, ...]]] = {}
    shorts: dict[str, set[tuple[str, ...]]] = {}
    words: set[str] = set()
    for company, one in named:
        parts = short_name(company)
        words |= {part for part in _plain_words(company) if len(part) > 2}
        if not parts:
            continue
        spoken = "".join(short_name(company.replace("&", " and ")))
        for name in {"".join(_plain_words(company)), "".join(parts), spoken, *NICKNAMES.get("".join(parts), ())}:
            names.setdefault(name, set()).add(by[one])
        if len(parts[0]) >= 4 and parts[0] not in COMMON and not parts[0].isdigit():
            shorts.setdefault(parts[0], set()).add(by[one])
    single = {name: next(iter(found)) for name, found in names.items() if len(found) == 1 and len(name) > 1}
    sole = {name: next(iter(found)) for name, found in shorts.items() if len(found) == 1}
    tickers = {one: found for one, found in by.items() if not one.isdigit() and not one.startswith("=")}
    return Companies(single, sole, tickers, frozenset(words))


def short_name(company: str) -> list[str]:
    """The plain words of a name without its legal form: JPMORGAN CHASE & CO → jpmorgan, chase."""
    words = _plain_words(_PLACE.sub("", company))
    while words and words[-1] in LEGAL:
        words.pop()
    if len(words) > 1 and words[0] == "the":
        words = words[1:]
    return words


def _plain_words(company: str) -> list[str]:
    parts = re.split(r"[\s,/\\()-]+|\.(?=com\b)", company, flags=re.I)
    return [plain for part in parts if (plain := plain_word(part))]


def _named(run: list[Word], case: bool) -> bool:
    """Is it written as a name? Words that are no common ones are one in any case."""
    if any(word.plain not in COMMON and len(word.plain) > 2 and not word.plain.isdigit() for word in run):
        return True
    capital = case and all(word.capital or word.plain in ("and", "of") for word in run)
    if len(run) > 1:
        return capital
    return capital and (run[0].possessive or not run[0].first) and not (len(run[0].plain) < 2 or run[0].plain.isdigit())


def _together(text: str, run: list[Word]) -> bool:
    """No stop, bracket or line break between the words."""
    for one, other in zip(run, run[1:], strict=False):
        gap = text[one.end : other.start]
        if len(gap) > 3 or not set(gap) <= set(" .,&-\u00a0") or (". " in gap and len(one.plain) > 1):
            return False
    return True


def _tells_by_case(words: list[Word]) -> bool:
    """Does a capital mean anything? Not in a heading In Title Case, nor where everything is in capitals or nothing is."""
    inner = [word for word in words if not word.first and len(word.plain) > 3 and not word.plain.isdigit()]
    return not inner or any(not word.capital for word in inner)
