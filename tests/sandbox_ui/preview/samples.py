"""Sample files of every kind: good, empty, truncated, hostile and mislabelled."""

import gzip
import json
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from pptx import Presentation

from tests.sandbox_ui.preview.data import test_archive
from tests.sandbox_ui.preview.data.archives import make_zip
from tests.sandbox_ui.preview.documents import test_docx, test_pptx
from tests.sandbox_ui.preview.documents.pdf_files import PdfPage, make_pdf
from tests.sandbox_ui.preview.media import test_audio, test_midi, test_svg
from tests.sandbox_ui.preview.media.fonts import collection, font_tables, installed_font, truetype
from tests.sandbox_ui.preview.media.images import encode_image, stripes
from tests.sandbox_ui.preview.tables import test_table
from tests.sandbox_ui.preview.tables.test_sqlite import make_database
from tests.sandbox_ui.preview.text import test_notebook

FILES = Path(__file__).parent / "files"
SCRIPT = "<script>window.hacked=1</script><img src=x onerror=window.hacked=1>"
FOREIGN = "http://foreign.example/a.png"
NAME = "<img src=x onerror=window.hacked=1>"
UNPLAYABLE = "This browser cannot play this video"
EMPTY_TEXT = ".position:text-is('empty')"
NOT_LOADED = "[role=status]:has-text('not loaded')"
DOWNLOAD = "a:text-is('Download')"


@dataclass(frozen=True)
class Sample:
    """A file and its expected preview.

    Attributes:
        text: Text that the preview pane contains.
        selector: Selector of an element that must be visible.
    """

    name: str
    content: bytes
    text: str
    selector: str = ""


def first_half(content: bytes) -> bytes:
    return content[: len(content) // 2]


DATABASE = make_database(f"""
    CREATE TABLE people(id INTEGER PRIMARY KEY, name TEXT);
    INSERT INTO people(name) VALUES ('Ada'), ('{SCRIPT}');
    CREATE TABLE padding(x BLOB); INSERT INTO padding VALUES (zeroblob(90000));
""")


def svg(body: str) -> bytes:
    head = '<svg xmlns="http://www.w3.org/2000/svg" width="200" height="100">'
    return f"{head}<rect width='200' height='100' fill='teal'/>{body}</svg>".encode()


PNG = encode_image(stripes(400, 300), "png")
NOISE = encode_image(Image.effect_noise((400, 300), 90).convert("RGB"), "jpeg")
PDF = make_pdf([PdfPage([f"Line {at}" for at in range(20)]) for _ in range(3)])
BOOK = test_table.make_workbook(test_table.fill_sheets)
DOCUMENT = test_docx.make_docx(test_docx.fill_letter)
NOTEBOOK = test_notebook.make_notebook(
    test_notebook.markdown_cell("# Lakes"),
    test_notebook.code_cell("print(1)", test_notebook.display_output(text__plain="1")),
)
EVIL_NOTEBOOK = test_notebook.make_notebook(
    test_notebook.markdown_cell(SCRIPT),
    test_notebook.code_cell(SCRIPT, test_notebook.display_output(text__html=SCRIPT)),
)
ZIP = make_zip({"notes/a.txt": b"inside " * 999, "b.csv": b"a,b\n1,2\n"})
WAV = test_audio.wav_tone()
MIDI = test_midi.midi_file(test_midi.ascending_notes())
EVIL_PAGE = (
    f"<!doctype html><p>A page.</p>{SCRIPT}<img src='{FOREIGN}'><script>try {{ parent.hacked = 1 }}"
    "catch {}; document.body.append('ran alone')</script>"
)

EVIL_NOTES = (
    f"words {SCRIPT} ![p]({FOREIGN}) [l](javascript:window.hacked=1) [m](data:text/html,{SCRIPT})"
    f" $\\href{{javascript:window.hacked=1}}{{x}}$\n\n{'> ' * 3000}deep"
)
EVIL_PDF = make_pdf([PdfPage([NAME], entries="/AA<</O<</S/JavaScript/JS(app.alert(1))>>>>")])
EVIL_MIDI = test_midi.midi_file([(0, "track_name", {"name": NAME}), *test_midi.ascending_notes()])
EVIL_SVG = test_svg.HOSTILE.replace("ELSEWHERE", "http://127.0.0.1:9")
EVIL_JSON = json.dumps({SCRIPT: SCRIPT, "__proto__": {"a": 1}}).encode()

_SAMPLES: dict[str, list[Sample]] = {
    "text": [
        Sample("good.py", b"def f(x):\n    return x\n", "return x"),
        Sample("cut.txt", "Größe".encode()[:-2], "Gr"),
        Sample("evil.log", SCRIPT.encode(), "<script>"),
    ],
    "markdown": [
        Sample("good.md", b"# Report\n\n| a | b |\n|---|---|\n| x | 1 |\n", "Report", "table"),
        Sample("cut.md", b"# Report\n\n```python\nx = 1", "x = 1", "h1"),
        Sample("evil.md", EVIL_NOTES.encode(), "image at foreign.example"),
        Sample("mislabelled.md", PDF, "3 pages", "img"),
    ],
    "image": [
        Sample("good.png", PNG, "400 × 300", "img"),
        Sample("cut.png", first_half(PNG), "The file is truncated", "img"),
        Sample("cut.jpg", first_half(NOISE), "The file is truncated", "img"),
        Sample("evil.png", PNG[:33] + SCRIPT.encode() + PNG[33:], "damaged"),
        Sample("mislabelled.png", b"just words\n", "no readable image", DOWNLOAD),
    ],
    "svg": [
        Sample("good.svg", svg("<circle r='30'/>"), "200 × 100", "img"),
        Sample("good.svgz", gzip.compress(svg("<circle r='30'/>")), "200 × 100", "img"),
        Sample("cut.svg", first_half(svg("<circle r='30'/>")), "cannot be read from", DOWNLOAD),
        Sample("cut.prefix.svg", svg("<g who:knows='1'/>"), "browser cannot display", DOWNLOAD),
        Sample("evil.bomb.svg", test_svg.nested_use_bomb(12).encode(), "repeats its", DOWNLOAD),
        Sample("evil.svg", EVIL_SVG.encode(), "Scripts are disabled", NOT_LOADED),
    ],
    "pdf": [
        Sample("good.pdf", PDF, "3 pages", "img"),
        Sample("cut.pdf", first_half(PDF), "cannot", DOWNLOAD),
        Sample("cut.tail.pdf", PDF[: PDF.index(b"startxref")], "truncated", "img"),
        Sample("evil.pdf", EVIL_PDF, "1 page"),
        Sample("mislabelled.pdf", b"just words\n", "cannot be read"),
    ],
    "html": [
        Sample("good.html", b"<!doctype html><h1>A page</h1>", "A page", "iframe"),
        Sample("cut.html", b"<!doctype html><h1>A pa", "A pa", "iframe"),
        Sample("evil.html", EVIL_PAGE.encode(), "ran alone", "iframe"),
    ],
    "audio": [
        Sample("good.wav", WAV, "0:02"),
        Sample("good.mp3", (FILES / "tone.mp3").read_bytes(), "0:0"),
        Sample("cut.wav", WAV[:20_044], "truncated: 0.8 s"),
        Sample("evil.mp3", SCRIPT.encode(), "This browser cannot play this audio", DOWNLOAD),
    ],
    "midi": [
        Sample("good.mid", MIDI, "4 notes"),
        Sample("empty.tracks.mid", test_midi.midi_file([]), "There are no notes in this file."),
        Sample("cut.mid", MIDI[:-12], "note"),
        Sample("evil.mid", EVIL_MIDI, NAME),
        Sample("mislabelled.mid", b"just words\n", "not a MIDI file"),
    ],
    "video": [
        Sample("good.webm", (FILES / "film.webm").read_bytes(), "×", "video"),
        Sample("cut.mp4", (FILES / "film.mp4").read_bytes()[:40], UNPLAYABLE, DOWNLOAD),
        Sample("evil.webm", b"\x1aE\xdf\xa3" + SCRIPT.encode(), UNPLAYABLE, DOWNLOAD),
        Sample("evil.ogv", (FILES / "film.ogv").read_bytes(), UNPLAYABLE, DOWNLOAD),
    ],
    "table": [
        Sample("good.csv", b"city,people\nParis,2\nRome,3\n", "Paris"),
        Sample("good.xlsx", BOOK, "Figures"),
        Sample("good.parquet", test_table.parquet({"city": ["Paris", SCRIPT]}), "Paris"),
        Sample("cut.csv", b'city,people\nParis,2\n"Ro', "Paris"),
        Sample("cut.xlsx", first_half(BOOK), "damaged"),
        Sample("evil.csv", f"city,{NAME}\n{SCRIPT},=cmd()\n".encode(), "<script>"),
    ],
    "database": [
        Sample("good.db", DATABASE, "people"),
        Sample("cut.db", DATABASE[:5000], "malformed"),
        Sample("evil.db", DATABASE[:100] + SCRIPT.encode() * 99, "cannot"),
        Sample("mislabelled.db", b"just words\n", "not an SQLite database"),
    ],
    "json": [
        Sample("good.json", b'{"lakes": [1, 2], "name": "Como"}', "lakes"),
        Sample("good.yaml", b"lakes:\n  - Como\n", "Como"),
        Sample("good.jsonl", b'{"a": 1}\n{"a": 2}\n', "2"),
        Sample("cut.json", b'{"lakes": [1, 2', "lakes"),
        Sample("evil.json", EVIL_JSON, "<script>", "text=__proto__"),
        Sample("evil.large.json", b"[" + b" " * (17 * 1024**2) + b"]", "16 MB", "[role=alert]"),
    ],
    "notebook": [
        Sample("good.ipynb", NOTEBOOK, "Lakes"),
        Sample("empty.cells.ipynb", test_notebook.make_notebook(), "no cells"),
        Sample("cut.ipynb", first_half(NOTEBOOK), "damaged or truncated"),
        Sample("evil.ipynb", EVIL_NOTEBOOK, "<script>"),
        Sample("mislabelled.ipynb", b"just words\n", "damaged or truncated"),
    ],
    "document": [
        Sample("good.docx", DOCUMENT, "First part", "table"),
        Sample("empty.text.docx", test_docx.make_docx(lambda _: None), "no text"),
        Sample("cut.docx", first_half(DOCUMENT), "cannot"),
        Sample("evil.docx", DOCUMENT, NAME),
    ],
    "slides": [
        Sample("good.pptx", test_pptx.make_deck(3), "The lake"),
        Sample("empty.deck.pptx", test_pptx.save_presentation(Presentation()), "no slides"),
        Sample("cut.pptx", first_half(test_pptx.make_deck()), "cannot"),
        Sample("evil.pptx", test_pptx.make_deck(), NAME),
        Sample("mislabelled.pptx", ZIP, "not a presentation"),
    ],
    "archive": [
        Sample("good.zip", ZIP, "a.txt"),
        Sample("good.tar", test_archive.make_tar(), "tar"),
        Sample("empty.members.zip", make_zip({}), "empty", ".empty"),
        Sample("cut.zip", first_half(ZIP), "damaged or truncated", DOWNLOAD),
        Sample("cut.gz", first_half(gzip.compress(ZIP)), "damaged or truncated"),
        Sample("evil.zip", make_zip({f"../{NAME}": b"x", "/etc/passwd": b"x"}), NAME),
        Sample("mislabelled.zip", b"just words\n", "not an archive"),
    ],
    "font": [
        Sample("good.ttf", installed_font(), "DejaVu Serif"),
        Sample("good.ttc", collection(installed_font(), installed_font()), "DejaVu Serif"),
        Sample("cut.ttf", first_half(installed_font()), "damaged or truncated", DOWNLOAD),
        Sample("evil.shape.ttf", truetype(font_tables("x")), "cannot display this", "[role=alert]"),
        Sample("evil.ttf", truetype(font_tables(NAME)), NAME),
    ],
    "hex": [
        Sample("good.bin", b"\0\1hello" * 3, "00 01 68 65 6c 6c 6f", "text=··hello"),
        Sample("cut.npy", b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f4'", "NumPy"),
        Sample("evil.bin", b"\0" + SCRIPT.encode(), "<script>"),
    ],
}  # fmt: skip


def _with_empty_and_mislabelled(kind: str, samples: list[Sample]) -> list[Sample]:
    """Add an empty file for each suffix of the good ones, and an image, unless one is given."""
    names = [sample.name.partition(".") for sample in samples]
    suffixes = [suffix for name, _, suffix in names if name == "good"]
    text, selector = ("empty", EMPTY_TEXT) if kind in ("text", "hex") else ("is empty", "")
    empty = [Sample(f"empty.{suffix}", b"", text, selector) for suffix in suffixes]
    if any(name == "mislabelled" for name, _, _ in names):
        return [*samples, *empty]
    return [*samples, *empty, Sample(f"mislabelled.{suffixes[0]}", PNG, "400 × 300", "img")]


SAMPLES = {kind: _with_empty_and_mislabelled(kind, samples) for kind, samples in _SAMPLES.items()}
