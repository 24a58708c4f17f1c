"""PDF files made for tests: pages of text, with what else a test wants of them."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_PADDING = bytes.fromhex("28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a")


@dataclass
class Sheet:
    """A page: lines of text from the top, and a place on it that leads to another page.

    Attributes:
        more: Further drawing, in PDF's own words.
        leads_to: The index of the page that the first line leads to.
    """

    lines: Sequence[str] = ()
    size: tuple[float, float] = (595, 842)
    rotate: int = 0
    leads_to: int | None = None
    more: str = ""
    resources: str = ""
    entries: str = ""
    content: bytes = field(default=b"", repr=False)

    def drawn(self) -> bytes:
        text = "".join(f"({_escaped(line)}) Tj T*\n" for line in self.lines)
        words = f"BT /F1 12 Tf 16 TL 72 {self.size[1] - 72:g} Td\n{text}ET\n{self.more}"
        return words.encode("latin-1")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def paper(
    sheets: Sequence[Sheet],
    *,
    outline: Sequence[tuple[str, int]] = (),
    title: str = "",
    password: str | None = None,
    ballast: int = 0,
) -> bytes:
    """A PDF of these pages; ``ballast`` bytes that nothing refers to stand before them."""
    return b"".join(
        parts_of(sheets, outline=outline, title=title, password=password, ballast=ballast)
    )


def parts_of(
    sheets: Sequence[Sheet],
    *,
    outline: Sequence[tuple[str, int]] = (),
    title: str = "",
    password: str | None = None,
    ballast: int = 0,
) -> Iterator[bytes]:
    """The same in parts, for one that is larger than memory likes."""
    first_page = 6
    marks = first_page + 2 * len(sheets)
    kids = " ".join(f"{first_page + 2 * at} 0 R" for at in range(len(sheets)))
    bodies: dict[int, bytes] = {
        1: f"<</Type/Catalog/Pages 2 0 R{'/Outlines 5 0 R' if outline else ''}>>".encode(),
        2: f"<</Type/Pages/Count {len(sheets)}/Kids[{kids}]>>".encode(),
        3: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
        4: f"<</Title({_escaped(title)})>>".encode(),
        5: f"<</Type/Outlines/First {marks} 0 R/Last {marks + len(outline) - 1} 0 R>>".encode(),
    }
    for at, sheet in enumerate(sheets):
        bodies.update(_sheet(sheet, first_page + 2 * at, first_page))
    for at, (name, page) in enumerate(outline):
        after = f"/Next {marks + at + 1} 0 R" if at + 1 < len(outline) else ""
        leads = f"/Dest[{first_page + 2 * page} 0 R/XYZ null null null]"
        bodies[marks + at] = f"<</Title({_escaped(name)})/Parent 5 0 R{leads}{after}>>".encode()
    trailer = f"/Size {marks + len(outline) + 1}/Root 1 0 R/Info 4 0 R"
    if password is not None:
        trailer += _lock(bodies, password)
    yield from _laid_out(bodies, trailer, ballast)


def _sheet(sheet: Sheet, number: int, first_page: int) -> dict[int, bytes]:
    width, height = sheet.size
    content = sheet.content or sheet.drawn()
    link = ""
    if sheet.leads_to is not None:
        box = f"72 {height - 76:g} 300 {height - 60:g}"
        leads = f"/Dest[{first_page + 2 * sheet.leads_to} 0 R/Fit]"
        link = f"/Annots[<</Type/Annot/Subtype/Link/Rect[{box}]{leads}>>]"
    page = (
        f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 {width:g} {height:g}]/Rotate {sheet.rotate}"
        f"/Contents {number + 1} 0 R/Resources<</Font<</F1 3 0 R>>{sheet.resources}>>"
        f"{link}{sheet.entries}>>"
    )
    stream = f"<</Length {len(content)}>>stream\n".encode() + content + b"\nendstream"
    return {number: page.encode(), number + 1: stream}


def _laid_out(bodies: dict[int, bytes], trailer: str, ballast: int) -> Iterator[bytes]:
    head = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"
    yield head
    at = len(head)
    while ballast > 0:
        block = b"%" + b"x" * (min(ballast, 2**20) - 2) + b"\n"
        ballast -= len(block)
        at += len(block)
        yield block
    places = {}
    for number, body in bodies.items():
        places[number] = at
        whole = f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
        at += len(whole)
        yield whole
    size = max(bodies) + 1
    rows = [
        f"{places.get(number, 0):010} {'00000 n' if number in places else '65535 f'} \n"
        for number in range(size)
    ]
    yield f"xref\n0 {size}\n{''.join(rows)}trailer<<{trailer}>>\nstartxref\n{at}\n%%EOF\n".encode()


def _lock(bodies: dict[int, bytes], password: str) -> str:
    """Encrypts the contents by the oldest of ways; returns the trailer's part."""
    padded = (password.encode() + _PADDING)[:32]
    owner = _rc4(hashlib.md5(padded).digest()[:5], padded)
    identity = b"0123456789abcdef"
    rights = (-4).to_bytes(4, "little", signed=True)
    key = hashlib.md5(padded + owner + rights + identity).digest()[:5]
    for number, body in bodies.items():
        head, begins, rest = body.partition(b"stream\n")
        if begins:
            salted = key + number.to_bytes(3, "little") + b"\0\0"
            content = _rc4(hashlib.md5(salted).digest()[:10], rest.removesuffix(b"\nendstream"))
            bodies[number] = head + begins + content + b"\nendstream"
    user = _rc4(key, _PADDING)
    lock = f"<</Filter/Standard/V 1/R 2/O<{owner.hex()}>/U<{user.hex()}>/P -4>>"
    return f"/Encrypt {lock}/ID[<{identity.hex()}><{identity.hex()}>]"


def _rc4(key: bytes, content: bytes) -> bytes:
    box = list(range(256))
    j = 0
    for i in range(256):
        j = (j + box[i] + key[i % len(key)]) % 256
        box[i], box[j] = box[j], box[i]
    out, i, j = bytearray(), 0, 0
    for byte in content:
        i = (i + 1) % 256
        j = (j + box[i]) % 256
        box[i], box[j] = box[j], box[i]
        out.append(byte ^ box[(box[i] + box[j]) % 256])
    return bytes(out)
