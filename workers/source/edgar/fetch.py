"""One filing's bytes from EDGAR, checked to be that filing and whole."""

from __future__ import annotations

import re

from edgarmill.schemas.errors import BadFile, FetchFailed
from edgarmill.workers.source.listed import Listed
from edgarmill.workers.transport import Transport

BEGINS = re.compile(rb"\s*(?:-----BEGIN PRIVACY-ENHANCED MESSAGE-----|<(?:SEC|IMS)-(?:DOCUMENT|HEADER)>|<SUBMISSION>)")
STATED = re.compile(rb"ACCESSION[ -]NUMBER(?::\s*|>)(\d{10}-\d{2}-\d{6})")
ENDS = re.compile(rb"(?:</SEC-DOCUMENT>|</IMS-DOCUMENT>|</SUBMISSION>|-----END PRIVACY-ENHANCED MESSAGE-----)\s*$")
OPENED, CLOSED = (re.compile(rb"(?<![^\r\n])" + mark) for mark in (rb"<DOCUMENT>", rb"</DOCUMENT>"))  # CR may end a line


def fetch(listed: Listed, transport: Transport) -> bytes:
    """The full submission text, checked to be that filing and whole. Raises FetchFailed, TooLarge, BadFile, Blocked."""
    data = transport.get(listed.where)
    accession = listed.filing.accession
    head = data[: 2**16]
    if not BEGINS.match(head):
        raise BadFile("what EDGAR sent is not a submission", accession, "Open its address in a browser.")
    stated = STATED.search(head)
    if stated is None or stated[1].decode() != accession:
        found = stated[1].decode() if stated else "without an accession number"
        raise BadFile(f"what EDGAR sent is {found}", accession, "Run again later.")
    opened, closed = len(OPENED.findall(data)), len(CLOSED.findall(data))
    if opened != closed or not opened or not ENDS.search(data[-4096:]):
        raise FetchFailed(f"the submission is cut: {opened} documents begin, {closed} end", accession, "Run again to fetch it anew.")
    return data
