"""A filing out of its bytes, without a lake: what the stages open, parse and section make of it, in one call and under the same limits."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace

from edgarmill.schemas import ids
from edgarmill.schemas.errors import BadFile, NoText, UnknownForm
from edgarmill.schemas.records import Document, Element, Filing, Section
from edgarmill.schemas.settings import Settings
from edgarmill.workers import filing, parse, sections
from edgarmill.workers.limits import memory_limit, time_limit, uncollected
from edgarmill.workers.parse.characters import visible_characters
from edgarmill.workers.parse.media import media_of
from edgarmill.workers.parse.parsed import Block, Fact, Parsed, RawDocument
from edgarmill.workers.source.folder import read
from edgarmill.workers.submission import Header, Submission, is_submission, read_submission


@dataclass(frozen=True, slots=True)
class Read:
    """One document as it was read; `data` are its bytes, b"" where they are not at hand."""

    document: Document
    elements: tuple[Element, ...]
    sections: tuple[Section, ...]
    facts: tuple[Fact, ...] = ()
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class Filed:
    """A filing and its documents that are indexed, the main one first."""

    filing: Filing
    documents: tuple[Read, ...]


def read_file(path: str, settings: Settings, form: str = "", engine: str = "native") -> Filed:
    """A file as the pipeline would read it; .gz and .zst in place. Raises BadFile, NoText, TooLarge."""
    if not os.path.exists(path):
        raise BadFile("no such file", "", "Name a filing: .htm, .txt or .pdf, also as .gz or .zst.")
    if os.path.isdir(path):
        raise BadFile("a folder, not a file", "", "Name the files in it.")
    name = re.sub(r"\.(gz|zst)$", "", os.path.basename(path), flags=re.I)
    return read_filing(name, read(path, settings.max_filing_bytes), settings, form, engine)


def read_filing(name: str, data: bytes, settings: Settings, form: str = "", engine: str = "native") -> Filed:
    """What is read of a file: a full submission, or a bare document whose form is `form` or what its cover says.

    A form that has no Items, or none that anybody names, gives no sections. Raises BadFile, NoText, TooLarge.
    """
    with memory_limit(settings.parse_memory_bytes), uncollected():
        with time_limit(settings.parse_seconds):
            opened = _opened(name, data, form)
        found: list[Read] = []
        empty: list[NoText] = []
        for raw in _main_first(opened):
            with time_limit(settings.parse_seconds):
                try:
                    parsed = parse.engine_for(raw.media, engine).parse(raw)
                except NoText as error:
                    empty.append(error)
                    parsed = no_text(error)
                warnings = () if found else opened.warnings
                found.append(_read(opened.filing, raw, parsed, warnings))
    if not any(one.document.text.strip() for one in found):
        raise empty[0] if empty else NoText("it holds no document that could be parsed", name, "Look at the file.")
    return Filed(opened.filing, tuple(found))


def _opened(name: str, data: bytes, form: str) -> filing.Opened:
    filing.refuse_junk(data, name)
    alone = RawDocument(1, "", name, data, media_of(data, name))
    submission = read_submission(data) if is_submission(data) else Submission(Header(), (alone,))
    form = filing.normal_form(submission.header.form or (form if submission.documents == (alone,) else ""))
    known = Filing(submission.header.accession or ids.local_accession(name), name=name, source="folder", form=form)
    try:
        return filing.described(known, submission)
    except UnknownForm:
        documents, primary = filing.choose(submission.documents, form)
        form = form or filing.normal_form(primary.type)
        return filing.Opened(replace(known, form=form, filed_on=submission.header.filed_on), documents, submission.warnings)


def _main_first(opened: filing.Opened) -> list[RawDocument]:
    taken = [document for document in opened.documents if not document.left_out]
    return sorted(taken, key=lambda document: filing.rank(document, opened.filing.form))


def _read(of: Filing, raw: RawDocument, parsed: Parsed, warnings: tuple[str, ...]) -> Read:
    document = document_of(of, raw, parsed, warnings)
    elements = [element_of(document, number, block) for number, block in enumerate(parsed.blocks)]
    found = sections.find_sections(document, elements, of.form, of.filed_on)
    return Read(document, tuple(sections.label_elements(elements, found)), tuple(found), parsed.facts, raw.data)


def no_text(error: NoText) -> Parsed:
    """A document of pictures alone: it does not take its filing with it."""
    return Parsed("", (), 0, "", "none", None, None, (f"no text: {error.what}",))


def document_of(of: Filing, raw: RawDocument, parsed: Parsed, warnings: tuple[str, ...] = ()) -> Document:
    """The row of a parsed document; `warnings` are those of the filing."""
    return Document(
        ids.document_id(of.accession, raw.sequence),
        of.accession,
        raw.sequence,
        raw.type,
        raw.name,
        raw.media,
        len(raw.data),
        parsed.encoding,
        parsed.text,
        parsed.pages,
        parsed.engine,
        parsed.visible_chars_in,
        visible_characters(parsed.text),
        parsed.numbers_in,
        len(parse.numbers(parsed.text)),
        warnings + parsed.warnings,
    )


def element_of(of: Document, ordinal: int, block: Block) -> Element:
    """The row of a block, its section not known yet."""
    return Element(
        of.document_id,
        of.accession,
        ordinal,
        block.kind,
        block.level,
        block.start,
        block.end,
        block.page,
        block.page_label,
        None,
        block.grid,
    )
