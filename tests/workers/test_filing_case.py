"""A hard case of the shared data: a submission with binary exhibits, an empty header value and two filers."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from edgarmill.schemas.records import Filing
from edgarmill.workers.filing import describe
from edgarmill.workers.parse import engine_for


def test_binary_exhibits_are_listed_with_their_reason_and_both_filers_are_kept(shared: Path) -> None:
    data = (shared / "cases/21-binary-exhibits-two-filers/input.txt").read_bytes()
    opened = describe(Filing("0009999999-04-000021", name="input.txt", source="folder"), data)
    filing = opened.filing
    assert (filing.form, filing.period_on, filing.filed_on) == ("10-K", date(2003, 12, 31), date(2004, 3, 10))
    assert filing.ciks == ("0009990021", "0009990022")
    primary, exhibit, logo = opened.documents
    assert (primary.media, exhibit.media, logo.media) == ("text", "pdf", "image")
    assert exhibit.data.startswith(b"%PDF-")
    assert exhibit.left_out and logo.left_out and not primary.left_out
    assert "52,000" in engine_for(primary.media, "native").parse(primary).text
