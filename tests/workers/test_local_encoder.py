"""The local encoder: the library's own vectors, whatever the order and batching, and no network."""

from __future__ import annotations

import socket
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from edgarmill.schemas.errors import SettingsError
from edgarmill.schemas.recipe import EmbeddingModel
from edgarmill.schemas.settings import Settings
from edgarmill.workers.embed.local import Encoder, cores, open_encoder
from edgarmill.workers.embed.models import resolve

MODEL = resolve(EmbeddingModel(), Settings())
TEXTS = ["Net sales rose.", "", "Gross margin fell to 43.1% (from 44.0%) as costs rose.", "cash " * 300, "a", "資産 | 1,234 | 5,678"]


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    with pytest.MonkeyPatch.context() as patch:

        def refused(*_: Any, **__: Any) -> None:
            raise AssertionError("the encoder looked for a network")

        patch.setattr(socket, "getaddrinfo", refused)
        patch.setattr(socket, "create_connection", refused)
        return open_encoder(MODEL, Settings(device="cpu"))


def test_vectors_are_those_of_the_library(encoder: Encoder) -> None:
    plain = encoder.network.encode(TEXTS, normalize_embeddings=True, show_progress_bar=False)
    vectors = encoder.encode(TEXTS)
    assert (vectors.shape, vectors.dtype) == ((6, 384), np.float32)
    assert (vectors * plain).sum(axis=1).min() > 0.9999


def test_vectors_have_unit_length_unless_the_recipe_says_otherwise(encoder: Encoder) -> None:
    assert np.allclose(np.linalg.norm(encoder.encode(TEXTS), axis=1), 1, atol=1e-5)


def test_a_text_longer_than_the_window_is_read_up_to_it(encoder: Encoder) -> None:
    whole, cut = encoder.encode(["cash " * 254, "cash " * 254 + "debt " * 99])
    assert np.abs(whole - cut).max() < 1e-6


def test_order_and_batching_change_nothing(encoder: Encoder) -> None:
    vectors = encoder.encode(TEXTS)
    assert np.abs(encoder.encode(TEXTS[::-1])[::-1] - vectors).max() < 1e-5
    assert np.abs(replace(encoder, batch_tokens=1).encode(TEXTS) - vectors).max() < 1e-5
    assert np.array_equal(encoder.encode(TEXTS), vectors)


def test_no_text_gives_no_vector(encoder: Encoder) -> None:
    assert encoder.encode([]).shape == (0, 384)


def test_text_that_looks_like_a_special_token_has_a_vector_of_its_own(encoder: Encoder) -> None:
    marked, plain = encoder.encode(["net [SEP] sales", "net sep sales"])
    assert not np.allclose(marked, plain, atol=1e-3)


@pytest.mark.parametrize("device", ["cuda:99", "nonsense", "cpu:x"])
def test_a_device_that_is_not_there_is_refused_in_one_line(device: str) -> None:
    with pytest.raises(SettingsError, match="no such device") as error:
        open_encoder(MODEL, Settings(device=device))
    assert "\n" not in str(error.value)


def test_there_is_at_least_one_core() -> None:
    assert cores() >= 1


def test_openvino_gives_the_vectors_of_torch() -> None:
    pytest.importorskip("openvino", reason="needs edgarmill[openvino]")
    texts = ["Net sales rose.", "x", "The company repurchased shares. " * 60, *(f"Item {n} of the report" for n in range(9))]
    one, other = (open_encoder(MODEL, Settings(device="cpu", embed_backend=name)).encode(texts) for name in ("torch", "openvino"))
    assert float((one * other).sum(axis=1).min()) > 0.9999


def test_vectors_that_differ_are_refused() -> None:
    from types import SimpleNamespace

    import torch

    from edgarmill.workers.embed.openvino import _check_parity

    class Network:
        """A sentence-transformer of random vectors; `shift` makes another one of it."""

        def __init__(self, shift: float) -> None:
            self.shift = shift

        def __getitem__(self, _: int) -> SimpleNamespace:
            return SimpleNamespace(auto_model=SimpleNamespace(config=SimpleNamespace(vocab_size=100)))

        def __call__(self, features: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
            mean = (features["input_ids"] * features["attention_mask"]).sum(1, keepdim=True).float()
            return {"sentence_embedding": torch.cat([mean, 100 * self.shift * torch.ones_like(mean) + 1], dim=1)}

    _check_parity(Network(0), Network(0), 64)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="OpenVINO's vectors differ from torch's"):
        _check_parity(Network(0), Network(50), 64)  # type: ignore[arg-type]


def test_without_openvino_the_setting_says_what_to_install() -> None:
    code = ("import sys; sys.modules['openvino'] = None\n"
            "from edgarmill.workers.embed.openvino import compiled\n"
            "from edgarmill.schemas.errors import SettingsError\n"
            "try: compiled([None], 1, 64)\n"
            "except SettingsError as error: print(error)")
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "openvino is not installed" in ran.stdout and "pip install 'edgarmill[openvino]'" in ran.stdout
