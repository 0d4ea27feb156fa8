"""A PDF put together of its objects, for tests that need one of a known layout."""

from __future__ import annotations

import zlib
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


def pdf(*pages: list[tuple[str, int]] | str, bold_size: int = 14) -> bytes:
    """A PDF of one font in two weights; a page is lines of (text, y), those with a leading * bold and larger, or what is drawn on it."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
               "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold >>"]
    kids = []
    for lines in pages:
        shown = lines if isinstance(lines, str) else ""
        for text, y in () if isinstance(lines, str) else lines:
            font, size = ("/F2", bold_size) if text.startswith("*") else ("/F1", 10)
            escaped = text.lstrip("*").replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
            shown += f"BT {font} {size} Tf 50 {y} Td ({escaped}) Tj ET\n"
        packed = zlib.compress(shown.encode("latin-1")).decode("latin-1")  # as in real files: none of the text stands in the bytes
        objects.append(f"<< /Length {len(packed)} /Filter /FlateDecode >>\nstream\n{packed}\nendstream")
        objects.append(f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {len(objects)} 0 R "
                       "/Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> >>")
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    return pdf_of(objects)
