"""Models by name: what a folder says of itself, what is refused, and that nothing heavy is imported for it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from edgarmill.schemas.errors import SettingsError, UnknownName
from edgarmill.schemas.recipe import EmbeddingModel
from edgarmill.schemas.settings import Settings
from edgarmill.workers.embed.models import Model, resolve

PACKAGED = resolve(EmbeddingModel(), Settings())


def folder(path: Path, **changes: dict[str, Any]) -> str:
    """A sentence-transformers folder in all but its weights; `changes` by file, dots in the name for the parts of its path."""
    files: dict[str, Any] = {
        "modules.json": [{"idx": 0, "path": "", "type": "T"}, {"idx": 1, "path": "1_Pooling", "type": "P"}],
        "config.json": {"max_position_embeddings": 512, "model_type": "bert"},
        "sentence_bert_config.json": {"max_seq_length": 128},
        "1_Pooling/config.json": {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True},
    }
    (path / "1_Pooling").mkdir(parents=True)
    for name, content in files.items():
        content = content if isinstance(content, list) else {**content, **changes.get(name, {})}
        (path / name).write_text(json.dumps(content), encoding="utf-8")
    shutil.copy(PACKAGED.tokenizer_path, path / "tokenizer.json")
    (path / "model.safetensors").write_bytes(b"weights")
    return str(path)


def resolved(name: str, **embedding: Any) -> Model:
    return resolve(EmbeddingModel(model=name, **embedding), Settings())


def test_the_packaged_model_reads_256_tokens_and_gives_384_numbers() -> None:
    assert (PACKAGED.window, PACKAGED.specials, PACKAGED.dimensions, PACKAGED.normalize) == (256, 2, 384, True)


def test_a_folder_says_its_window_and_dimensions(tmp_path: Path) -> None:
    model = resolved(folder(tmp_path / "m"))
    assert (model.window, model.dimensions) == (128, 32)


def test_several_poolings_make_longer_vectors_and_a_dense_layer_decides(tmp_path: Path) -> None:
    assert resolved(folder(tmp_path / "a", **{"1_Pooling/config.json": {"pooling_mode_cls_token": True}})).dimensions == 64
    assert resolved(folder(tmp_path / "b", **{"1_Pooling/config.json": {"out_features": 16}})).dimensions == 16


@pytest.mark.parametrize(
    ("config", "own", "window"),
    [
        ({}, 1000, 512),
        ({}, None, 512),
        ({"model_type": "roberta", "max_position_embeddings": 514, "pad_token_id": 1}, None, 512),
        ({"max_position_embeddings": 64}, 128, 64),
    ],
)
def test_the_window_is_never_more_than_the_models_positions(tmp_path: Path, config: dict[str, Any], own: int | None, window: int) -> None:
    name = folder(tmp_path / "m", **{"config.json": config, "sentence_bert_config.json": {"max_seq_length": own}})
    assert resolved(name).window == window


def test_the_recipe_may_choose_a_window_up_to_the_positions() -> None:
    assert resolved("packaged:all-MiniLM-L6-v2", window=512).window == 512
    with pytest.raises(SettingsError, match="513 is more than the model's 512 positions"):
        resolved("packaged:all-MiniLM-L6-v2", window=513)


def test_the_hash_covers_weights_tokenizer_window_pooling_and_normalisation(tmp_path: Path) -> None:
    base = resolved(folder(tmp_path / "base"))
    assert resolved(folder(tmp_path / "copy")).model_hash == base.model_hash  # wherever it lies
    pooling = {"1_Pooling/config.json": {"pooling_mode_cls_token": True}}
    others = [folder(tmp_path / "w"), folder(tmp_path / "t"), folder(tmp_path / "p", **pooling)]
    Path(others[0], "model.safetensors").write_bytes(b"other weights")
    Path(others[1], "tokenizer.json").write_text(Path(others[1], "tokenizer.json").read_text(encoding="utf-8") + " ", encoding="utf-8")
    hashes = [resolved(o).model_hash for o in others]
    hashes += [resolved(folder(tmp_path / "n"), normalize=False).model_hash, resolved(folder(tmp_path / "s"), window=64).model_hash]
    assert len({base.model_hash, *hashes}) == 6


@pytest.mark.parametrize(
    ("missing", "said"),
    [("modules.json", "no modules.json"), ("tokenizer.json", "no tokenizer.json"), ("model.safetensors", "no safetensors"),
     ("1_Pooling/config.json", "how long its vectors are"), ("config.json", "no config.json")],
)
def test_a_folder_that_lacks_something_is_refused_in_one_line(tmp_path: Path, missing: str, said: str) -> None:
    name = folder(tmp_path / "m")
    Path(name, missing).unlink()
    with pytest.raises(SettingsError, match=said) as error:
        resolved(name)
    assert "\n" not in str(error.value)


def test_a_broken_configuration_is_refused_in_one_line(tmp_path: Path) -> None:
    name = folder(tmp_path / "m")
    Path(name, "modules.json").write_bytes(b"\xff{")
    with pytest.raises(SettingsError, match="modules.json cannot be read"):
        resolved(name)


@pytest.mark.parametrize("name", ["packaged:nope", "nope", "./nope", "/nope/x", "a/b/c", "", "../x"])
def test_an_unknown_name_is_answered_with_what_to_give(name: str) -> None:
    with pytest.raises(UnknownName, match=r"no such .*all-MiniLM-L6-v2"):
        resolved(name)


HUB = """
import os, socket, sys
def refused(*a, **k): raise OSError("no network in this test")
socket.create_connection = socket.getaddrinfo = refused
from edgarmill.schemas.errors import UnknownName
from edgarmill.schemas.recipe import EmbeddingModel
from edgarmill.schemas.settings import Settings
from edgarmill.workers.embed.models import resolve
try:
    resolve(EmbeddingModel(model="example/none"), Settings(hub_token="hf_secret"))
except UnknownName as error:
    print(error)
"""


def test_a_hub_model_without_network_is_refused_in_one_line_without_the_token(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", HUB], capture_output=True, text=True, timeout=60, check=True,
                          env={"HF_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"})
    assert done.stdout.startswith("example/none: model is not in the local cache") and done.stdout.count("\n") == 1
    assert "Go online" in done.stdout and "hf_secret" not in done.stdout + done.stderr


def test_a_model_is_resolved_and_a_recipe_checked_without_torch_and_transformers() -> None:
    code = """
import sys
for name in ("torch", "transformers", "sentence_transformers", "ray", "prefect", "nupunkt"):
    sys.modules[name] = None
from edgarmill.schemas import recipe
from edgarmill.schemas.settings import Settings
from edgarmill.workers.fit import check_recipe
print(check_recipe(recipe.load("paper"), Settings()).model.window)
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True).stdout == "256\n"
