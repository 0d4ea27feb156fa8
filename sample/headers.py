"""The header of a submission in its other dialect: tabs and labels made into tags, as EDGAR shows both on one page."""

from __future__ import annotations

import re

LINE = re.compile(r"(\t*)([A-Z0-9][A-Z0-9 ./&'()-]*):[ \t]*(.*)")
TAGS = {
    "CONFORMED SUBMISSION TYPE": "TYPE", "CONFORMED PERIOD OF REPORT": "PERIOD", "ITEM INFORMATION": "ITEMS",
    "FILED AS OF DATE": "FILING-DATE", "DATE AS OF CHANGE": "DATE-OF-FILING-DATE-CHANGE", "COMPANY CONFORMED NAME": "CONFORMED-NAME",
    "CENTRAL INDEX KEY": "CIK", "STANDARD INDUSTRIAL CLASSIFICATION": "ASSIGNED-SIC", "SEC ACT": "ACT", "SEC FILE NUMBER": "FILE-NUMBER",
    "STREET 1": "STREET1", "STREET 2": "STREET2", "BUSINESS PHONE": "PHONE", "DATE OF NAME CHANGE": "DATE-CHANGED",
    "FORMER CONFORMED NAME": "FORMER-CONFORMED-NAME",
}  # of other labels the tag is the label with hyphens
GROUPS = frozenset({
    "FILER", "SUBJECT COMPANY", "FILED BY", "REPORTING-OWNER", "ISSUER", "COMPANY DATA", "OWNER DATA", "FILING VALUES", "BUSINESS ADDRESS",
    "MAIL ADDRESS", "FORMER COMPANY", "FORMER NAME",
})
NEW_ITEMS = "20040823"  # the first day of Items 1.01-9.01
ITEMS = {
    "entry into a material definitive agreement": "1.01", "termination of a material definitive agreement": "1.02",
    "bankruptcy or receivership": "1.03", "material cybersecurity incidents": "1.05",
    "completion of acquisition or disposition of assets": "2.01", "results of operations and financial condition": "2.02",
    "creation of a direct financial obligation or an obligation under an off-balance sheet arrangement of a registrant": "2.03",
    "cost associated with exit or disposal activities": "2.05", "material impairments": "2.06",
    "material modifications to rights of security holders": "3.03", "changes in registrant's certifying accountant": "4.01",
    "departure of directors or certain officers; election of directors; appointment of certain officers: "
    "compensatory arrangements of certain officers": "5.02",
    "amendments to articles of incorporation or bylaws; change in fiscal year": "5.03",
    "submission of matters to a vote of security holders": "5.07", "regulation fd disclosure": "7.01", "other events": "8.01",
    "financial statements and exhibits": "9.01",
}
OLD_ITEMS = {
    "changes in control of registrant": "1", "acquisition or disposition of assets": "2", "bankruptcy or receivership": "3",
    "changes in registrant's certifying accountant": "4", "other events": "5", "resignations of registrant's directors": "6",
    "financial statements and exhibits": "7", "change in fiscal year": "8", "regulation fd disclosure": "9",
    "results of operations and financial condition": "12",
}


def item_number(text: str, filed: str) -> str:
    """The number of an item by its title and the filing date, YYYYMMDD; "" for a title that is not known."""
    return text if text[:1].isdigit() else (OLD_ITEMS if filed < NEW_ITEMS else ITEMS).get(text.lower(), "")


def tagged(header: str, filed: str) -> str:
    """A tab header in tags: values unclosed, groups closed. Lines that are tags already stay."""
    lines: list[str] = []
    open_groups: list[tuple[int, str]] = []

    def close(depth: int) -> None:
        while open_groups and open_groups[-1][0] >= depth:
            lines.append(f"</{open_groups.pop()[1]}>")

    for line in header.split("\n"):
        if line.startswith("<"):
            close(0 if line.startswith("</") else 99)
            lines.append(line)
        elif found := LINE.match(line):
            depth, label, value = len(found[1]), found[2].strip(), found[3].strip()
            tag = TAGS.get(label, label.replace(" ", "-"))
            if label in GROUPS and not value:
                close(depth)
                open_groups.append((depth, tag))
                lines.append(f"<{tag}>")
            elif value := _value(label, value, filed):
                lines.append(f"<{tag}>{value}")
    close(0)
    return "\n".join(lines)


def _value(label: str, value: str, filed: str) -> str:
    if label == "STANDARD INDUSTRIAL CLASSIFICATION":
        digits = re.search(r"\[(\d+)\]", value)
        return digits[1] if digits else ""
    if label == "SEC ACT":
        return re.sub(r"(?:19)?(\d\d) Act", r"\1", value)
    return item_number(value, filed) if label == "ITEM INFORMATION" else value
