"""Input files of the examples that are generated when they are needed."""

import io
import random
import zlib
from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta

LOGBOOK_LINES = 420
LOGBOOK_LINE, LOGBOOK_VALUE = 301, "1886-12-29: landfall off Valparaiso, anchored in 12 fathoms"
REGISTER_PAGES, ARRIVALS_PER_PAGE = 300, 40
REGISTER_SHIP = "Halcyon"
DEPARTURES = (
    ("14:05", "Trondheim", "4"), ("14:12", "Lillehammer", "11"), ("14:20", "Stavanger", "2"),
    ("14:31", "Bergen", "17"), ("14:38", "Drammen", "9"), ("14:52", "Kristiansand", "6"),
    ("15:03", "Hamar", "13"),
)  # fmt: skip
"""What a photograph shows: the time, the city and the platform of each departure."""

_WINDS = ("calm", "light airs", "moderate breeze", "fresh breeze", "strong gale", "squalls")
_SKIES = ("clear sky", "passing clouds", "overcast", "rain", "fog banks", "hail showers")
_WORK = (
    "sails mended",
    "decks holystoned",
    "cargo shifted to port",
    "water rationed",
    "rigging set up",
    "lifeboats aired",
)
_SHIPS = (
    "Albatross", "Borealis", "Cormorant", "Dunlin", "Esperance", "Fortuna", "Gannet", REGISTER_SHIP,
    "Ibis", "Juno", "Kestrel", "Lapwing", "Meridian", "Nautilus", "Osprey", "Petrel",
)  # fmt: skip
_PORTS = ("Aberdeen", "Bergen", "Cadiz", "Danzig", "Esbjerg", "Faro", "Genoa", "Hull")
_CARGOES = ("timber", "salt", "coal", "grain", "wool", "oranges", "iron ore", "copper")
_PAGE_FIELDS = "/MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >>"
_PAGE = "BT /F1 9 Tf 1 0 0 1 50 795 Tm 12.5 TL\n{}\nET\n"


def logbook() -> bytes:
    """Return a ship's logbook: 420 lines, 11,000 tokens for the built-in model."""
    dice, day = random.Random(1), date(1886, 3, 4)
    lines = []
    for number in range(1, LOGBOOK_LINES + 1):
        wind, sky, work = (dice.choice(each) for each in (_WINDS, _SKIES, _WORK))
        entry = f"{dice.randint(20, 240)} miles, {wind}, {sky}, {work}"
        at = day + timedelta(days=number - 1)
        lines.append(LOGBOOK_VALUE if number == LOGBOOK_LINE else f"{at:%Y-%m-%d}: {entry}")
    return ("\n".join(lines) + "\n").encode()


def arrivals() -> Iterator[tuple[date, str, str, str, int]]:
    """Yield the arrivals of the harbour register: date, ship, port, cargo and tonnes."""
    dice, day = random.Random(2), date(1891, 1, 1)
    for number in range(REGISTER_PAGES * ARRIVALS_PER_PAGE):
        ship, port, cargo = (dice.choice(each) for each in (_SHIPS, _PORTS, _CARGOES))
        yield day + timedelta(days=number // 12), ship, port, cargo, dice.randint(20, 980)


def register() -> bytes:
    """Return the harbour register, a PDF of 300 pages with 12,000 arrivals."""
    rows = [
        f"{day:%Y-%m-%d}  {ship} from {port}, {tonnes} tonnes of {cargo}"
        for day, ship, port, cargo, tonnes in arrivals()
    ]
    pages = []
    for number in range(REGISTER_PAGES):
        head = f"Harbour register, page {number + 1} of {REGISTER_PAGES}"
        start = number * ARRIVALS_PER_PAGE
        lines = [head, "", *rows[start : start + ARRIVALS_PER_PAGE]]
        pages.append(_PAGE.format("\n".join(f"({line}) Tj T*" for line in lines)))
    return _pdf(pages)


def departures() -> bytes:
    """Return a JPEG that looks like a hand-held photograph of a departures board."""
    from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont

    dice, size = random.Random(3), (1100, 760)
    board = Image.new("RGB", (940, 600), "#14181d")
    draw = ImageDraw.Draw(board)
    draw.text((40, 26), "DEPARTURES", "#e8e3d4", ImageFont.load_default(44))
    for row, (at, city, platform) in enumerate(DEPARTURES):
        y, font = 110 + row * 66, ImageFont.load_default(38)
        draw.rectangle((30, y - 8, 910, y + 48), "#1c2229")
        for x, text in ((45, at), (220, city), (800, platform)):
            draw.text((x, y), text, "#f2b52b", font)
    photo = Image.new("RGB", size, "#5b6470")
    photo.paste(
        board.rotate(1.5, Image.Resampling.BICUBIC, expand=True, fillcolor="#5b6470"), (60, 40)
    )
    corners = (40, 0, 0, size[1] - 60, size[0], size[1], size[0] - 110, 50)
    photo = photo.transform(size, Image.Transform.QUAD, corners, Image.Resampling.BICUBIC)
    grain = Image.frombytes("L", size, dice.randbytes(size[0] * size[1])).point(
        [each // 3 for each in range(256)]
    )
    blurred = photo.filter(ImageFilter.GaussianBlur(1.4))
    photo = ImageChops.add(blurred, Image.merge("RGB", [grain] * 3), 1, -40)
    file = io.BytesIO()
    photo.save(file, "JPEG", quality=70)
    return file.getvalue()


GENERATED: Mapping[str, Callable[[], bytes]] = {
    "logbook.txt": logbook,
    "register.pdf": register,
    "board.jpg": departures,
}
"""The generated documents by name."""


def _pdf(pages: list[str]) -> bytes:
    """Return a PDF with a page for each content stream; its texts have no special characters."""
    first = 4
    kids = " ".join(f"{first + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {len(pages)} /Kids [{kids}] {_PAGE_FIELDS} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, page in enumerate(pages):
        content = zlib.compress(page.encode("ascii"), 9)
        objects += [
            b"<< /Type /Page /Parent 2 0 R /Contents %d 0 R >>" % (first + 2 * number + 1),
            b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream"
            % (len(content), content),
        ]
    body, offsets = bytearray(b"%PDF-1.4\n"), []
    for number, each in enumerate(objects, start=1):
        offsets.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    start, count = len(body), len(objects) + 1
    body += b"xref\n0 %d\n0000000000 65535 f \n" % count
    body += b"".join(b"%010d 00000 n \n" % each for each in offsets)
    body += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (count, start)
    return bytes(body)
