"""Check whether files have the requested content; invalid content never raises."""

import csv
import io
import json
import lzma
import math
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence

from agent.tasks.file_tasks.task import ContentCheck, Files, output_files

FilesCheck = Callable[[Files], bool]

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_STREAM = re.compile(rb"stream\r?\n(.*?)endstream", re.DOTALL)
_KERNING = re.compile(rb"\)\s*-?[\d.]+\s*\(")
_MAX_STREAM_BYTES = 1_000_000
_MAX_EXTRA_CHARS = 60


def output_file(path: str, content_check: ContentCheck, *, exact_path: bool) -> FilesCheck:
    """Check that ``path`` passes the test; if not ``exact_path``, any file in ``output/``."""

    def check(files: Files) -> bool:
        found_files = output_files(files)
        at_path = [found_files[path]] if path in found_files else []
        return any(
            content_check(data) for data in (at_path if exact_path else found_files.values())
        )

    return check


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace("\r\n", "\n")


def _stripped_lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").split("\n")]


def text_equals(expected: str) -> ContentCheck:
    """Test for a text, ignoring trailing white space and surrounding blank lines."""
    return lambda data: _stripped_lines(_decode(data)) == _stripped_lines(expected)


def same_lines(expected: str) -> ContentCheck:
    """Test for the lines of a text, in any order."""
    return lambda data: sorted(_stripped_lines(_decode(data))) == sorted(_stripped_lines(expected))


def number_equals(expected: float, tolerance: float = 0.006) -> ContentCheck:
    """Test for a single number within ``tolerance`` of the expected one."""

    def test(data: bytes) -> bool:
        found = _NUMBER.findall(_decode(data).replace(",", ""))
        return len(found) == 1 and math.isclose(float(found[0]), expected, abs_tol=tolerance)

    return test


def short_answer(expected: str) -> ContentCheck:
    """Test for a short answer that contains a value, ignoring case and white space."""
    wanted = " ".join(expected.lower().split())

    def test(data: bytes) -> bool:
        found = " ".join(_decode(data).lower().split())
        return wanted in found and len(found) <= len(wanted) + _MAX_EXTRA_CHARS

    return test


def contains_all(*parts: str) -> ContentCheck:
    """Test for a text that contains all of the parts."""
    return lambda data: all(part in _decode(data) for part in parts)


def csv_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, sort_column: int = -1
) -> ContentCheck:
    """Test for a CSV table; rows with equal values in the sort column may be in any order."""
    wanted = [list(header), *map(list, rows)]

    def test(data: bytes) -> bool:
        try:
            found = [row for row in csv.reader(io.StringIO(_decode(data))) if row]
        except csv.Error:
            return False
        if sort_column < 0:
            return _rows_equal(found, wanted)
        by_key = [[row[sort_column]] if len(row) == len(header) else [] for row in found]
        keys = [[row[sort_column]] for row in wanted]
        ordered = (sorted(found, key=_normalized_row), sorted(wanted, key=_normalized_row))
        return _rows_equal(by_key, keys) and _rows_equal(*ordered)

    return test


def _normalized_row(row: Sequence[str]) -> list[str]:
    return [cell.removesuffix(".0") for cell in row]


def _rows_equal(found: Sequence[Sequence[str]], wanted: Sequence[Sequence[str]]) -> bool:
    return len(found) == len(wanted) and all(
        len(one) == len(other) and all(map(_cells_equal, one, other))
        for one, other in zip(found, wanted, strict=True)
    )


def _cells_equal(found: str, wanted: str) -> bool:
    try:
        return math.isclose(float(found), float(wanted), abs_tol=1e-6)
    except ValueError:
        return found.strip() == wanted.strip()


def json_records(header: Sequence[str], rows: Sequence[Sequence[str]]) -> ContentCheck:
    """Test for a JSON list with one object per row."""

    def test(data: bytes) -> bool:
        try:
            found = json.loads(data)
        except (ValueError, RecursionError):
            return False
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            return False
        heads = all(list(each) == list(header) for each in found)
        return heads and _rows_equal([list(map(str, each.values())) for each in found], rows)

    return test


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> ContentCheck:
    """Test for a Markdown table."""

    def test(data: bytes) -> bool:
        lines = [line.strip() for line in _decode(data).strip().split("\n")]
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        ruled = len(cells) > 1 and all(set(cell) <= set("-:") and cell for cell in cells[1])
        return ruled and _rows_equal([cells[0], *cells[2:]], [header, *rows])

    return test


def pdf_words(*words: str) -> ContentCheck:
    """Test for a PDF document whose text contains the words."""

    def test(data: bytes) -> bool:
        if not data.startswith(b"%PDF-"):
            return False
        streams = _KERNING.sub(b"", b" ".join(map(_inflate, _STREAM.findall(data))))
        return all(word.encode() in streams for word in words)

    return test


def _inflate(packed: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(packed, _MAX_STREAM_BYTES)
    except zlib.error:
        return packed


def zip_archive(expected: Mapping[str, bytes]) -> ContentCheck:
    """Test for a zip archive of exactly these files, in any folder."""

    def test(data: bytes) -> bool:
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as opened:
                infos = [each for each in opened.infolist() if not each.is_dir()]
                if any(each.file_size > 1_000_000 for each in infos):
                    return False
                found = {each.filename.rsplit("/", 1)[-1]: opened.read(each) for each in infos}
        except (
            zipfile.BadZipFile,
            zlib.error,
            lzma.LZMAError,
            OSError,
            ValueError,
            EOFError,
            NotImplementedError,
            RuntimeError,
        ):
            return False
        return found == dict(expected)

    return test
