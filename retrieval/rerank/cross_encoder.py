"""A cross-encoder of sentence-transformers on this machine, by folder or hub name: cross_encoder:cross-encoder/ms-marco-MiniLM-L6-v2.

Only safetensors weights are taken. A text is read as far as the model's window goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from edgarmill.retrieval.rerank import Reranker, Scored, Tools
from edgarmill.schemas.errors import SettingsError, UnknownName
from edgarmill.schemas.settings import Settings
from edgarmill.workers.embed.local import cores, device_of, threads

BATCH = 16  # pairs of one forward pass


def open_reranker(model: str, tools: Tools) -> Reranker:
    """Loads the model. Raises SettingsError, UnknownName."""
    if not model:
        raise SettingsError("a cross-encoder has no model of its own", "cross_encoder", "Name one: cross_encoder:FOLDER or :OWNER/NAME.")
    network = _loaded(model, tools.settings)

    def rerank(question: str, texts: Sequence[str]) -> Scored:
        if not texts:
            return Scored(())
        with threads(max(1, cores() // 2)):
            scores = network.predict([(question, text) for text in texts], batch_size=BATCH, show_progress_bar=False)
        if getattr(scores, "ndim", 1) != 1:
            raise SettingsError("this model gives a pair several scores", model, "Name a cross-encoder with one label.")
        return Scored(tuple(float(score) for score in scores))

    return rerank


def _loaded(model: str, settings: Settings) -> Any:
    from sentence_transformers import CrossEncoder

    there = Path(model).is_dir()
    if not there and (model.startswith((".", "/", "~")) or model.count("/") != 1):
        raise UnknownName("no such cross-encoder", model, "Give a folder, or owner/name of a hub.")
    token = settings.hub_token.get_secret_value() if settings.hub_token else None
    try:
        return CrossEncoder(str(Path(model).resolve()) if there else model, device=device_of(settings.device), local_files_only=there,
                            token=None if there else token, model_kwargs={"use_safetensors": True})
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        what = f"cross-encoder cannot be loaded ({type(error).__name__})"
        raise SettingsError(what, model, "Is it a whole model with safetensors weights? Off line, give a folder.") from None
