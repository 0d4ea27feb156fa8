"""A PDF put together of its objects, for tests that need one of a known layout."""

from __future__ import annotations

from collections.abc import Sequence


def pdf_of(objects: Sequence[str]) -> bytes:
    """The bodies, numbered from 1, with the table that says where each begins; the first is the catalog."""
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF"
    return out + end.encode()
