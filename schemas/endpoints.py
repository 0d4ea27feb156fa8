"""Where models are served, and what they cost beside the shipped prices: the two tables of the settings file that are more than one value.

    [endpoints.openai]
    base_url = "https://api.openai.com/v1"
    key_env = "OPENAI_API_KEY"        # or key = "…"; a local server needs none
    model = "gpt-4.1-mini"
    requests_per_minute = 500
    tokens_per_minute = 200_000

    [[prices]]                        # negotiated, Azure, batch: stands above the shipped table
    provider = "openai"
    models = ["gpt-4.1-mini"]
    input = "0.36"
    output = "1.44"
    source = "contract of 2026-01-01"
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

Tier = Literal["standard", "batch"]


class Endpoint(BaseModel):
    """One server that speaks OpenAI's protocol. Its key shows nowhere; `key_env` is read by the settings."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    base_url: str = Field(description="up to and with /v1")
    provider: str = Field("", pattern=r"^[a-z0-9._-]{0,60}$", description="whose prices hold; empty = the endpoint's name")
    model: str = Field(min_length=1, max_length=200)
    key: SecretStr | None = None
    key_env: str = Field("", description="environment variable that holds the key")
    tier: Tier = Field("standard", description="batch: asked through the server's Batch API, in files, within a day, at the batch price")
    concurrency: int = Field(8, ge=1, le=256, description="requests under way at a time, per process")
    requests_per_minute: float = Field(0, ge=0, description="over all processes of this user; 0 = no limit")
    tokens_per_minute: float = Field(0, ge=0, description="over all processes of this user, input and most output; 0 = no limit")
    timeout_seconds: float = Field(120.0, gt=0, description="without a byte of the answer")
    retries: int = Field(5, ge=0, le=20, description="further tries of a call that failed in passing")
    max_output_tokens: int = Field(1024, ge=1, description="of one answer, where the call does not say")
    output_limit: Literal["max_tokens", "max_completion_tokens"] = Field("max_tokens", description="how the server calls that limit")
    answers: Literal["schema", "object", "grammar", "text"] = Field("schema", description=(
        "how it is made to give JSON: OpenAI's json_schema; any JSON object; llama-cpp-python's json_object with a schema; by words alone"))
    gpus: float = Field(0, ge=0, description="of a server of our own: so many GPUs work for it, charged by their time and not by tokens")
    gpu_dollars_per_hour: Decimal | None = Field(None, ge=0, description="USD for an hour of one of them; unset = unpriced")
    tokenizer: str = Field("", description="tokenizer.json of the model: counts where the server does not")
    filing_tokens: int | None = Field(None, ge=1, description="most tokens for one filing in one stage; unset = no cap")
    filing_dollars: Decimal | None = Field(None, ge=0, description="most USD for one filing in one stage; unset = no cap")

    @field_validator("base_url")
    @classmethod
    def _plain(cls, address: str) -> str:
        """It is told in errors, so it may hold no secret."""
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc or parts.query or parts.fragment:
            raise ValueError("an address http(s)://host/v1 without user, password and query is wanted")
        return address.rstrip("/")


class PriceEntry(BaseModel):
    """Prices of one provider's models, in USD per million tokens, `call` per thousand calls (rerankers that bill by the search).

    A unit left out is unpriced, but of a model with a price per call tokens need none; reasoning left out costs as output.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: str = Field(min_length=1)
    models: tuple[str, ...] = Field(min_length=1)
    tier: Tier = "standard"
    input: Decimal | None = Field(None, ge=0)
    cached: Decimal | None = Field(None, ge=0)
    cache_write: Decimal | None = Field(None, ge=0)
    cache_write_hour: Decimal | None = Field(None, ge=0)
    output: Decimal | None = Field(None, ge=0)
    reasoning: Decimal | None = Field(None, ge=0)
    call: Decimal | None = Field(None, ge=0)
    valid_from: date | None = Field(None, alias="from", description="first day")
    valid_to: date | None = Field(None, alias="to", description="last day")
    source: str = Field(min_length=1, description="where it was read, and when")
