"""From items in reading order to `Parsed`: pages and furniture, kinds and levels, the text with its ranges, and the count of what was lost.

The last step of every native parser.
"""

from __future__ import annotations

import json
import re

from edgarmill.schemas.errors import NoText
from edgarmill.workers.parse.characters import numbers, visible_characters
from edgarmill.workers.parse.headings import kind_of, levels
from edgarmill.workers.parse.pages import joined, paged
from edgarmill.workers.parse.parsed import Block, Parsed
from edgarmill.workers.parse.runs import Grid, Item, Run

_UNIT = re.compile(
    r"(?:\(|\b)(?:(?:u\.?s\.? )?dollars?|amounts?|tabular amounts?|\$|usd|shares?)?\s*(?:are )?"
    r"in (?:thousands|millions|billions)\b[^()\n]{0,120}|"
    r"(?:^|\()\s*(?:thousands|millions|billions) of (?:u\.?s\.? )?dollars\b[^()\n]{0,120}|"
    r"\((?:in )?(?:u\.?s\.? ?)?\$?\s?(?:000['’]?s|000|thousands|millions|billions)\b[^()\n]{0,120}", re.I)
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_SCALES = ("thousand", "million", "billion", "000")
_SIGNATURES = re.compile(r"signatures?(?: page)?\W*", re.I)
_NOTICED = 0.98  # share of the visible characters, or numbers, below which the parse warns


def parsed_of(items: list[Item], source: str, encoding: str, engine: str, name: str, warnings: tuple[str, ...] = (),
              every_page: bool = False) -> Parsed:
    """The canonical form of what a parser read; `source` is all that the document shows. Raises NoText.

    `every_page`: a page without content counts too, as the pages of a PDF do.
    """
    pages, furniture = paged(items, every_page)
    blocks = joined(pages)
    text, placed = _assembled(blocks)
    if not text:
        raise NoText("the document shows no text", name, "look at the file: it may hold only images")
    taken = tuple(block.text for block in furniture if isinstance(block, Run))
    removed = " ".join(taken)
    chars_in, numbers_in = visible_characters(source), numbers(source)
    found = (*warnings, *_losses(text, removed, chars_in, numbers_in))
    return Parsed(text, tuple(placed), max(len(pages), 1), encoding, engine, chars_in, len(numbers_in), found, (), taken)


def _assembled(blocks: list[Run | Grid]) -> tuple[str, list[Block]]:
    kinds = _kinds(blocks)
    levelled = iter(levels([block for block, kind in zip(blocks, kinds, strict=True) if kind == "heading" and isinstance(block, Run)]))
    parts: list[str] = []
    placed: list[Block] = []
    at = 0
    for index, (block, kind) in enumerate(zip(blocks, kinds, strict=True)):
        text = block.text if isinstance(block, Run) else "\n".join(block.lines())
        grid = _json(block, blocks[max(index - 3, 0) : index]) if isinstance(block, Grid) else None
        level = next(levelled) if kind == "heading" else None
        placed.append(Block(kind, at, at + len(text), block.page, block.label, level, grid))
        parts.append(text)
        at += len(text) + 2
    return "\n\n".join(parts), placed


def _kinds(blocks: list[Run | Grid]) -> list[str]:
    kinds: list[str] = []
    after_table = signed = False
    for block in blocks:
        if isinstance(block, Grid):
            kinds.append("table")
            after_table = True
            continue
        kind = kind_of(block, after_table, signed)
        signed = signed or bool(_SIGNATURES.fullmatch(block.text))
        after_table = after_table and kind == "footnote"
        kinds.append(kind)
    return kinds


def _json(grid: Grid, before: list[Run | Grid]) -> str:
    said = {"rows": grid.rows, "header_rows": grid.header_rows, "unit": _unit(grid, before)}
    if grid.header_rows:
        said["columns"] = [_column(cells) for cells in zip(*grid.rows[: grid.header_rows], strict=True)]
    if grid.levels:
        said["levels"] = grid.levels
    if grid.marks:
        said["marks"] = grid.marks
    return _JSON.encode(said)


def _column(cells: tuple[str, ...]) -> str:
    """ "Year ended December 31, 2024" from the rows of a header, its unit aside."""
    if len(cells) == 1:
        return cells[0]
    return " ".join(cell for cell in dict.fromkeys(cells) if cell and not _UNIT.fullmatch(cell.strip("() ")))


def _unit(grid: Grid, before: list[Run | Grid]) -> str | None:
    """ "in millions, except per share amounts", from the table's top or the lines above it."""
    top = [cell for row in grid.rows[: grid.header_rows + 2] for cell in row if cell]
    above = [block.text for block in reversed(before) if isinstance(block, Run) and len(block.text) < 200]
    texts = [*top, *above]
    if _names_scale("\n".join(texts)):
        for text in texts:
            if _names_scale(text) and (match := _UNIT.search(text)):
                return match[0].strip("( ").strip()
    return grid.unit


def _names_scale(text: str) -> bool:
    small = text.lower()
    return any(scale in small for scale in _SCALES)


def _losses(text: str, removed: str, chars_in: int, numbers_in: set[str]) -> list[str]:
    """A warning where the text holds noticeably less than the source shows, page furniture aside."""
    warnings = []
    chars_out = visible_characters(text) + visible_characters(removed)
    if chars_out < chars_in * _NOTICED:
        warnings.append(f"{chars_in - chars_out:,} of {chars_in:,} visible characters are not in the text")
    lost = numbers_in - numbers(text) - numbers(removed)
    if len(lost) > len(numbers_in) * (1 - _NOTICED):
        warnings.append(f"{len(lost):,} of {len(numbers_in):,} distinct numbers are not in the text")
    return warnings
