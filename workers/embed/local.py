"""Vectors by sentence-transformers on this machine.

The token ids come from `tokens.py`, so what is counted is what the model sees. Texts are sorted by length and batched by tokens:
padding and small batches are what a CPU loses its time with.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgarmill.schemas.errors import SettingsError
from edgarmill.schemas.settings import Settings
from edgarmill.workers.embed.models import Model
from edgarmill.workers.embed.tokens import Tokenizer

if TYPE_CHECKING:
    import numpy as np

_CPU_TOKENS = 2048  # of a forward pass, eight full texts: on two quiet cores 6,163 tokens/s against 5,211 with 32 and 3,788 with 128


@dataclass(frozen=True)
class Encoder:
    """A loaded model. Not for several threads at once."""

    model: Model
    device: str
    batch_tokens: int  # most tokens of one forward pass, padding included
    padding: int  # token id
    ids: Callable[[Sequence[str]], list[list[int]]]
    network: Any  # a SentenceTransformer

    def encode(self, texts: Sequence[str]) -> np.ndarray[Any, Any]:
        """Float32 array (texts, dimensions), of unit length where the recipe says so. Give many texts at once: length sorts them."""
        import numpy as np
        import torch

        vectors = np.zeros((len(texts), self.model.dimensions), dtype=np.float32)
        ids = self.ids(texts)
        with torch.inference_mode():
            for batch in batches(ids, self.batch_tokens):
                width = len(ids[batch[0]])
                tokens = torch.full((len(batch), width), self.padding, dtype=torch.long)
                mask = torch.zeros((len(batch), width), dtype=torch.long)
                for row, i in enumerate(batch):
                    tokens[row, : len(ids[i])] = torch.tensor(ids[i])
                    mask[row, : len(ids[i])] = 1
                out = self.network({"input_ids": tokens.to(self.device), "attention_mask": mask.to(self.device)})["sentence_embedding"]
                if self.model.normalize:
                    out = torch.nn.functional.normalize(out, dim=1)
                vectors[batch] = out.float().cpu().numpy()
        return vectors


def open_encoder(model: Model, settings: Settings) -> Encoder:
    """Loads the model: some 5 s the first time in a process (imports). Touches no network. Raises SettingsError."""
    import torch
    import transformers
    from sentence_transformers import SentenceTransformer

    device = device_of(settings.device)
    if device == "cpu":
        torch.set_num_threads(cores())
    transformers.utils.logging.disable_progress_bar()
    try:
        network = SentenceTransformer(model.path, device=device, local_files_only=True, model_kwargs={"use_safetensors": True})
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        what = f"model cannot be loaded ({type(error).__name__})"
        raise SettingsError(what, model.name, "Is it a whole sentence-transformers folder?") from None
    network.eval()
    padding = network.tokenizer.pad_token_id or 0
    if device == "cpu" and settings.embed_backend == "openvino":
        from edgarmill.workers.embed.openvino import compiled

        network = compiled(network, cores(), model.window)
    ids = Tokenizer(model.tokenizer_path).cutter(model.window)
    batch_tokens = settings.embed_batch * model.window
    if device == "cpu":
        batch_tokens = min(batch_tokens, _CPU_TOKENS)
    return Encoder(model, device, batch_tokens, padding, ids, network)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """The network runs on so many threads within; those of other threads' calls too. One is best for a single question: two, on cores
    that others use, wait for each other at every layer (57 ms against 800)."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def cores() -> int:
    """CPUs that this process may use: its affinity, and in a container its quota."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return affinity
    return affinity if quota == "max" else max(1, min(affinity, -(-int(quota) // int(period))))


def device_of(wanted: str) -> str:
    """The device to use: the wanted one, or the best there is. Raises SettingsError."""
    import torch

    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if wanted == "auto":
        return next(kind for kind, is_there in there.items() if is_there)
    kind, _, number = wanted.partition(":")
    if not there.get(kind) or (number and not number.isdecimal()) or (kind == "cuda" and int(number or 0) >= torch.cuda.device_count()):
        known = ", ".join(kind for kind, is_there in there.items() if is_there)
        raise SettingsError("no such device on this machine", wanted, f"Set device to auto, or one of: {known}.")
    return wanted


def batches(ids: Sequence[Sequence[int]], most: int) -> Iterator[list[int]]:
    """Indexes, longest first, in batches of at most `most` tokens when all are as long as the first."""
    order = sorted(range(len(ids)), key=lambda i: (-len(ids[i]), i))
    at = 0
    while at < len(order):
        size = max(1, most // max(1, len(ids[order[at]])))
        yield order[at : at + size]
        at += size
