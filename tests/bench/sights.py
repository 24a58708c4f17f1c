"""Files to be looked at, small and huge, made as cheaply as they can be."""

import io
import json
import shutil
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from docx import Document
from PIL import Image, ImageDraw

Make = Callable[[Path, float], None]
"""Writes a file; the number is the part of its full size that is wanted."""

_FILES = Path(__file__).parents[1] / "preview" / "files"
_MB = 10**6


@dataclass(frozen=True)
class Sight:
    """A file that is looked at.

    Attributes:
        name: The file's name; its ending says the kind.
        about: What it is, for the table.
        make: What writes it.
    """

    name: str
    about: str
    make: Make


def repeated(unit: str, size: float, before: str = "", after: str = "") -> Make:
    """A text that says the same again and again, ``{}`` being the number of the repetition."""

    def make(path: Path, part: float) -> None:
        with path.open("w") as file:
            file.write(before)
            block = "".join(unit.replace("{}", str(number)) for number in range(20_000))
            for _ in range(max(1, int(size * part / len(block)))):
                file.write(block)
            file.write(after)

    return make


def small(text: str) -> Make:
    """A text."""

    def make(path: Path, _part: float) -> None:
        path.write_text(text)

    return make


def _between(path: Path, size: int, edge: bytes) -> None:
    """A file with something at both its ends and a hole between."""
    with path.open("wb") as file:
        file.write(edge)
        file.seek(size - len(edge))
        file.write(edge)


def _log(path: Path, part: float) -> None:
    lines = "".join(f"2026-11-20 10:00:00 INFO request {number}\n" for number in range(30_000))
    _between(path, int(2 * 1024**3 * part) + 2 * len(lines), lines.encode())


def _sound(path: Path, part: float) -> None:
    size = int(1e9 * part) // 4 * 4
    head = b"RIFF" + (size + 36).to_bytes(4, "little") + b"WAVEfmt \x10\0\0\0\x01\0\x02\0"
    head += (44100).to_bytes(4, "little") + (176400).to_bytes(4, "little") + b"\x04\0\x10\0data"
    _between(path, size + 44, head + size.to_bytes(4, "little"))


def _image(side: int) -> Make:
    def make(path: Path, part: float) -> None:
        size = max(100, int(side * part**0.5))
        Image.new("RGB", (size, size), (31, 111, 92)).save(path, compress_level=1)

    return make


def _paper(pages: int) -> Make:
    def make(path: Path, part: float) -> None:
        def leaf(number: int) -> Image.Image:
            made = Image.new("L", (595, 842), 255)
            ImageDraw.Draw(made).text((72, 72), f"Page {number}", fill=0, font_size=24)
            return made

        leaves: Iterator[Image.Image] = map(leaf, range(2, max(1, int(pages * part)) + 1))
        leaf(1).save(path, "PDF", save_all=True, append_images=leaves)

    return make


def _database(size: float) -> Make:
    def make(path: Path, part: float) -> None:
        with closing(sqlite3.connect(path)) as base, base:
            base.execute("create table rows (number integer primary key, name text, content blob)")
            count = max(10, int(size * part / _MB))
            base.executemany(
                "insert into rows values (?, ?, zeroblob(?))",
                ((number, f"row {number}", int(size * part / count)) for number in range(count)),
            )

    return make


def _archive(members: int) -> Make:
    def make(path: Path, part: float) -> None:
        with zipfile.ZipFile(path, "w") as packed:
            for number in range(max(3, int(members * part))):
                packed.writestr(f"folder {number // 100}/{number}.txt", "content")

    return make


def _document(paragraphs: int) -> Make:
    def make(path: Path, part: float) -> None:
        made = Document()
        for number in range(max(3, int(paragraphs * part))):
            made.add_paragraph(f"Paragraph {number} of a document.")
        content = io.BytesIO()
        made.save(content)
        path.write_bytes(content.getvalue())

    return make


def _copy(name: str) -> Make:
    def make(path: Path, _part: float) -> None:
        shutil.copyfile(_FILES / name, path)

    return make


_ROW = "{},name {},3.14,2026-11-20\n"
_NOTEBOOK = {
    "cells": [{"cell_type": "markdown", "metadata": {}, "source": ["# A notebook"]}],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 5,
}
SIGHTS = (
    Sight("small.py", "a program", small("def f(x):\n    return 'x'  # y\n" * 40)),
    Sight("huge.log", "a log of 2 GB", _log),
    Sight("small.md", "Markdown", small("# Title\n\nSome *words* and $x^2$.\n")),
    Sight("huge.md", "Markdown of 1 MB", repeated("Some *words*, {}.\n\n", _MB)),
    Sight("small.json", "JSON", small(json.dumps({"a": [1, 2, {"b": None}]}))),
    Sight(
        "huge.json", "JSON of 12 MB", repeated(',\n{"id": {}, "name": "n"}', 12 * _MB, "[0", "]")
    ),
    Sight("huge.jsonl", "JSON lines of 1 GB", repeated('{"id": {}, "name": "n"}\n', 1e9)),
    Sight("small.png", "a picture", _image(400)),
    Sight("huge.png", "a picture of 100 MP", _image(10_000)),
    Sight("small.pdf", "a PDF page", _paper(1)),
    Sight("huge.pdf", "a PDF of 500 pages", _paper(500)),
    Sight("small.html", "an HTML page", small("<h1>Title</h1>")),
    Sight("small.csv", "a table", small("a,b\n1,2\n3,4\n")),
    Sight("huge.csv", "a table of 200 MB", repeated(_ROW, 200 * _MB, "number,name,value,day\n")),
    Sight("small.sqlite", "a database", _database(_MB)),
    Sight("huge.sqlite", "a database of 1 GB", _database(1e9)),
    Sight("huge.wav", "sound of 1 GB", _sound),
    Sight("small.mp4", "a film", _copy("film.mp4")),
    Sight("small.ipynb", "a notebook", small(json.dumps(_NOTEBOOK))),
    Sight("small.docx", "a document", _document(3)),
    Sight("huge.docx", "a document of 2,000 paragraphs", _document(2000)),
    Sight("small.zip", "an archive", _archive(3)),
    Sight("huge.zip", "an archive of 20,000 files", _archive(20_000)),
)
"""What is looked at; another kind is another line."""
