"""The full submission text that EDGAR serves: tab header, then each document in its block."""

from __future__ import annotations

import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from edgarmill.sample.companies import Company
from edgarmill.sample.current import TITLES

LOGO = bytes.fromhex("47494638396101000100800000ffffff00000021f90401000000002c00000000010001000002024401003b")  # a GIF of one pixel


@dataclass(frozen=True, slots=True)
class Piece:
    """One document of a submission. `wrapper` is XBRL for inline documents and schemas."""

    type: str
    name: str
    description: str
    body: bytes
    wrapper: str = ""


@dataclass(frozen=True, slots=True)
class Envelope:
    """What the header says. `accepted` is 14 digits of Eastern time."""

    accession: str
    form: str
    period: date
    filed: date
    accepted: str
    items: tuple[str, ...] = ()


def accession(company: Company, filed: date, number: int) -> str:
    """A number of the filer's own login: nobody files for a fictional company."""
    return f"{company.cik}-{filed:%y}-{number:06}"


def submission(company: Company, envelope: Envelope, pieces: Sequence[Piece]) -> bytes:
    head = _header(company, envelope, len(pieces))
    return b"".join([head, *(_document(n, piece) for n, piece in enumerate(pieces, 1)), b"</SEC-DOCUMENT>\n"])


def _header(company: Company, e: Envelope, documents: int) -> bytes:
    items = "".join(f"ITEM INFORMATION:\t\t{TITLES[item]}\n" for item in e.items)
    state, _, city, zip_code, _ = company.town
    end = company.quarter_end(2024, 4)
    address = ("\t\tSTREET "
               f"1:\t\t{company.street.upper()}\n\t\tCITY:\t\t\t{city.upper()}\n\t\tSTATE:\t\t\t{state}\n\t\tZIP:\t\t\t{zip_code}\n")
    return (
        f"<SEC-DOCUMENT>{e.accession}.txt : {e.filed:%Y%m%d}\n<SEC-HEADER>{e.accession}.hdr.sgml : "
        f"{e.filed:%Y%m%d}\n<ACCEPTANCE-DATETIME>{e.accepted}\nACCESSION NUMBER:\t\t{e.accession}\nCONFORMED SUBMISSION "
        f"TYPE:\t{e.form}\nPUBLIC DOCUMENT COUNT:\t\t{documents}\nCONFORMED PERIOD OF REPORT:\t{e.period:%Y%m%d}\n{items}FILED AS OF "
        f"DATE:\t\t{e.filed:%Y%m%d}\nDATE AS OF CHANGE:\t\t{e.filed:%Y%m%d}\n\nFILER:\n\n\tCOMPANY DATA:\t\n\t\tCOMPANY CONFORMED "
        f"NAME:\t\t\t{company.name.upper().replace(',', '').rstrip('.')}\n\t\tCENTRAL INDEX KEY:\t\t\t{company.cik}\n\t\tSTANDARD "
        f"INDUSTRIAL CLASSIFICATION:\t{company.sector.sic}\n\t\tIRS NUMBER:\t\t\t\t{company.ein.replace('-', '')}\n\t\tSTATE OF "
        f"INCORPORATION:\t\t\tDE\n\t\tFISCAL YEAR END:\t\t\t{end:%m%d}\n\n\tFILING VALUES:\n\t\tFORM TYPE:\t\t{e.form}\n\t\tSEC "
        f"ACT:\t\t1934 Act\n\t\tSEC FILE NUMBER:\t{company.file_number}\n\t\tFILM "
        f"NUMBER:\t\t{e.filed:%y}{900000 + int(e.accession[-6:]):06}\n\n\tBUSINESS ADDRESS:\t\n{address}\t\tBUSINESS "
        f"PHONE:\t\t{company.phone}\n\n\tMAIL ADDRESS:\t\n{address}</SEC-HEADER>\n").encode("ascii")


def _document(number: int, piece: Piece) -> bytes:
    opened, closed = (f"<{piece.wrapper}>\n", f"</{piece.wrapper}>\n") if piece.wrapper else ("", "")
    head = f"<DOCUMENT>\n<TYPE>{piece.type}\n<SEQUENCE>{number}\n<FILENAME>{piece.name}\n<DESCRIPTION>{piece.description}\n<TEXT>\n{opened}"
    return head.encode() + piece.body + f"{closed}</TEXT>\n</DOCUMENT>\n".encode()


def certification(company: Company, section: int) -> bytes:
    """Exhibit 31.1 or 32.1."""
    officer = company.officers[0]
    text = (f"I, {officer}, certify that I have reviewed this report of {company.name}; that to my knowledge it holds no untrue "
            "statement of a material fact; and that the financial statements fairly present the condition, results and cash "
            "flows." if section == 302 else
            f"The undersigned certifies under 18 U.S.C. Section 1350 that this report of {company.name} fully complies with Section "
            "13(a) of the Securities Exchange Act of 1934.")
    return (f"<html><head><title>Certification</title></head><body><p><b>CERTIFICATION</b></p><p>{text}</p><p>/s/ {officer}, Chief "
            "Executive Officer</p></body></html>\n".encode())


def subsidiaries(company: Company) -> bytes:
    """Exhibit 21."""
    rows = "".join(f"<tr><td>{company.short} {segment} LLC</td><td>Delaware</td></tr>" for segment in company.segments)
    return f"<html><head><title>Subsidiaries</title></head><body><p><b>SUBSIDIARIES</b></p><table>{rows}</table></body></html>\n".encode()


def schema(company: Company, stem: str) -> bytes:
    """Exhibit 101.SCH, as small as one can be."""
    return (f'<?xml version="1.0" encoding="UTF-8"?>\n<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema" '
            f'targetNamespace="http://www.{company.prefix}.example/2024" '
            f'id="{stem}"></xsd:schema>\n').encode()


def picture(name: str) -> bytes:
    """The logo, uuencoded as EDGAR carries pictures."""
    lines = [binascii.b2a_uu(LOGO[start:start + 45], backtick=True).decode() for start in range(0, len(LOGO), 45)]
    return f"begin 644 {name}\n{''.join(lines)}`\nend\n".encode()
