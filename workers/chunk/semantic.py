"""A chunk ends where the talk turns: where the embeddings of neighbouring sentences are further apart than a percentile of all such
distances in the document.

Each sentence is embedded once; what is compared is the mean over a sentence and its neighbours (`buffer` to each side), so one odd sentence
makes no border and the model reads a text once, not once per neighbour. Tables stay whole where they fit; what is too long is packed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pydantic import Field

from edgarmill.schemas.records import Document, Element, Section
from edgarmill.workers.chunk import ChunkOptions, Span
from edgarmill.workers.embed.tokens import Pieces
from edgarmill.workers.units import Unit, fitting, packed, stretches, units_of

if TYPE_CHECKING:
    import numpy as np

    from edgarmill.workers.chunk import Encode

NEEDS_ENCODER = True
_DIGITS = 4  # of a distance: the last ones differ between machines and batches


class Options(ChunkOptions):
    percentile: float = Field(95.0, ge=50, le=100, description="of the document's distances; a larger one ends a chunk")
    buffer: int = Field(1, ge=0, le=5, description="sentences to each side that are averaged")
    max_tokens: int = Field(256, ge=32, le=8192, description="most tokens of a chunk as embedded: context and special tokens included")


def largest(options: Options, overhead: int) -> int:
    return options.max_tokens - overhead


def split(document: Document, elements: Sequence[Element], sections: Sequence[Section], options: Options, pieces: Pieces,
          room: int, encode: Encode) -> Iterator[Span]:
    """Never across a section, though the percentile is that of the whole document."""
    import numpy as np

    ordered = sorted(elements, key=lambda e: e.start)
    stretch_units = [list(fitting(units_of(pieces, ordered, stretch, room), pieces, room, whole=False))
                     for stretch in stretches(len(document.text), sections)]
    vectors = _vectors([u for units in stretch_units for u in units], pieces.text, encode)
    distances: list[np.ndarray[Any, Any]] = []
    at = 0
    for units in stretch_units:
        distances.append(_distances(vectors[at : at + len(units)], options.buffer))
        at += len(units)
    every = np.concatenate(distances) if distances else np.zeros(0)
    limit = float(np.percentile(every, options.percentile)) if len(every) else 0.0
    for units, apart in zip(stretch_units, distances, strict=True):
        cuts = [n + 1 for n, distance in enumerate(apart) if distance > limit]
        for first, last in pairwise([0, *cuts, len(units)]):
            yield from packed(units[first:last], pieces, room)


def _vectors(units: Sequence[Unit], text: str, encode: Encode) -> np.ndarray[Any, Any]:
    """A vector of each unit; equal texts are embedded once."""
    import numpy as np

    texts = [text[u.start : u.end] for u in units]
    place = {one: n for n, one in enumerate(dict.fromkeys(texts))}
    return np.asarray(encode(list(place)), dtype=np.float64)[[place[one] for one in texts]] if texts else np.zeros((0, 1))


def _distances(vectors: np.ndarray[Any, Any], buffer: int) -> np.ndarray[Any, Any]:
    """Cosine distance of each unit's neighbourhood to that of the next: one fewer than units."""
    import numpy as np

    if len(vectors) < 2:
        return np.zeros(0)
    sums = np.vstack([np.zeros(vectors.shape[1]), np.cumsum(vectors, axis=0)])
    index = np.arange(len(vectors))
    around = sums[np.minimum(index + buffer + 1, len(vectors))] - sums[np.maximum(index - buffer, 0)]
    around /= np.maximum(np.linalg.norm(around, axis=1, keepdims=True), 1e-12)
    apart: np.ndarray[Any, Any] = np.round(1.0 - np.sum(around[:-1] * around[1:], axis=1), _DIGITS)
    return apart
