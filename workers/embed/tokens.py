"""The one place that counts tokens: the embedding model's own tokenizer, with cutting and padding off.

A packaged tokenizer.json may itself cut (MiniLM's at 128) or pad to a fixed length; both are switched off here. Text that looks like
a special token ("[SEP]", "<|endoftext|>") is plain text: a filing must not be able to steer the counter or the model.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from pathlib import Path

from edgarmill.schemas.errors import SettingsError
from edgarmill.schemas.files import check_regular

# White space that every tokenizer takes as such. Not \x0b, \x0c, \x85, \x1c-\x1f: BERT's drops these and joins the words.
BLANK = " \t\n\r\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_BLANK = re.compile(f"[{BLANK}]")
_SEGMENT = 16_384  # characters tokenised at once: bounds memory and lets the library use all cores
_UNBROKEN = 262_144  # characters without a blank after which a segment ends all the same


class Tokenizer:
    """Counts word pieces as the model sees them. Opening costs about 20 ms; threads may share one."""

    def __init__(self, path: str) -> None:
        """`path` of a tokenizer.json. Raises SettingsError when it cannot be read."""
        import tokenizers

        check_regular(path)
        try:
            data = Path(path).read_bytes()
            self._raw = tokenizers.Tokenizer.from_buffer(data)
            self.additive = _additive(json.loads(data))
        except (OSError, ValueError) as error:
            raise SettingsError(f"tokenizer cannot be read ({type(error).__name__})", path, "Name a model with a tokenizer.json.") from None
        self._raw.no_truncation()
        self._raw.no_padding()
        self._raw.encode_special_tokens = True
        self.path = path
        self.specials = int(self._raw.num_special_tokens_to_add(False))

    def count(self, text: str) -> int:
        """Tokens of a text, special ones not included."""
        return self.counts([text])[0]

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, special ones not included."""
        return [len(e) for e in self._raw.encode_batch_fast(list(texts), add_special_tokens=False)]

    def cutter(self, window: int) -> Callable[[Sequence[str]], list[list[int]]]:
        """A function from texts to the token ids that the model takes: special ones included, cut to `window` at the end of the text."""
        import tokenizers

        cutting = tokenizers.Tokenizer.from_str(self._raw.to_str())
        cutting.encode_special_tokens = True
        cutting.enable_truncation(window)
        return lambda texts: [e.ids for e in cutting.encode_batch_fast(list(texts))]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Character ranges of the word pieces, in order."""
        pieces = self.pieces(text)
        return list(zip(pieces.starts, pieces.ends, strict=True))

    def pieces(self, text: str) -> Pieces:
        """The text tokenised once, for counting and cutting any of its ranges. Some 100 bytes a token."""
        starts: list[int] = []
        ends: list[int] = []
        words: list[int] = []
        cuts, unsure = _segments(text)
        for first in range(0, len(cuts) - 1, 16):
            ranges = list(zip(cuts[first : first + 16], cuts[first + 1 : first + 17], strict=False))
            encoded = self._raw.encode_batch([text[a:b] for a, b in ranges], add_special_tokens=False)
            for (base, _), one in zip(ranges, encoded, strict=True):
                word = words[-1] + 1 if words else 0
                offsets = one.offsets  # a copy at every look
                starts += [base + s for s, _ in offsets]
                ends += [base + e for _, e in offsets]
                words += [word + (n or 0) for n in one.word_ids]
        return Pieces(text, starts, ends, words, unsure, self)


class Pieces:
    """A text and its word pieces. Ranges are character ranges [start, end) of the text."""

    def __init__(self, text: str, starts: list[int], ends: list[int], words: list[int], unsure: list[int], tokenizer: Tokenizer) -> None:
        self.text, self.starts, self.ends, self.tokenizer = text, starts, ends, tokenizer
        self._words, self._unsure = words, unsure

    def count(self, start: int, end: int) -> int:
        """Word pieces that begin in the range: two bisections. See `exact` for the tokens of the range as a text of its own."""
        return bisect_left(self.starts, end) - bisect_left(self.starts, start)

    def exact(self, start: int, end: int) -> int:
        """Tokens of text[start:end] as a text of its own. Tokenises again only where a cut may have changed the pieces."""
        sure = self.tokenizer.additive and self._clean(start) and self._clean(end)
        if sure and bisect_left(self._unsure, end) == bisect_left(self._unsure, start):
            return self.count(start, end)
        return self.tokenizer.count(self.text[start:end])

    def fit(self, start: int, end: int, room: int) -> int:
        """The furthest cut in (start, end] that leaves at most `room` pieces before it; always after `start`.

        Cuts at a blank where there is one, else between words (punctuation, CJK), else within a word.
        """
        first = bisect_left(self.starts, start)
        last = first + max(room, 1)
        if last >= len(self.starts) or self.starts[last] >= end:
            return end
        blank = between = 0
        for i in range(last, first, -1):  # ends at the first blank, in prose after a few pieces
            if self._words[i] != self._words[i - 1]:
                between = between or self.starts[i]
                if _BLANK.search(self.text, self.ends[i - 1], self.starts[i]):
                    blank = self.starts[i]
                    break
        return max(blank or between or self.starts[last], start + 1)

    def bounded(self, start: int, end: int, room: int) -> int:
        """As `fit`, but the tokens of the range as a text of its own are at most `room` (unless it is one character)."""
        cut = self.fit(start, end, room)
        while (over := self.exact(start, cut) - room) > 0 and cut > start + 1:
            pieces = self.count(start, cut)
            cut = self.fit(start, cut, pieces - over) if pieces - over > 0 else start + (cut - start) // 2
        return cut

    def after_blank(self, index: int) -> bool:
        """Does a blank stand before the piece of that number?"""
        return index == 0 or bool(_BLANK.search(self.text, self.ends[index - 1], self.starts[index]))

    def _clean(self, position: int) -> bool:
        """Does a cut here leave the pieces on both sides as they are?"""
        i = bisect_left(self.starts, position)
        if i == 0 or i == len(self.starts):
            return i == 0 or self.ends[-1] <= position
        return self._words[i] != self._words[i - 1] and self.ends[i - 1] <= position


def _additive(config: dict[str, object]) -> bool:
    """Is the count of a text the sum over its words, wherever they stand? True of BERT's word pieces, not of byte-level BPE."""
    kinds = [part.get("type") if isinstance(part := config.get(key), dict) else None for key in ("normalizer", "pre_tokenizer")]
    return kinds == ["BertNormalizer", "BertPreTokenizer"]


def _segments(text: str) -> tuple[list[int], list[int]]:
    """Cuts of the text at blanks, both ends included, and those of them that had to be made without a blank."""
    cuts, unsure = [0], []
    while cuts[-1] < len(text):
        near = cuts[-1] + _SEGMENT
        found = _BLANK.search(text, near, near + _UNBROKEN) if near < len(text) else None
        cut = found.start() if found else min(near + _UNBROKEN, len(text)) if near < len(text) else len(text)
        if not found and cut < len(text):
            unsure.append(cut)
        cuts.append(cut)
    return cuts, unsure
