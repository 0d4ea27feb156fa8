"""Recipes: what decides the content of an index. A TOML file with a fingerprint; settings never enter it.

    name = "default"
    [parser]
    engine = "native"               # native | unstructured
    [chunker]
    kind = "structure"              # a file of workers/chunk/, its options beside it
    max_tokens = 256
    [context]
    kind = "metadata"               # a file of workers/context/
    [embedding]
    model = "packaged:all-MiniLM-L6-v2"   # packaged:NAME, a local path, a hub name, or endpoint:NAME/MODEL
    overflow = "refuse"             # refuse | cut: may context + chunk + special tokens pass the model's window?
    [tree]
    kind = "structural"             # a file of workers/tree/, or none

Options of a chunker, context or tree are checked by the module that takes them, before any work starts.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from edgarmill.schemas.errors import SettingsError, UnknownName
from edgarmill.schemas.files import check_regular, toml_of
from edgarmill.schemas.ids import fingerprint


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Parser(_Part):
    engine: str = "native"


class Kind(BaseModel):
    """A plug-in by name with its options: `kind` names the file, the rest are its options."""

    model_config = ConfigDict(frozen=True, extra="allow")
    kind: str

    @property
    def options(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


def _unset(value: object) -> bool:
    """Left out of the fingerprint where it is not given: so an index made before the option was there keeps its name."""
    return value is None


class EmbeddingModel(_Part):
    model: str = "packaged:all-MiniLM-L6-v2"
    window: int | None = Field(default=None, gt=2, description="tokens, special ones included; null = the model's own")
    normalize: bool = True
    overflow: Literal["refuse", "cut"] = "refuse"
    dimensions: int | None = Field(None, ge=1, le=65_536, exclude_if=_unset, description="of a model at an endpoint: numbers of a vector")
    stored: Literal["float32", "float16"] | None = Field(None, exclude_if=_unset, description=(
        "numbers of a vector in the index; null = float32, float16 takes half the disk and is found as well"))
    tokenizer: str | None = Field(None, min_length=1, exclude_if=_unset, description=(
        "of a model at an endpoint, to count by: packaged:NAME, a hub name, a folder, or a tokenizer.json; best the model's own"))


class Recipe(_Part):
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")
    description: str = ""
    parser: Parser = Parser()
    chunker: Kind
    context: Kind = Kind(kind="none")
    embedding: EmbeddingModel = EmbeddingModel()
    tree: Kind = Kind(kind="none")

    @property
    def content(self) -> dict[str, Any]:
        """What the fingerprint covers, and a vector index holds: everything but name, description and tree. A tree has its stage's key."""
        return self.model_dump(exclude={"name", "description", "tree"})

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.content)


def shipped() -> list[str]:
    """Names of the recipes that ship with edgarmill."""
    folder = resources.files("edgarmill") / "flows" / "recipes"
    return sorted(p.name.removesuffix(".toml") for p in folder.iterdir() if p.name.endswith(".toml"))


def load(name: str) -> Recipe:
    """A shipped recipe by name, or a TOML file by path. Raises UnknownName or SettingsError, both in one line."""
    if name.endswith(".toml") or "/" in name:
        check_regular(name)
        try:
            return parse(Path(name).read_text(encoding="utf-8"), name)
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"recipe cannot be read ({type(error).__name__})", name, "Give a readable TOML file.") from None
    if name not in shipped():
        raise UnknownName("no such recipe", name, f"Shipped: {', '.join(shipped())}; or give the path of a TOML file.")
    path = resources.files("edgarmill") / "flows" / "recipes" / f"{name}.toml"
    return parse(path.read_text(encoding="utf-8"), name)


def parse(text: str, where: str) -> Recipe:
    """A recipe from TOML text; `where` is named in errors."""
    try:
        return Recipe.model_validate(toml_of(text, "recipe", where))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(p) for p in first["loc"])
        raise SettingsError(f"recipe: {place}: {first['msg']}", where, "See flows/recipes/default.toml for the form.") from None
