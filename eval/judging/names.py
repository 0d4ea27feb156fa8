"""ANLS (DocVQA): 1 - NL where NL, the normalised edit distance, is below 0.5, else 0; the best over the gold answers.

For names and short spans alone. Of amounts it is worthless: "1577" against "1578" is 0.75.
"""

from __future__ import annotations

from collections.abc import Sequence

from edgarmill.eval.judging.numbers import is_figure

MOST_WORDS, MOST_CHARACTERS = 8, 200  # of a gold answer that is a name or a short span
THRESHOLD = 0.5


def anls(answer: str, gold: Sequence[str]) -> float:
    """0 to 1; case and blanks do not count. 0 where there is no gold."""
    from rapidfuzz.distance import Levenshtein

    distances = [Levenshtein.normalized_distance(_plain(answer), _plain(one)) for one in gold]
    return max((1 - one for one in distances if one < THRESHOLD), default=0.0)


def is_name(gold: str) -> bool:
    """Is a gold answer a short span without an amount?"""
    return 0 < len(gold.split()) <= MOST_WORDS and len(gold) <= MOST_CHARACTERS and not is_figure(gold)


def _plain(text: str) -> str:
    return " ".join(text[: 10 * MOST_CHARACTERS].casefold().split()).rstrip(".")
