"""Text folded for comparison, with the place of every kept character: what differs between a quote and its source goes, the range stays.

White space of any kind becomes one blank, curly quotes and primes become straight, dashes and the minus sign become "-", soft hyphens and
zero-width characters go. Tight folding, for rows of tables, also drops blanks, `$ ( ) %` and the separators of cells `|`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

BLANKS = "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
NOTHING = "\x00\xad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
SINGLE = "\u2018\u2019\u201a\u201b\u2032\u2035\u02b9\u02bc"
DOUBLE = "\u201c\u201d\u201e\u201f\u2033\u2036"
DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2043\ufe58\ufe63\uff0d"
LOOSE = "$()%|"  # in a row of a table these stand in cells of their own, or do not

GONE = 0  # code point of a character that is left out


@dataclass(frozen=True, slots=True)
class Folded:
    """`text[i]` stands for the character at `places[i]` of the source."""

    text: str
    places: npt.NDArray[np.int64]

    def source(self, start: int, end: int) -> tuple[int, int]:
        """The range of the source behind `text[start:end]`, which is not empty."""
        return int(self.places[start]), int(self.places[end - 1]) + 1

    def within(self, start: int, end: int) -> tuple[int, int]:
        """The range of `text` that lies inside a range of the source."""
        first, last = np.searchsorted(self.places, (start, end))
        return int(first), int(last)


def fold(text: str, tight: bool = False) -> Folded:
    """The folded text; 2 million characters take some 30 ms."""
    codes = _table(tight)[np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)]
    places = np.flatnonzero(codes != GONE)
    codes = codes[places]
    blank = codes == ord(" ")
    if blank.any():
        single = np.ones(len(codes), dtype=bool)
        single[1:] = ~(blank[1:] & blank[:-1])
        places, codes = places[single], codes[single]
    return Folded(codes.tobytes().decode("utf-32-le", "surrogatepass"), places.astype(np.int64))


def folded(quote: str, tight: bool = False) -> str:
    """A quote folded, without blanks at its ends."""
    return fold(quote, tight).text.strip(" ")


@cache
def _table(tight: bool) -> npt.NDArray[np.uint32]:
    """For each code point the one that it is folded to."""
    table = np.arange(0x110000, dtype=np.uint32)
    for characters, to in ((BLANKS, " "), (NOTHING, "\0"), (SINGLE, "'"), (DOUBLE, '"'), (DASHES, "-")):
        table[[ord(c) for c in characters]] = ord(to)
    if tight:
        table[[ord(c) for c in BLANKS + LOOSE]] = GONE
    return table
