"""No context: the chunk's text alone is embedded."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from edgarmill.schemas.records import Chunk, Filing
from edgarmill.workers.embed.tokens import Tokenizer


class Options(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


def largest(options: Options) -> int:
    return 0


def context(filing: Filing, chunk: Chunk, options: Options, tokenizer: Tokenizer) -> str:
    return ""
