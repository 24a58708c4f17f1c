"""Small and huge files for previews, generated cheaply."""

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

FileWriter = Callable[[Path, float], None]
"""Writes a file, scaled to a fraction of its full size."""

_FILES = Path(__file__).parents[2] / "sandbox_ui" / "preview" / "files"
_MB = 10**6


@dataclass(frozen=True)
class PreviewFile:
    """A file to preview.

    Attributes:
        name: The file's name, with the suffix of its kind.
        description: Its description in the table.
        write: The function that writes it.
    """

    name: str
    description: str
    write: FileWriter


def repeated_text(unit: str, size: float, prefix: str = "", suffix: str = "") -> FileWriter:
    """A text with a repeated unit, in which ``{}`` is replaced by a number."""

    def write(path: Path, scale: float) -> None:
        with path.open("w") as file:
            file.write(prefix)
            block = "".join(unit.replace("{}", str(number)) for number in range(20_000))
            for _ in range(max(1, int(size * scale / len(block)))):
                file.write(block)
            file.write(suffix)

    return write


def text_file(text: str) -> FileWriter:
    """A file with this text."""

    def write(path: Path, _scale: float) -> None:
        path.write_text(text)

    return write


def _sparse_file(path: Path, size: int, ends: bytes) -> None:
    """Write a sparse file with data at both ends."""
    with path.open("wb") as file:
        file.write(ends)
        file.seek(size - len(ends))
        file.write(ends)


def _log(path: Path, scale: float) -> None:
    lines = "".join(f"2026-11-20 10:00:00 INFO request {number}\n" for number in range(30_000))
    _sparse_file(path, int(2 * 1024**3 * scale) + 2 * len(lines), lines.encode())


def _sound(path: Path, scale: float) -> None:
    size = int(1e9 * scale) // 4 * 4
    head = b"RIFF" + (size + 36).to_bytes(4, "little") + b"WAVEfmt \x10\0\0\0\x01\0\x02\0"
    head += (44100).to_bytes(4, "little") + (176400).to_bytes(4, "little") + b"\x04\0\x10\0data"
    _sparse_file(path, size + 44, head + size.to_bytes(4, "little"))


def _image(side: int) -> FileWriter:
    def write(path: Path, scale: float) -> None:
        size = max(100, int(side * scale**0.5))
        Image.new("RGB", (size, size), (31, 111, 92)).save(path, compress_level=1)

    return write


def _pdf(pages: int) -> FileWriter:
    def write(path: Path, scale: float) -> None:
        def render_page(number: int) -> Image.Image:
            made = Image.new("L", (595, 842), 255)
            ImageDraw.Draw(made).text((72, 72), f"Page {number}", fill=0, font_size=24)
            return made

        pages_to_append: Iterator[Image.Image] = map(
            render_page, range(2, max(1, int(pages * scale)) + 1)
        )
        render_page(1).save(path, "PDF", save_all=True, append_images=pages_to_append)

    return write


def _database(size: float) -> FileWriter:
    def write(path: Path, scale: float) -> None:
        with closing(sqlite3.connect(path)) as database, database:
            database.execute(
                "create table rows (number integer primary key, name text, content blob)"
            )
            count = max(10, int(size * scale / _MB))
            database.executemany(
                "insert into rows values (?, ?, zeroblob(?))",
                ((number, f"row {number}", int(size * scale / count)) for number in range(count)),
            )

    return write


def _archive(members: int) -> FileWriter:
    def write(path: Path, scale: float) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            for number in range(max(3, int(members * scale))):
                archive.writestr(f"folder {number // 100}/{number}.txt", "content")

    return write


def _document(paragraphs: int) -> FileWriter:
    def write(path: Path, scale: float) -> None:
        made = Document()
        for number in range(max(3, int(paragraphs * scale))):
            made.add_paragraph(f"Paragraph {number} of a document.")
        content = io.BytesIO()
        made.save(content)
        path.write_bytes(content.getvalue())

    return write


def _copy(name: str) -> FileWriter:
    def write(path: Path, _scale: float) -> None:
        shutil.copyfile(_FILES / name, path)

    return write


_ROW = "{},name {},3.14,2026-11-20\n"
_NOTEBOOK = {
    "cells": [{"cell_type": "markdown", "metadata": {}, "source": ["# A notebook"]}],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 5,
}
PREVIEW_FILES = (
    PreviewFile("small.py", "a program", text_file("def f(x):\n    return 'x'  # y\n" * 40)),
    PreviewFile("huge.log", "a log of 2 GB", _log),
    PreviewFile("small.md", "Markdown", text_file("# Title\n\nSome *words* and $x^2$.\n")),
    PreviewFile("huge.md", "Markdown of 1 MB", repeated_text("Some *words*, {}.\n\n", _MB)),
    PreviewFile("small.json", "JSON", text_file(json.dumps({"a": [1, 2, {"b": None}]}))),
    PreviewFile(
        "huge.json",
        "JSON of 12 MB",
        repeated_text(',\n{"id": {}, "name": "n"}', 12 * _MB, "[0", "]"),
    ),
    PreviewFile(
        "huge.jsonl", "JSON lines of 1 GB", repeated_text('{"id": {}, "name": "n"}\n', 1e9)
    ),
    PreviewFile("small.png", "a picture", _image(400)),
    PreviewFile("huge.png", "a picture of 100 MP", _image(10_000)),
    PreviewFile("small.pdf", "a PDF page", _pdf(1)),
    PreviewFile("huge.pdf", "a PDF of 500 pages", _pdf(500)),
    PreviewFile("small.html", "an HTML page", text_file("<h1>Title</h1>")),
    PreviewFile("small.csv", "a table", text_file("a,b\n1,2\n3,4\n")),
    PreviewFile(
        "huge.csv", "a table of 200 MB", repeated_text(_ROW, 200 * _MB, "number,name,value,day\n")
    ),
    PreviewFile("small.sqlite", "a database", _database(_MB)),
    PreviewFile("huge.sqlite", "a database of 1 GB", _database(1e9)),
    PreviewFile("huge.wav", "sound of 1 GB", _sound),
    PreviewFile("small.mp4", "a film", _copy("film.mp4")),
    PreviewFile("small.ipynb", "a notebook", text_file(json.dumps(_NOTEBOOK))),
    PreviewFile("small.docx", "a document", _document(3)),
    PreviewFile("huge.docx", "a document of 2,000 paragraphs", _document(2000)),
    PreviewFile("small.zip", "an archive", _archive(3)),
    PreviewFile("huge.zip", "an archive of 20,000 files", _archive(20_000)),
)
"""The previewed files."""
