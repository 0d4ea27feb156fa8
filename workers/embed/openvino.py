"""The model's network through OpenVINO, on a CPU: the same vectors in less time. Needs the package `openvino`, an extra.

Used only where it is asked for (setting embed_backend) and only after it gave, on texts of every length, the vectors of torch: a plain
export can be wrong without an error.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from typing import Any

from edgarmill.schemas.errors import SettingsError

PARITY = 0.999  # least cosine of any vector with torch's
LENGTHS = (3, 17, 64, 128, 255)  # tokens of the texts compared
SEVERAL = 4  # of each length


def compiled(network: Any, threads: int, window: int) -> Any:
    """In place of a SentenceTransformer on a CPU: features in, features out. Raises SettingsError: not installed, or its vectors differ."""
    import torch

    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]  # OpenVINO reports home through it where it can be imported
    try:
        import openvino
    except ImportError:
        raise SettingsError("openvino is not installed", "embed_backend", "pip install 'edgarmill[openvino]', or take torch.") from None
    transformer = network[0].auto_model.eval()
    example = {name: torch.ones((2, 8), dtype=torch.long) for name in ("input_ids", "attention_mask")}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", torch.jit.TracerWarning)  # whether a trace holds for other lengths is tried below
            model = openvino.convert_model(_Outputs(transformer), example_input=example)
        options = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}
        run = openvino.Core().compile_model(model, "CPU", options)
    except (RuntimeError, ValueError, TypeError) as error:
        raise SettingsError(f"OpenVINO cannot take this model ({type(error).__name__})", "embed_backend", "Take torch.") from None
    made = _Network(run, network)
    _check_parity(network, made, window)
    return made


def _Outputs(transformer: Any) -> Any:
    """The transformer with two inputs and one output, as a module that can be traced."""
    import torch

    class Outputs(torch.nn.Module):  # type: ignore[misc]  # torch has no types
        def __init__(self) -> None:
            super().__init__()
            self.transformer = transformer

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            return self.transformer(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state

    return Outputs().eval()


class _Network:
    """Compiled transformer, then the pooling and what else the SentenceTransformer has behind it."""

    def __init__(self, run: Any, network: Any) -> None:
        self._run, self._rest = run, list(network)[1:]

    def __call__(self, features: Mapping[str, Any]) -> dict[str, Any]:
        import torch

        given = {name: features[name].numpy() for name in ("input_ids", "attention_mask")}
        found: dict[str, Any] = {**features, "token_embeddings": torch.from_numpy(self._run(given)[0].copy())}
        for module in self._rest:
            found = module(found)
        return found


def _check_parity(network: Any, made: _Network, window: int) -> None:
    """Texts of drawn tokens, padded ones among them. Raises SettingsError."""
    import torch

    drawn = torch.Generator().manual_seed(7)
    words = int(network[0].auto_model.config.vocab_size)
    for length in (n for n in LENGTHS if n <= window):
        tokens = torch.randint(5, words, (SEVERAL, length), generator=drawn)
        mask = torch.ones_like(tokens)
        mask[1, max(1, length // 2) :] = 0
        with torch.inference_mode():
            given = {"input_ids": tokens, "attention_mask": mask}
            one, other = (each(dict(given))["sentence_embedding"] for each in (network, made))
        least = float(torch.nn.functional.cosine_similarity(one, other).min())
        if not least >= PARITY:
            what = f"OpenVINO's vectors differ from torch's (cosine {least:.4f} at {length} tokens)"
            raise SettingsError(what, "embed_backend", "Take torch; and tell us the model.")
