"""Tiny filings, a tiny model and runs of ingest without Prefect's engine, for tests of the fan-out and the flows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from edgarmill.flows.job import Job
from edgarmill.flows.request import Request, new_run_id
from edgarmill.schemas import recipe as recipes
from edgarmill.schemas import settings as all_settings
from edgarmill.schemas.recipe import EmbeddingModel
from edgarmill.schemas.records import RunRecord
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake, Snapshot, write_part
from edgarmill.workers.embed.models import resolve
from edgarmill.workers.stages import Setup, setup_of

RECIPE = """
name = "{name}"
[chunker]
kind = "{chunker}"
[context]
kind = "{context}"
[embedding]
model = "{model}"
normalize = {normalize}
overflow = "cut"
"""


def accession(n: int) -> str:
    return f"0000000009-24-{n:06d}"


def filing(n: int, words: str = "steady", form: str = "10-K") -> bytes:
    """The n-th small filing as EDGAR would serve it: three Items, no sentence of which stands in another filing."""
    items = (("1", "Business", "makes pumps"), ("1A", "Risk Factors", "may lose customers"), ("7", "Management's Discussion", "sold more"))
    body = "".join(
        f"<p><b>Item {item}. {title}</b></p>"
        f"<p>In division {n} Company {n} {what} and its business was {words} throughout the {item} part of the year number {n}. "
        f"Its net sales amounted to ${n + 1},{100 + n} million, and nothing else of importance took place in plant {n}.</p>"
        for item, title, what in items
    )
    return submission(n, f"<html><body><p>ANNUAL REPORT</p>{body}</body></html>", form)


def submission(n: int, html: str, form: str = "10-K") -> bytes:
    head = (
        f"<SEC-DOCUMENT>{accession(n)}.txt : 20240226\n<SEC-HEADER>{accession(n)}.hdr.sgml : 20240226\n"
        f"<ACCEPTANCE-DATETIME>20240226165007\nACCESSION NUMBER:\t\t{accession(n)}\nCONFORMED SUBMISSION TYPE:\t{form}\n"
        f"PUBLIC DOCUMENT COUNT:\t\t1\nCONFORMED PERIOD OF REPORT:\t20231231\nFILED AS OF DATE:\t\t20240226\n\nFILER:\n\n"
        f"\tCOMPANY DATA:\t\n\t\tCOMPANY CONFORMED NAME:\t\t\tCOMPANY {n}\n\t\tCENTRAL INDEX KEY:\t\t\t{n:010d}\n"
        f"\t\tFISCAL YEAR END:\t\t\t1231\n</SEC-HEADER>\n"
    )
    document = f"<DOCUMENT>\n<TYPE>{form}\n<SEQUENCE>1\n<FILENAME>c{n}.htm\n<TEXT>\n{html}\n</TEXT>\n</DOCUMENT>\n</SEC-DOCUMENT>\n"
    return (head + document).encode()


def write_filings(folder: Path, *numbers: int, words: str = "steady") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for n in numbers:
        (folder / f"{accession(n)}.txt").write_bytes(filing(n, words))
    return folder


def tiny_model(folder: Path) -> Path:
    """A sentence-transformers folder of one small BERT layer with fixed random weights: it embeds in no time."""
    import numpy as np
    from safetensors.numpy import save_file

    (folder / "1_Pooling").mkdir(parents=True)
    wide, inner, words = 32, 64, 30_522
    source = np.random.default_rng(3)
    shapes = {
        "embeddings.word_embeddings": (words, wide), "embeddings.position_embeddings": (512, wide),
        "embeddings.token_type_embeddings": (2, wide), "embeddings.LayerNorm": (wide,),
        **{f"encoder.layer.0.attention.self.{part}": (wide, wide) for part in ("query", "key", "value")},
        "encoder.layer.0.attention.output.dense": (wide, wide), "encoder.layer.0.attention.output.LayerNorm": (wide,),
        "encoder.layer.0.intermediate.dense": (inner, wide), "encoder.layer.0.output.dense": (wide, inner),
        "encoder.layer.0.output.LayerNorm": (wide,), "pooler.dense": (wide, wide),
    }
    weights = {f"{name}.weight": source.normal(0, 0.2, shape).astype("float32") for name, shape in shapes.items()}
    biased = [(name, shape) for name, shape in shapes.items() if "embeddings.w" not in name and "_embeddings" not in name]
    weights |= {f"{name}.bias": np.zeros(shape[0], "float32") for name, shape in biased}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    files: dict[str, object] = {
        "config.json": {"architectures": ["BertModel"], "model_type": "bert", "hidden_size": wide, "num_hidden_layers": 1,
                        "num_attention_heads": 2, "intermediate_size": inner, "vocab_size": words, "max_position_embeddings": 512,
                        "type_vocab_size": 2, "pad_token_id": 0},
        "modules.json": [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
                         {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}],
        "sentence_bert_config.json": {"max_seq_length": 256, "do_lower_case": False},
        "1_Pooling/config.json": {"word_embedding_dimension": wide, "pooling_mode_mean_tokens": True},
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    packaged = Path(resolve(EmbeddingModel(), Settings()).path)
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json"):
        (folder / name).write_bytes((packaged / name).read_bytes())
    return folder


def write_recipe(folder: Path, model: Path, name: str = "small", chunker: str = "structure", context: str = "metadata",
                 normalize: bool = True) -> str:
    path = folder / f"{name}.toml"
    path.write_text(RECIPE.format(name=name, chunker=chunker, context=context, model=model, normalize=str(normalize).lower()),
                    encoding="utf-8")
    return str(path)


JUNK = {"junk.htm": b"\x7fELF\x02\x01" + bytes(range(256)) * 9, "zipped.htm": b"PK\x03\x04" + b"\0" * 40}
GOOD = range(1, 6)


@dataclass(frozen=True)
class World:
    """A folder of five good filings and two bad ones, a model, a recipe, and a lake that the loop made of them. For reading only."""

    root: Path
    folder: Path
    model: Path
    recipe: str
    lake: Path

    def seeded(self, name: Path) -> Path:
        """A new lake that knows the vectors of all its texts already, so that no run over them loads the model."""
        made = Lake.open(str(name), create=True)
        with made.writer("seed") as writer:
            rows = Lake.open(str(self.lake)).snapshot().read("embeddings")
            writer.commit([write_part(made.root, "embeddings", "seed", rows, "seed")], key="seed")
        return name


def small_world(root: Path) -> World:
    folder = write_filings(root / "in", *GOOD)
    for name, data in JUNK.items():
        (folder / name).write_bytes(data)
    model = tiny_model(root / "model")
    made = World(root, folder, model, write_recipe(root, model), root / "lake")
    assert counts(ingest(made.lake, folder, made.recipe, block_filings=2).record) == (7, 5, 0, 2)
    return made


def setup(lake: Path, recipe: str, **settings: Any) -> Setup:
    made, _ = all_settings.load({"lake": str(lake), "device": "cpu", **settings})
    return setup_of(recipes.load(recipe), made, made.lake)


def ingest(lake: Path, folder: Path, recipe: str, *, manifest: str | None = None, retry: bool = False,
           source: Literal["folder", "passages"] = "folder", **settings: Any) -> Job:
    """One run of the steps of flow `ingest`, in this process; the default engine is the loop."""
    settings = {"engine": "loop", "device": "cpu", **settings}
    request = Request(source=source, path=str(folder), recipe=recipe, manifest=manifest, retry_quarantined=retry,
                      overrides={"lake": str(lake), **settings})
    made, run_id = setup(lake, recipe, **settings), new_run_id()
    opened = Lake.open(str(lake), create=True)
    with opened.writer(run_id, "test") as writer:
        job = Job(request, made, opened, writer, run_id)
        with job.recorded():
            for step in (job.list_filings, job.fetch, job.transform, job.index):
                step()
    return job


def counts(record: RunRecord) -> tuple[int, int, int, int]:
    """(planned, indexed, unchanged, quarantined), which must close."""
    assert record.planned == record.indexed + record.unchanged + record.quarantined, record
    return record.planned, record.indexed, record.unchanged, record.quarantined


UNLIKE = {"run_id", "at", "seconds", "cpu_seconds", "gpu_seconds", "peak_bytes", "dollars", "received_at", "part", "vector"}
CONTENT = ("received", "filings", "documents", "elements", "sections", "chunks", "contexts", "embeddings", "usage", "work", "quarantine")


def content(snapshot: Snapshot) -> dict[str, list[str]]:
    """The rows of every table of content in a fixed order, without what differs from run to run: times, ids of runs, last digits."""
    tables = {}
    for name in CONTENT:
        rows = snapshot.read(name).to_pylist()
        tables[name] = sorted(str({k: v for k, v in row.items() if k not in UNLIKE}) for row in rows)
    return tables


def indexed(lake: Path | str, recipe: str = "small") -> dict[str, int]:
    """Chunks of every accession in the current index version."""
    import lance

    opened = Lake.open(str(lake))
    dataset = lance.dataset(opened.index_uri(recipe), version=opened.snapshot().indexes[recipe])
    found: dict[str, int] = {}
    for name in dataset.to_table(columns=["accession"])["accession"].to_pylist():
        found[name] = found.get(name, 0) + 1
    return found


def texts(lake: Path | str, recipe: str = "small") -> str:
    """All texts of the current index version."""
    import lance

    opened = Lake.open(str(lake))
    dataset = lance.dataset(opened.index_uri(recipe), version=opened.snapshot().indexes[recipe])
    return "\n".join(dataset.to_table(columns=["text"])["text"].to_pylist())
