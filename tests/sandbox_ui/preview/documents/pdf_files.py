"""Generated PDF files: pages of text with links, outlines and scripts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass
class PdfPage:
    """A page with lines of text and an optional link to another page.

    Attributes:
        more: Further drawing operators.
        link_to: The index of the page that the first line links to.
    """

    lines: Sequence[str] = ()
    size: tuple[float, float] = (595, 842)
    rotate: int = 0
    link_to: int | None = None
    more: str = ""
    entries: str = ""

    def drawing(self) -> bytes:
        text = "".join(f"({_escaped(line)}) Tj T*\n" for line in self.lines)
        words = f"BT /F1 12 Tf 16 TL 72 {self.size[1] - 72:g} Td\n{text}ET\n{self.more}"
        return words.encode("latin-1")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def make_pdf(
    pages: Sequence[PdfPage], *, outline: Sequence[tuple[str, int]] = (), title: str = ""
) -> bytes:
    """A PDF file of these pages."""
    return b"".join(pdf_parts(pages, outline=outline, title=title))


def pdf_parts(
    pages: Sequence[PdfPage],
    *,
    outline: Sequence[tuple[str, int]] = (),
    title: str = "",
    padding: int = 0,
) -> Iterator[bytes]:
    """The parts of a file that may be too large for memory: ``padding`` bytes are unused."""
    first_page = 6
    item_id = first_page + 2 * len(pages)
    kids = " ".join(f"{first_page + 2 * at} 0 R" for at in range(len(pages)))
    bodies: dict[int, bytes] = {
        1: f"<</Type/Catalog/Pages 2 0 R{'/Outlines 5 0 R' if outline else ''}>>".encode(),
        2: f"<</Type/Pages/Count {len(pages)}/Kids[{kids}]>>".encode(),
        3: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
        4: f"<</Title({_escaped(title)})>>".encode(),
        5: f"<</Type/Outlines/First {item_id} 0 R/Last {item_id + len(outline) - 1} 0 R>>".encode(),
    }
    for at, page_spec in enumerate(pages):
        bodies.update(_page_objects(page_spec, first_page + 2 * at, first_page))
    for at, (name, page) in enumerate(outline):
        after = f"/Next {item_id + at + 1} 0 R" if at + 1 < len(outline) else ""
        destination = f"/Dest[{first_page + 2 * page} 0 R/XYZ null null null]"
        item = f"<</Title({_escaped(name)})/Parent 5 0 R{destination}{after}>>"
        bodies[item_id + at] = item.encode()
    trailer = f"/Size {item_id + len(outline) + 1}/Root 1 0 R/Info 4 0 R"
    yield from _serialize(bodies, trailer, padding)


def _page_objects(page_spec: PdfPage, number: int, first_page: int) -> dict[int, bytes]:
    width, height = page_spec.size
    content = page_spec.drawing()
    link = ""
    if page_spec.link_to is not None:
        box = f"72 {height - 76:g} 300 {height - 60:g}"
        destination = f"/Dest[{first_page + 2 * page_spec.link_to} 0 R/Fit]"
        link = f"/Annots[<</Type/Annot/Subtype/Link/Rect[{box}]{destination}>>]"
    page = (
        f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 {width:g} {height:g}]/Rotate {page_spec.rotate}"
        f"/Contents {number + 1} 0 R/Resources<</Font<</F1 3 0 R>>>>"
        f"{link}{page_spec.entries}>>"
    )
    stream = f"<</Length {len(content)}>>stream\n".encode() + content + b"\nendstream"
    return {number: page.encode(), number + 1: stream}


def _serialize(bodies: dict[int, bytes], trailer: str, padding: int) -> Iterator[bytes]:
    head = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"
    yield head
    at = len(head)
    while padding > 0:
        block = b"%" + b"x" * (min(padding, 2**20) - 2) + b"\n"
        padding -= len(block)
        at += len(block)
        yield block
    offsets = {}
    for number, body in bodies.items():
        offsets[number] = at
        whole = f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
        at += len(whole)
        yield whole
    size = max(bodies) + 1
    rows = [
        f"{offsets.get(number, 0):010} {'00000 n' if number in offsets else '65535 f'} \n"
        for number in range(size)
    ]
    yield f"xref\n0 {size}\n{''.join(rows)}trailer<<{trailer}>>\nstartxref\n{at}\n%%EOF\n".encode()
