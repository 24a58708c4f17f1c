"""The files of an exported run: a folder, a zip file, or its journal alone."""

import os
import re
import stat
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

from agent.errors import JournalError, TraceError
from agent.events import RunStarted, decode
from agent.runs.compatibility import rename_earlier
from agent.traces.zip_members import ZipMembers, open_zip

MAX_LINE_BYTES = 16 * 1024**2
MAX_LINES = 500_000  # of one file
_TEXT = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
JOURNAL, MANIFESTS, CONTENTS, OUTPUTS, FILES = (
    "journal.jsonl", "manifests.jsonl", "contents/", "outputs/", "files/",
)  # fmt: skip
MAX_MEMBERS = 25_000  # files in an export
Opener = Callable[[], BinaryIO]


@dataclass(frozen=True, slots=True)
class Export:
    """The files of an exported run: what opens each, by its path."""

    name: str
    members: Mapping[str, Opener]


@contextmanager
def open_export(path: Path, name: str) -> Iterator[Export | None]:
    """Open an exported run, a folder, zip file or journal, for the block; None if it is none."""
    if path.is_dir():
        members = _members_of_folder(path, name)
        if JOURNAL not in members:
            raise TraceError(f"{name}: the folder is not an exported run: it has no {JOURNAL}.")
        yield Export(name, members)
    elif zipfile.is_zipfile(path):
        with open_zip(path, name) as archive:
            found = _members_of_zip(archive)
            if JOURNAL in found:
                _check_count(len(found), name)
            yield Export(name, found) if JOURNAL in found else None
    else:
        yield Export(name, {JOURNAL: _opener(path)}) if _is_journal(path, name) else None


def _is_journal(path: Path, name: str) -> bool:
    try:
        with path.open("rb") as file:
            line = file.readline(MAX_LINE_BYTES)
    except OSError as error:
        raise TraceError(f"{name} cannot be read: {error.strerror}.") from error
    try:
        return isinstance(decode(rename_earlier(line.rstrip(b"\n"))), RunStarted)
    except JournalError:
        return False


def _members_of_folder(folder: Path, name: str) -> dict[str, Opener]:
    members: dict[str, Opener] = {}
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for each in sorted(names):
            path = Path(parent, each)
            if stat.S_ISREG(path.lstat().st_mode):
                members[path.relative_to(folder).as_posix()] = _opener(path)
        _check_count(len(members), name)
    return members


def _members_of_zip(archive: ZipMembers) -> dict[str, Opener]:
    return {
        member: partial(archive.open, member)
        for member, info in archive.infos.items()
        if not info.is_dir() and stat.S_IFMT(info.external_attr >> 16) in (0, stat.S_IFREG)
    }


def _opener(path: Path) -> Opener:
    return lambda: path.open("rb")


def _check_count(count: int, name: str) -> None:
    if count > MAX_MEMBERS:
        raise TraceError(f"{name}: more than {MAX_MEMBERS:,} files.")


def read_lines(file: BinaryIO, name: str, max_values: int) -> Iterator[tuple[str, bytes]]:
    """Yield complete lines with their places; ``max_values`` limits the values in each."""
    number = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        place = f"{name}, line {number}"
        if len(line) > MAX_LINE_BYTES:
            raise TraceError(f"{place}: more than 16 MB.")
        if number > MAX_LINES:
            raise TraceError(f"{name}: more than {MAX_LINES:,} lines.")
        if not line.endswith(b"\n"):
            return
        if _has_more_values(line, max_values):
            raise TraceError(f"{place}: more than {max_values:,} values.")
        yield place, line[:-1]


def _has_more_values(line: bytes, most: int) -> bool:
    if line.count(b'"') // 2 + _brackets(line, 0, len(line)) <= most:
        return False  # even with the brackets in texts
    count = at = 0
    while (text := line.find(b'"', at)) >= 0 and count <= most:
        count += 1 + _brackets(line, at, text)
        found = _TEXT.match(line, text)
        at = found.end() if found else len(line)
    return count + _brackets(line, at, len(line)) > most


def _brackets(line: bytes, start: int, end: int) -> int:
    return line.count(b"[", start, end) + line.count(b"{", start, end)
