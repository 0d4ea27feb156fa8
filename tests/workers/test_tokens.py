"""The token counter: exact, plain about special-looking text, bounded on text without blanks."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgarmill.schemas.errors import SettingsError
from edgarmill.schemas.recipe import EmbeddingModel
from edgarmill.schemas.settings import Settings
from edgarmill.workers.embed.models import resolve
from edgarmill.workers.embed.tokens import Tokenizer

TOKENIZER = Tokenizer(resolve(EmbeddingModel(), Settings()).tokenizer_path)
WORDS = st.text(alphabet="aé中B.,-_[]|<>09 \n\t\u00a0\u200b\x0c\x1cﬁ\u0301", max_size=120)


def byte_level(folder: Path) -> Tokenizer:
    """A small byte-level BPE, in which a word counts otherwise at the start of a text than after a blank."""
    from tokenizers import Tokenizer as Raw
    from tokenizers import decoders, models, pre_tokenizers, trainers

    raw = Raw(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, special_tokens=["<|endoftext|>"], show_progress=False)
    raw.train_from_iterator(["net sales rose because the net sales of the segment rose"] * 20, trainer)
    raw.save(str(folder / "tokenizer.json"))
    return Tokenizer(str(folder / "tokenizer.json"))


def test_a_long_text_is_counted_whole_although_the_packaged_file_cuts_at_128() -> None:
    assert TOKENIZER.count("word " * 1000) == 1000


def test_a_short_text_is_not_padded() -> None:
    assert TOKENIZER.count("one two three") == 3
    assert TOKENIZER.count("") == 0


@pytest.mark.parametrize(("text", "tokens"), [("[SEP]", 3), ("[PAD] [MASK]", 6), ("<|endoftext|>", 8)])
def test_text_that_looks_like_a_special_token_is_plain_text(text: str, tokens: int) -> None:
    assert TOKENIZER.count(text) == tokens


def test_special_looking_text_does_not_reach_the_model_as_special_token() -> None:
    ids = TOKENIZER.cutter(256)(["a [SEP] b"])[0]
    assert (ids.count(102), len(ids)) == (1, 7)  # the one at the end that the model needs; a [ sep ] b between


def test_ids_are_cut_to_the_window_and_keep_their_special_tokens() -> None:
    long, short = TOKENIZER.cutter(10)(["word " * 50, "word"])
    assert (len(long), long[0], long[-1]) == (10, 101, 102)
    assert len(short) == 3


def test_spans_slice_the_words_out_of_the_text() -> None:
    text = "Net sales: $1,234"
    assert [text[a:b] for a, b in TOKENIZER.spans(text)] == ["Net", "sales", ":", "$", "1", ",", "234"]


@given(WORDS)
def test_a_range_between_words_counts_like_the_text_of_its_own(text: str) -> None:
    pieces = TOKENIZER.pieces(text)
    assert pieces.exact(0, len(text)) == TOKENIZER.count(text) == len(pieces.starts)
    cuts = [0, *pieces.starts, len(text)]
    for start, end in zip(cuts, cuts[2:], strict=False):
        assert pieces.exact(start, end) == TOKENIZER.count(text[start:end])


@given(WORDS, st.integers(1, 9))
def test_cuts_advance_and_leave_at_most_the_room(text: str, room: int) -> None:
    pieces, at = TOKENIZER.pieces(text), 0
    while at < len(text):
        cut = pieces.bounded(at, len(text), room)
        assert cut > at
        assert cut == at + 1 or TOKENIZER.count(text[at:cut]) <= room
        at = cut


def test_segments_of_a_long_text_add_up() -> None:
    text = "Net sales rose 5.2% in fiscal 2024.\n\n" * 3000
    assert len(TOKENIZER.spans(text)) == TOKENIZER.count(text)
    assert TOKENIZER.spans(text)[-1] == (len(text) - 3, len(text) - 2)  # the full stop


@pytest.mark.parametrize("run", ["a", "_", "中", "a_", " "])
def test_a_run_without_blanks_is_counted_and_cut(run: str) -> None:
    text = "before " + run * 5000 + " after"
    pieces = TOKENIZER.pieces(text)
    assert pieces.exact(0, len(text)) == TOKENIZER.count(text)
    at, cuts = 0, 0
    while at < len(text):
        at, cuts = pieces.bounded(at, len(text), 100), cuts + 1
    assert cuts <= 2 + TOKENIZER.count(text) // 50


def test_a_run_longer_than_a_segment_may_be_is_still_counted_exactly() -> None:
    text = "a" * 600_000
    pieces = TOKENIZER.pieces(text)
    assert pieces.exact(0, len(text)) == TOKENIZER.count(text) == 1


def test_counts_of_byte_level_models_are_taken_anew_for_each_range(tmp_path: Path) -> None:
    tokenizer = byte_level(tmp_path)
    text = "the net sales of the segment rose <|endoftext|> because"
    pieces = tokenizer.pieces(text)
    assert not tokenizer.additive
    for start in (4, 8, 14, 21):
        assert pieces.exact(start, len(text)) == tokenizer.count(text[start:])
        cut = pieces.bounded(start, len(text), 3)
        assert cut > start and tokenizer.count(text[start:cut]) <= 3


@pytest.mark.parametrize("content", [b"", b"{}", b"\x00\xff", b'{"version": "1.0"}'])
def test_a_broken_tokenizer_file_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(SettingsError, match=r"tokenizer\.json: tokenizer cannot be read"):
        Tokenizer(str(path))
