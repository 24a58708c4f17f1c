"""Comparison of two contents of a file: as text, or by what a format says of its own making."""

import hashlib
import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import PurePosixPath
from typing import BinaryIO

from agent.replay.texts import TextComparison, Times, compare_lines, read_lines

MAX_BYTES = 16 * 1024**2
"""Contents up to this size are compared; larger ones only by their hash."""

_SAMPLE = 8192
_MAX_MEMBERS = 2_000
_PDF_OWN = re.compile(
    rb"/(?:CreationDate|ModDate)\s{0,4}\([^)]{0,60}\)|/ID\s{0,4}\[[^\]]{0,200}\]"
    rb"|<xmp:\w{1,20}Date>[^<]{0,60}</xmp:\w{1,20}Date>|uuid:[0-9a-fA-F-]{36}"
)
_PLOT_ID = re.compile(r"(?<=[#\"])(?:[mph]|C[0-9a-f]{1,3}_[0-9a-f]{1,3}_)[0-9a-f]{10}(?=[\")])")
"""Ids in an SVG of matplotlib, which are random."""

_RANDOM_IDS = "random identifiers"
OWN_DATES = "dates in the file's own record"
_DIFFERS = TextComparison("differs")


def compare_contents(
    path: str, recorded: BinaryIO, replayed: BinaryIO, times: Times
) -> TextComparison:
    """Compare different contents of at most ``MAX_BYTES``, by the path's suffix."""
    suffix = PurePosixPath(path).suffix.lower()
    one, other = recorded.read(_SAMPLE), replayed.read(_SAMPLE)
    recorded.seek(0)
    replayed.seek(0)
    if _is_text(one) and _is_text(other):
        return _compare_texts(suffix, recorded, replayed, times)
    if one[:2] == other[:2] == b"PK":
        return _compare_archives(recorded, replayed, times)
    if one[:5] == other[:5] == b"%PDF-":
        return _compare_without(_PDF_OWN, recorded.read(), replayed.read())
    if suffix == ".pyc":  # flags, time and size of the source: PEP 552
        return _volatile_if(recorded.read()[16:] == replayed.read()[16:])
    if one[:2] == other[:2] == b"\x1f\x8b":
        return _compare_gzip(recorded.read(), replayed.read())
    return _DIFFERS


def is_recompiled(recorded: str, replayed: bytes, at: float, limit: int) -> bool:
    """Whether a compiled file has this SHA-256 with another time of its source (PEP 552)."""
    if len(replayed) < 16 or replayed[4:8] != bytes(4):
        return False
    latest = int(at) + 1
    for seconds in range(latest, max(0, latest - limit // len(replayed)), -1):
        header = replayed[:8] + (seconds % 2**32).to_bytes(4, "little")
        if hashlib.sha256(header + replayed[12:]).hexdigest() == recorded:
            return True
    return False


def _compare_texts(
    suffix: str, recorded: BinaryIO, replayed: BinaryIO, times: Times
) -> TextComparison:
    found = compare_lines(read_lines(recorded), read_lines(replayed), times)
    if found.verdict != "differs" or suffix != ".svg":
        return found
    recorded.seek(0)
    replayed.seek(0)
    numbered = compare_lines(_number_ids(recorded), _number_ids(replayed), times)
    if numbered.verdict == "differs":
        return numbered
    return TextComparison("volatile", tuple(sorted({*numbered.rules, _RANDOM_IDS})))


def _number_ids(file: BinaryIO) -> Iterator[str]:
    """Yield the lines of an SVG with its random ids numbered by their first occurrence."""
    numbers: dict[str, int] = {}
    for line in read_lines(file):
        yield _PLOT_ID.sub(lambda found: f"id {numbers.setdefault(found[0], len(numbers))}", line)


def _is_text(sample: bytes) -> bool:
    if b"\0" in sample:
        return False
    try:
        sample.decode()
    except UnicodeDecodeError as error:
        return error.start > len(sample) - 4 and len(sample) == _SAMPLE
    return True


def _volatile_if(equal: bool) -> TextComparison:
    return TextComparison("volatile", (OWN_DATES,)) if equal else _DIFFERS


def _compare_without(own: re.Pattern[bytes], one: bytes, other: bytes) -> TextComparison:
    return _volatile_if(own.sub(b"", one) == own.sub(b"", other))


def _compare_gzip(one: bytes, other: bytes) -> TextComparison:
    """Compare what two files compress; the header holds a time."""
    with suppress(zlib.error, EOFError, OSError):
        return _volatile_if(_inflate(one) == _inflate(other))
    return _DIFFERS


def _inflate(data: bytes) -> bytes:
    inflater = zlib.decompressobj(wbits=31)
    content = inflater.decompress(data, MAX_BYTES)
    if inflater.unconsumed_tail or not inflater.eof:
        raise OSError("the content is too large")
    return content + inflater.unused_data


def _compare_archives(recorded: BinaryIO, replayed: BinaryIO, times: Times) -> TextComparison:
    """Compare the members of two archives, such as documents of an office; not their times."""
    try:
        with zipfile.ZipFile(recorded) as one, zipfile.ZipFile(replayed) as other:
            return _compare_members(one, other, times)
    except (zipfile.BadZipFile, OSError, ValueError, zlib.error, RuntimeError, NotImplementedError):
        return _DIFFERS


def _compare_members(one: zipfile.ZipFile, other: zipfile.ZipFile, times: Times) -> TextComparison:
    left, right = one.infolist(), other.infolist()
    names = [each.filename for each in left]
    if names != [each.filename for each in right] or len(names) > _MAX_MEMBERS:
        return _DIFFERS
    rules = {OWN_DATES}
    room = MAX_BYTES
    for first, second in zip(left, right, strict=True):
        if (first.CRC, first.file_size) == (second.CRC, second.file_size):
            continue
        room -= first.file_size + second.file_size
        if room < 0:
            return _DIFFERS
        # Beyond its stated size, zipfile refuses to read on.
        contents = [io.BytesIO(a.read(m)) for a, m in ((one, first), (other, second))]
        if not all(_is_text(content.getvalue()[:_SAMPLE]) for content in contents):
            return _DIFFERS
        before, now = map(_split_markup, contents)
        found = compare_lines(before, now, times)
        if found.verdict == "differs":
            return TextComparison("differs", diff=f"{first.filename}:\n{found.diff}")
        rules.update(found.rules)
    return TextComparison("volatile", tuple(sorted(rules)))


def _split_markup(file: BinaryIO) -> Iterator[str]:
    """Yield lines of XML, which is often one line, with one element each."""
    for line in read_lines(file):
        yield from line.replace("><", ">\n<").split("\n")
