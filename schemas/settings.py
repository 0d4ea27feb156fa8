"""Settings: where and how fast, never what. Strength: TOML file < EDGARMILL_* environment < command line.

The only place where the environment is read. `load` also tells where each value came from; secrets are masked wherever they are shown.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from edgarmill.schemas.endpoints import Endpoint, PriceEntry
from edgarmill.schemas.errors import SettingsError, UnknownName
from edgarmill.schemas.files import check_regular, toml_of

DEFAULT_FILE = "edgarmill.toml"
SHORTEST_KEY = 16  # characters of a key of the HTTP service
_QUIET = {
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "LANCE_LOG": "error",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_VERBOSITY": "error",
    "UNSTRUCTURED_DISABLE_NOTICE": "1",
}


class Settings(BaseSettings):
    """Every setting with its unit. Frozen; passed as an argument, never global."""

    model_config = SettingsConfigDict(env_prefix="EDGARMILL_", frozen=True, extra="forbid")

    lake: str = Field("./lake", description="folder of the lake")

    user_agent: str = Field("", description="who you are, as EDGAR asks: 'Company contact@company.example'; no default")
    edgar_url: str = Field("https://www.sec.gov", description="base of files/ and Archives/")
    edgar_data_url: str = Field("https://data.sec.gov", description="base of submissions/")
    requests_per_second: float = Field(8.0, gt=0, le=10, description="over all processes; EDGAR's ceiling is 10")
    request_timeout_seconds: float = Field(30.0, gt=0, description="of one request to EDGAR")
    request_retries: int = Field(5, ge=0, description="further tries of a request that failed in passing")
    block_pause_seconds: float = Field(600.0, ge=0, description="stop of every request after a block page")

    fetch: Literal["documents", "submission"] = Field(
        "documents", description="what is fetched of a filing: its main document and EX-13, EX-99; or the full submission text")
    fetch_at_once: int = Field(16, ge=1, le=64, description="requests under way at a time; the limit per second holds over all of them")

    engine: Literal["auto", "loop", "ray"] = Field("auto", description="loop: in this process; ray: Ray Data; auto by number of filings")
    loop_below: int = Field(60, ge=0, description="auto takes the loop for fewer filings than this")
    ray_address: str = Field("", description="of a running cluster; empty starts a local runtime")
    workers: int = Field(0, ge=0, description="processes that parse; 0 = CPUs less one")
    block_filings: int = Field(25, ge=1, description="filings per block: what a killed worker costs, and what one commit holds")
    device: str = Field("auto", description="auto | cpu | cuda | cuda:0 | mps")
    embed_backend: Literal["torch", "openvino"] = Field(
        "torch", description="runs the embedding model on a CPU; openvino: the same vectors faster, needs edgarmill[openvino]")
    embed_batch: int = Field(16, ge=1, description="texts per forward pass")
    hub_token: SecretStr | None = Field(None, description="for private models of a hub")

    prefect_api_url: str = Field("", description="of a Prefect server; empty starts one for the command")

    max_filing_bytes: int = Field(256 * 2**20, gt=0, description="decompressed; larger filings are quarantined")
    parse_seconds: float = Field(120.0, gt=0, description="CPU seconds of one document; more ends in quarantine")
    parse_memory_bytes: int = Field(
        6 * 2**30, ge=0, description="memory of one filing above that of its process; more ends in quarantine; 0 = no limit")

    cpu_dollars_per_hour: Decimal | None = Field(None, ge=0, description="of one core; unset = unpriced")
    gpu_dollars_per_hour: Decimal | None = Field(None, ge=0, description="of one GPU; unset = unpriced")

    budget_dollars: Decimal | None = Field(
        None, ge=0, description="most USD that a run may spend on calls of models, per recipe; unset = no limit")
    keep_candidates: int = Field(7, ge=1, description="index versions of a recipe that were never prod: so many newest ones outlive gc")
    keep_prod: int = Field(10, ge=1, description="index versions that were prod: so many newest ones outlive gc, for rollbacks")
    keep_rejected_days: float = Field(3.0, ge=0, description="rejected index versions, and files of unfinished ones, outlive gc so long")
    keep_call_days: float = Field(0, ge=0, description="answers of models outlive gc so long; 0 = for ever, since they were paid for")
    keep_superseded_days: float = Field(
        0, ge=0, description="rows that no kept index version was made of outlive gc so long after the last run with them; 0 = for ever")
    promotion_webhook: str = Field("", description="address that is told (POST, JSON) when prod moves; empty = none")
    promotion_secret: SecretStr | None = Field(None, description="signs what the webhook is told (HMAC-SHA256)")
    service_keys: Annotated[tuple[SecretStr, ...], NoDecode] = Field(
        (), description="keys that the HTTP service takes, parted by commas; with none it serves this machine alone")
    service_threads: int = Field(0, ge=0, le=256, description="searches of the HTTP service at once; 0 = CPUs")
    service_at_once: int = Field(64, ge=1, le=10_000, description="requests under way in it, those that wait included; more are refused")
    service_seconds: float = Field(30.0, gt=0, le=3600, description="that a request of it may take")
    service_hits: int = Field(100, ge=1, le=1000, description="most hits that a request of it may ask for")
    service_body_bytes: int = Field(65_536, ge=1024, le=2**24, description="most bytes of a request's body")
    service_rerankers: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="rerankers that a request of it may name, parted by commas; none unless listed")
    service_models: Annotated[tuple[str, ...], NoDecode] = Field((), description=(
        "chat models that a request of it may have asked, as endpoint:NAME/MODEL, parted by commas; none unless listed: they cost money"))
    service_model_tokens: int = Field(50_000, ge=1_000, le=10_000_000, description="most tokens of them that a request of it may take")
    endpoints: dict[str, Endpoint] = Field(default_factory=dict, description="servers of models by name: [endpoints.NAME] in the file")
    prices: tuple[PriceEntry, ...] = Field((), description="prices of models above the shipped table: [[prices]] in the file")

    @field_validator("service_keys", "service_rerankers", "service_models", mode="before")
    @classmethod
    def _several(cls, given: Any) -> Any:
        """One text with commas is several values."""
        return tuple(one.strip() for one in given.split(",") if one.strip()) if isinstance(given, str) else given

    @field_validator("service_keys")
    @classmethod
    def _long_enough(cls, keys: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        if any(len(key.get_secret_value()) < SHORTEST_KEY for key in keys):
            raise ValueError(f"a key has at least {SHORTEST_KEY} characters")
        return keys

    @field_validator("edgar_url", "edgar_data_url", "promotion_webhook")
    @classmethod
    def _without_secrets(cls, address: str) -> str:
        """Addresses are stored with what is fetched, and told in errors. The parser refuses a host or a port that is none."""
        parts = urlsplit(address)
        if "@" in parts.netloc or parts.query or (parts.port is not None and not parts.hostname):
            raise ValueError("an address without user, password and query is wanted")
        return address

    @field_validator("endpoints")
    @classmethod
    def _with_keys(cls, endpoints: dict[str, Endpoint]) -> dict[str, Endpoint]:
        """Each with its provider's name, and with its key where the environment has it."""
        return {name: _resolved(name, one) for name, one in endpoints.items()}

    def endpoint(self, name: str, model: str = "") -> Endpoint:
        """The endpoint of that name, ready to be asked, with another model where one is given. Raises UnknownName, SettingsError."""
        if name not in self.endpoints:
            known = ", ".join(sorted(self.endpoints)) or "none"
            raise UnknownName("no such endpoint", name, f"Known: {known}. Add [endpoints.{name}] to {DEFAULT_FILE}.")
        found = self.endpoints[name]
        if found.key is None and found.key_env:
            todo = "Set it, or take key_env out if none is needed."
            raise SettingsError(f"no key: {found.key_env} is not set", f"endpoints.{name}", todo)
        return found.model_copy(update={"model": model}) if model else found

    @classmethod
    def settings_customise_sources(cls, settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource,
                                   env_settings: PydanticBaseSettingsSource, dotenv_settings: PydanticBaseSettingsSource,
                                   file_secret_settings: PydanticBaseSettingsSource) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings, env_settings)


def load(overrides: Mapping[str, Any] | None = None, file: str | None = None) -> tuple[Settings, dict[str, str]]:
    """Effective settings and, by name, the origin of each: `default`, `file PATH`, `environment NAME` or `command line`.

    `file` defaults to EDGARMILL_CONFIG, then to edgarmill.toml in the working folder where it exists. Raises SettingsError.
    """
    path = file or os.environ.get("EDGARMILL_CONFIG") or (DEFAULT_FILE if Path(DEFAULT_FILE).exists() else None)
    from_file = _read(path) if path else {}
    given = {k: v for k, v in (overrides or {}).items() if v is not None}
    present = {variable.upper(): variable for variable in os.environ}  # pydantic-settings reads them in any case
    environment = {name: present[f"EDGARMILL_{name.upper()}"] for name in Settings.model_fields if f"EDGARMILL_{name.upper()}" in present}
    weak = {k: v for k, v in from_file.items() if k not in environment}
    try:
        settings = Settings(**{**weak, **given})
    except ValidationError as error:
        first = error.errors(include_input=False, include_context=False)[0]  # the value may be a secret
        name = str(first["loc"][0])
        place = ".".join(str(part) for part in first["loc"])
        where = "command line" if name in given else environment.get(name, path or "settings")
        raise SettingsError(f"{place}: {first['msg']}", where, "edgarmill config show lists every setting.") from None
    origins = dict.fromkeys(Settings.model_fields, "default")
    origins |= dict.fromkeys(from_file, f"file {path}")
    origins |= {name: f"environment {variable}" for name, variable in environment.items()}
    origins |= dict.fromkeys(given, "command line")
    return settings, origins


def secrets() -> frozenset[str]:
    """Names of the settings whose values are, or hold, secrets: never shown in a command as typed."""
    return frozenset(name for name, field in Settings.model_fields.items() if re.search("SecretStr|Endpoint", str(field.annotation)))


def _resolved(name: str, endpoint: Endpoint) -> Endpoint:
    key = endpoint.key
    if key is None and endpoint.key_env and (found := os.environ.get(endpoint.key_env)):
        key = SecretStr(found)
    return endpoint.model_copy(update={"provider": endpoint.provider or name, "key": key})


def _read(path: str) -> dict[str, Any]:
    check_regular(path)
    try:
        return toml_of(Path(path).read_text(encoding="utf-8"), "settings file", path)
    except FileNotFoundError:
        raise SettingsError("no such settings file", path, "Name an existing TOML file.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"settings file cannot be read: {error}", path, "Mend it, or name another with --config.") from None


def quiet() -> None:
    """Switches off telemetry, notices and warnings of the libraries, unless the user says otherwise. Before they are imported."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
