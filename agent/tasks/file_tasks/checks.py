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

from agent.tasks.file_tasks.task import Files, Test, outputs

Check = Callable[[Files], bool]

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_STREAM = re.compile(rb"stream\r?\n(.*?)endstream", re.DOTALL)
_KERNING = re.compile(rb"\)\s*-?[\d.]+\s*\(")
_LARGEST_STREAM = 1_000_000
_LONGEST_ANSWER = 60


def at(path: str, test: Test, *, named: bool) -> Check:
    """Check that ``path`` passes the test; if not ``named``, any file in ``output/``."""

    def check(files: Files) -> bool:
        made = outputs(files)
        meant = [made[path]] if path in made else []
        return any(test(data) for data in (meant if named else made.values()))

    return check


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace("\r\n", "\n")


def _trimmed(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").split("\n")]


def text(expected: str) -> Test:
    """Test for a text, ignoring trailing white space and surrounding blank lines."""
    return lambda data: _trimmed(_text(data)) == _trimmed(expected)


def same_lines(expected: str) -> Test:
    """Test for the lines of a text, in any order."""
    return lambda data: sorted(_trimmed(_text(data))) == sorted(_trimmed(expected))


def number(expected: float, tolerance: float = 0.006) -> Test:
    """Test for a single number within ``tolerance`` of the expected one."""

    def test(data: bytes) -> bool:
        found = _NUMBER.findall(_text(data).replace(",", ""))
        return len(found) == 1 and math.isclose(float(found[0]), expected, abs_tol=tolerance)

    return test


def holds(expected: str) -> Test:
    """Test for a short answer that contains a value, ignoring case and white space."""
    wanted = " ".join(expected.lower().split())

    def test(data: bytes) -> bool:
        found = " ".join(_text(data).lower().split())
        return wanted in found and len(found) <= len(wanted) + _LONGEST_ANSWER

    return test


def contains(*parts: str) -> Test:
    """Test for a text that contains all of the parts."""
    return lambda data: all(part in _text(data) for part in parts)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, ties: int = -1) -> Test:
    """Test for a CSV table.

    Args:
        head: Column names.
        rows: Expected rows.
        ties: Index of the sort column, within whose equal values rows may be in any order; -1
            if the order of rows must be exact.
    """
    wanted = [list(head), *map(list, rows)]

    def test(data: bytes) -> bool:
        try:
            found = [row for row in csv.reader(io.StringIO(_text(data))) if row]
        except csv.Error:
            return False
        if ties < 0:
            return _equal(found, wanted)
        by_key = [[row[ties]] if len(row) == len(head) else [] for row in found]
        keys = [[row[ties]] for row in wanted]
        ordered = (sorted(found, key=_plain), sorted(wanted, key=_plain))
        return _equal(by_key, keys) and _equal(*ordered)

    return test


def _plain(row: Sequence[str]) -> list[str]:
    return [cell.removesuffix(".0") for cell in row]


def _equal(found: Sequence[Sequence[str]], wanted: Sequence[Sequence[str]]) -> bool:
    return len(found) == len(wanted) and all(
        len(one) == len(other) and all(map(_same, one, other))
        for one, other in zip(found, wanted, strict=True)
    )


def _same(found: str, wanted: str) -> bool:
    try:
        return math.isclose(float(found), float(wanted), abs_tol=1e-6)
    except ValueError:
        return found.strip() == wanted.strip()


def records(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Test:
    """Test for a JSON list with one object per row."""

    def test(data: bytes) -> bool:
        try:
            found = json.loads(data)
        except (ValueError, RecursionError):
            return False
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            return False
        heads = all(list(each) == list(head) for each in found)
        return heads and _equal([list(map(str, each.values())) for each in found], rows)

    return test


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Test:
    """Test for a Markdown table."""

    def test(data: bytes) -> bool:
        lines = [line.strip() for line in _text(data).strip().split("\n")]
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        ruled = len(cells) > 1 and all(set(cell) <= set("-:") and cell for cell in cells[1])
        return ruled and _equal([cells[0], *cells[2:]], [head, *rows])

    return test


def pdf(*words: str) -> Test:
    """Test for a PDF document whose text contains the words."""

    def test(data: bytes) -> bool:
        if not data.startswith(b"%PDF-"):
            return False
        streams = _KERNING.sub(b"", b" ".join(map(_inflated, _STREAM.findall(data))))
        return all(word.encode() in streams for word in words)

    return test


def _inflated(packed: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(packed, _LARGEST_STREAM)
    except zlib.error:
        return packed


def archive(expected: Mapping[str, bytes]) -> Test:
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
