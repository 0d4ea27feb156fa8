"""The pipeline: `STAGES`, one tuple in order. Nothing else decides the order.

A stage is a frozen record. `open(setup)` loads what is heavy once per worker; `run(state, work)` turns one filing's rows into more rows.
A stage of `scope="block"` gets a list of works and gives a list of outcomes (the embedder sorts a whole block by length).
The same stages run on Ray Data and in a plain loop: see `fanout.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from edgarmill.schemas import ids
from edgarmill.schemas.errors import BadInput, NoText
from edgarmill.schemas.recipe import Kind, Recipe
from edgarmill.schemas.records import Chunk, Chunking, Document, Element, Embedding, FactRow, Filing, Section, Usage
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake
from edgarmill.workers import bundle, chunk, context, facts, filing, parse, sections, tree, trees
from edgarmill.workers.asking import Asker, asker_at, open_asker
from edgarmill.workers.embed.embedded import Embedded
from edgarmill.workers.embed.hosted import Hosted
from edgarmill.workers.embed.tokens import Tokenizer
from edgarmill.workers.fit import Plan, check_recipe, contexts_of
from edgarmill.workers.parse.parsed import RawDocument
from edgarmill.workers.reading import document_of, element_of, no_text


@dataclass(frozen=True)
class Setup:
    """All that a stage may depend on: see `setup_of`."""

    recipe: Recipe
    settings: Settings
    lake: str  # root
    plan: Plan  # the recipe checked against its model; its fingerprints are the keys of the chunk and context stages
    keys: Mapping[str, str]  # by stage: key of its done work
    run_id: str = ""  # names the budget that all workers of a run share


@dataclass(slots=True)
class Work:
    """One filing on its way: its record and its rows by table, those of earlier stages included."""

    filing: Filing
    rows: dict[str, list[Any]] = field(default_factory=dict)
    raw: list[RawDocument] = field(default_factory=list)  # between open and parse only
    warnings: tuple[str, ...] = ()  # of the open stage, kept with the first document


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a stage gives: rows by table (they replace the work's rows of that table) and usage without seconds."""

    rows: dict[str, list[Any]] = field(default_factory=dict)
    usage: Usage | None = None
    filing: Filing | None = None
    raw: list[RawDocument] | None = None
    warnings: tuple[str, ...] = ()
    on_gpu: bool = False
    paid: Usage | None = None  # calls of a provider's model, priced; a row beside that of the stage's own work
    error: BadInput | None = None  # the filing cannot go on, though it has cost something


@dataclass(frozen=True)
class Stage:
    """`settled(recipe, plan)` is all that decides the stage's rows beside `version` and the stages before it."""

    name: str
    version: int
    takes: tuple[str, ...]
    gives: tuple[str, ...]
    open: Callable[[Setup], Any]
    run: Callable[[Any, Any], Any]
    settled: Callable[[Recipe, Plan], str]
    scope: Literal["filing", "block"] = "filing"
    gpus: float = 0.0  # wanted per worker where there are any
    ahead: Callable[[Any, list[Any]], None] | None = None  # of a stage that waits for others: begins a block's filings together
    after: str = ""  # the stage that it builds on, where that is not the one before it; then none builds on it


def _nothing(recipe: Recipe, plan: Plan) -> str:
    return ""


# open: bytes as received → what the filing is, and its documents


def _open_raw(setup: Setup) -> Lake:
    return Lake.open(setup.lake)


def _run_open(lake: Lake, work: Work) -> Outcome:
    data = lake.read_raw(work.filing.sha256)
    if work.filing.source == "edgar" and bundle.is_bundle(data):
        opened = filing.described(work.filing, bundle.opened(bundle.decode(data), lake.read_raw))
    elif work.filing.source == "passages":
        opened = filing.passage(work.filing, data)
    else:
        opened = filing.describe(work.filing, data)
    return Outcome(filing=opened.filing, raw=list(opened.documents), warnings=opened.warnings)


# parse: documents → canonical text, elements and facts


def _run_parse(setup: Setup, work: Work) -> Outcome:
    documents: list[Document] = []
    elements: list[Element] = []
    found: list[FactRow] = []
    empty: list[NoText] = []
    for raw in work.raw:
        if raw.left_out:
            continue
        try:
            parsed = parse.engine_for(raw.media, setup.recipe.parser.engine).parse(raw)
        except NoText as error:  # an exhibit of pictures alone does not take its filing with it
            empty.append(error)
            parsed = no_text(error)
        document = document_of(work.filing, raw, parsed, () if documents else work.warnings)
        documents.append(document)
        elements.extend(element_of(document, number, block) for number, block in enumerate(parsed.blocks))
        found.extend(facts.row_of(document, number, fact) for number, fact in enumerate(parsed.facts))
    if not any(d.text.strip() for d in documents):
        raise empty[0] if empty else NoText("it holds no document that could be parsed", work.filing.name, "Look at the file.")
    return Outcome({"documents": documents, "elements": elements, "facts": found})


# section: Items and Parts


def _run_section(_: Setup, work: Work) -> Outcome:
    by_document = _grouped(work.rows["elements"])
    found: list[Section] = []
    labelled: list[Element] = []
    for document in work.rows["documents"]:
        elements = by_document.get(document.document_id, [])
        mine = sections.find_sections(document, elements, work.filing.form, work.filing.filed_on)
        found.extend(mine)
        labelled.extend(sections.label_elements(elements, mine))
    return Outcome({"sections": found, "elements": labelled})


# chunk, context: text → pieces that fit the model


@dataclass
class _Cutting:
    """What the chunk stage works with; the model only where the chunker asks it."""

    setup: Setup
    tokenizer: Tokenizer
    encoder: _Encoder | None


@dataclass
class _Metered:
    """An encoder that counts what it reads for one filing."""

    encoder: _Encoder
    tokenizer: Tokenizer
    texts: int = 0
    tokens: int = 0

    def __call__(self, texts: list[str]) -> Any:
        model = self.encoder.setup.plan.model
        self.texts += len(texts)
        self.tokens += sum(min(model.window, n + model.specials) for n in self.tokenizer.counts(texts))
        return self.encoder.encode(texts)


def _open_chunk(setup: Setup) -> _Cutting:
    """The model is loaded here and not at the first filing: it would be charged to that one's time and memory."""
    encoder = _open_encoder(setup) if chunk.needs_encoder(setup.recipe.chunker.kind) else None
    if encoder is not None:
        encoder.load()
    return _Cutting(setup, Tokenizer(setup.plan.model.tokenizer_path), encoder)


def _run_chunk(state: _Cutting, work: Work) -> Outcome:
    kind, plan = state.setup.recipe.chunker, state.setup.plan
    elements, found = _grouped(work.rows["elements"]), _grouped(work.rows["sections"])
    encode = _Metered(state.encoder, state.tokenizer) if state.encoder is not None else None
    chunks: list[Chunk] = []
    account: list[Chunking] = []
    for document in work.rows["documents"]:
        key = document.document_id
        made = chunk.chunked(document, elements.get(key, []), found.get(key, []), kind, plan, state.tokenizer, encode)
        chunks.extend(made.chunks)
        account.append(chunk.chunking(document, made, plan))
    if not chunks and kind.options.get("items"):
        todo = "Take a recipe without chunker.items, or list such filings no more (--form)."
        raise NoText(f"it has none of the Items that the recipe keeps ({', '.join(kind.options['items'])})", work.filing.name, todo)
    if not chunks:
        raise NoText("no passage in it is long enough to index", work.filing.name, "Look at the file: is its text an image?")
    rows: dict[str, list[Any]] = {"chunks": chunks, "chunkings": account}
    if encode is None:
        return Outcome(rows, Usage(work.filing.accession, "chunk", input_tokens=sum(c.tokens for c in chunks)))
    usage = Usage(work.filing.accession, "chunk", plan.model.name, "local", calls=encode.texts, input_tokens=encode.tokens, output_tokens=0)
    return Outcome(rows, usage, on_gpu=encode.encoder.on_gpu)


def _open_context(setup: Setup) -> tuple[Setup, Tokenizer, Asker | None]:
    asker = open_asker(setup.recipe.context, setup.settings, setup.lake, setup.run_id)
    return setup, Tokenizer(setup.plan.model.tokenizer_path), asker


def _ask_ahead(state: tuple[Setup, Tokenizer, Asker | None], works: list[Work]) -> None:
    if state[2] is not None:
        state[2].ask_ahead([(work.filing, work.rows["documents"], work.rows["chunks"]) for work in works])


def _run_context(state: tuple[Setup, Tokenizer, Asker | None], work: Work) -> Outcome:
    setup, tokenizer, asker = state
    usage = Usage(work.filing.accession, "context", input_tokens=0, output_tokens=0)
    answered = asker.ask(work.filing, work.rows["documents"], work.rows["chunks"]) if asker is not None else None
    if answered is not None and answered.error is not None:
        return Outcome(usage=usage, paid=answered.usage, error=answered.error)
    contexts = contexts_of(work.filing, work.rows["chunks"], setup.recipe.context, setup.plan, tokenizer, answered)
    return Outcome({"contexts": contexts}, usage, paid=answered.usage if answered is not None else None)


# tree: sections, headings and pages → nodes


def _open_tree(setup: Setup) -> trees.Growing:
    return trees.open_growing(setup.recipe.tree, setup.keys["tree"], setup.settings, setup.lake, setup.run_id)


def _run_tree(growing: trees.Growing, work: Work) -> Outcome:
    elements, found = _grouped(work.rows["elements"]), _grouped(work.rows["sections"])
    rows, answered = trees.trees_of(work.filing, work.rows["documents"], elements, found, growing)
    usage = Usage(work.filing.accession, "tree", input_tokens=0, output_tokens=0)
    if answered is None:
        return Outcome({"trees": rows}, usage)
    return Outcome({"trees": rows}, usage, paid=answered.usage, error=answered.error)


# embed: every distinct text once per model


@dataclass
class _Encoder:
    """The model, loaded at the first text that nobody has embedded yet: a run of known texts never loads torch."""

    setup: Setup
    loaded: Any = None

    def load(self) -> Any:
        if self.loaded is None:
            from edgarmill.workers.embed.local import open_encoder

            self.loaded = open_encoder(self.setup.plan.model, self.setup.settings)
        return self.loaded

    def encode(self, texts: list[str]) -> Any:
        return self.load().encode(texts)

    @property
    def on_gpu(self) -> bool:
        return self.loaded is not None and str(self.loaded.device).startswith("cuda")


def _open_encoder(setup: Setup) -> _Encoder:
    return _Encoder(setup)


@dataclass(frozen=True)
class _Embedding:
    """What the embed stage works with."""

    by: _Encoder | Hosted
    known: Embedded


def _open_embed(setup: Setup) -> _Embedding:
    model = setup.plan.model
    return _Embedding(_open_hosted(setup) if model.endpoint else _open_encoder(setup), Embedded(Lake.open(setup.lake), model.model_hash))


def _open_hosted(setup: Setup) -> Hosted:
    model = setup.plan.model
    endpoint = setup.settings.endpoint(model.endpoint, model.served)
    asker = asker_at(endpoint, Kind(kind=model.name), setup.settings, setup.lake, setup.run_id, "embed")
    return Hosted(model, asker.client, Tokenizer(model.tokenizer_path), asker.budget, setup.run_id)


def _run_embed(state: _Embedding, works: list[Work]) -> list[Outcome]:
    encoder = state.by
    if isinstance(encoder, Hosted):
        return _run_hosted(encoder, state.known, works)
    model = encoder.setup.plan.model
    wanted: dict[str, tuple[str, str]] = {}  # text hash → (first filing that needs it, text)
    for work in works:
        texts = {c.chunk_id: c.text for c in work.rows["chunks"]}
        for c in work.rows["contexts"]:
            wanted.setdefault(c.text_hash, (c.accession, context.embedded_text(c.context, texts[c.chunk_id])))
    known = state.known.among(wanted)
    new = [(key, accession, text) for key, (accession, text) in wanted.items() if key not in known]
    vectors = encoder.encode([text for _, _, text in new]) if new else []
    rows: dict[str, list[Embedding]] = {}
    for (key, accession, _), vector in zip(new, vectors, strict=True):
        rows.setdefault(accession, []).append(Embedding(key, model.model_hash, accession, vector))
    return [_embedded(work, rows.get(work.filing.accession, []), encoder) for work in works]


def _run_hosted(hosted: Hosted, embedded: Embedded, works: list[Work]) -> list[Outcome]:
    """The stage's own row has tokens by the recipe's tokenizer and no model; what the provider counted and asks for is the paid one's."""
    model_hash = hosted.model.model_hash
    known = embedded.among(c.text_hash for work in works for c in work.rows["contexts"])
    given = hosted.embedded({work.filing.accession: _texts(work, known) for work in works})
    outcomes: list[Outcome] = []
    for work in works:
        accession, mine = work.filing.accession, given[work.filing.accession]
        spent = sum(c.tokens - c.cut_tokens for c in work.rows["contexts"] if c.text_hash in mine.vectors)
        rows = [Embedding(key, model_hash, accession, vector) for key, vector in mine.vectors.items()]
        usage = Usage(accession, "embed", input_tokens=spent, output_tokens=0)
        outcomes.append(Outcome({"embeddings": rows}, usage, paid=mine.usage, error=mine.error))
    return outcomes


def _texts(work: Work, known: set[str]) -> dict[str, str]:
    """By hash the texts of a filing that nobody has embedded yet."""
    texts = {c.chunk_id: c.text for c in work.rows["chunks"]}
    return {c.text_hash: context.embedded_text(c.context, texts[c.chunk_id]) for c in work.rows["contexts"] if c.text_hash not in known}


def _embedded(work: Work, rows: list[Embedding], encoder: _Encoder) -> Outcome:
    fresh = {e.text_hash for e in rows}
    spent = sum(c.tokens - c.cut_tokens for c in work.rows["contexts"] if c.text_hash in fresh)
    usage = Usage(
        work.filing.accession,
        "embed",
        model=encoder.setup.plan.model.name,
        provider="local",
        origin="counted" if fresh else "reused",
        calls=len(fresh),
        input_tokens=spent,
        output_tokens=0,
    )
    return Outcome({"embeddings": rows}, usage, on_gpu=encoder.on_gpu)


def _grouped(rows: list[Any]) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = {}
    for row in rows:
        groups.setdefault(row.document_id, []).append(row)
    return groups


STAGES: tuple[Stage, ...] = (
    Stage("open", 2, (), ("filings",), _open_raw, _run_open, _nothing),
    Stage("parse", 5, (), ("documents", "elements", "facts"), lambda setup: setup, _run_parse, lambda recipe, plan: recipe.parser.engine),
    Stage("section", 2, ("documents", "elements"), ("sections", "elements"), lambda setup: setup, _run_section, _nothing),
    Stage("chunk", 2, ("documents", "elements", "sections"), ("chunks", "chunkings"), _open_chunk, _run_chunk,
          lambda recipe, plan: plan.chunker_fingerprint),
    Stage("context", 1, ("documents", "chunks"), ("contexts",), _open_context, _run_context,
          lambda recipe, plan: plan.context_fingerprint, ahead=_ask_ahead),
    Stage(  # beside the others, before the embedder only so that it finds the rows at hand: a changed tree redoes nothing else
        "tree",
        1,
        ("documents", "elements", "sections"),
        ("trees",),
        _open_tree,
        _run_tree,
        lambda recipe, plan: trees.settled(recipe.tree),
        after="section",
    ),
    Stage("embed", 1, ("chunks", "contexts"), ("embeddings",), _open_embed, _run_embed,
          lambda recipe, plan: plan.model.model_hash, "block", gpus=1.0),
)


def setup_of(recipe: Recipe, settings: Settings, lake: str) -> Setup:
    """The setup of a run. Checks the recipe in the first second: raises UnknownName, SettingsError.

    A stage's key covers its version and settings and those of all that it builds on: a changed one redoes itself and what follows. Rows of
    several recipes live side by side in `chunks`, `contexts` and `trees`, told apart by the key of their stage. A recipe without a
    tree has no such stage: its filings are done without one.
    """
    parse.check_engine(recipe.parser.engine)
    plan = check_recipe(recipe, settings)
    key = ""
    keys: dict[str, str] = {}
    for stage in STAGES:
        if stage.name == "tree" and recipe.tree.kind == tree.NONE:
            continue
        before = keys[stage.after] if stage.after else key
        keys[stage.name] = ids.stage_key(before, stage.name, stage.version, stage.settled(recipe, plan))
        key = key if stage.after else keys[stage.name]
    plan = replace(plan, chunker_fingerprint=keys["chunk"], context_fingerprint=keys["context"])
    return Setup(recipe, settings, lake, plan, keys)


def stages_of(setup: Setup) -> list[Stage]:
    """The stages of a run, in order: those that have a key."""
    return [stage for stage in STAGES if stage.name in setup.keys]
