"""The text of a document, and what it would cost to paste it into a prompt.

A PDF is taken apart by a large C++ library, an office document is a zip full of XML, and the
file is hostile: that happens in a process of its own, without the network and our environment,
as nobody where we are root, with limits on time and memory.
"""

import importlib
import json
import math
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from agent.errors import WorkspaceError
from agent.isolation import become_nobody, know_encodings, leave_network
from agent.office import read_office

MAX_TEXT = 32 * 1024**2
"""Bytes of a text file, or characters of a PDF's text, that are taken."""

MAX_PDF = 256 * 1024**2
"""Bytes of a PDF that are taken."""

PDF_SECONDS = 30
PDF_MEMORY = 1024**3

_ROOT = Path(__file__).resolve().parent.parent
_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_OFFICE = (".docx", ".pptx", ".xlsx", ".odt", ".ods", ".docm", ".xlsm", ".pptm")
_CONTROLS = frozenset(range(32)) - frozenset(b"\t\n\r\f\x1b\x08")


@dataclass(frozen=True, slots=True)
class Document:
    """A document as text.

    Attributes:
        name: Its file name.
        text: What it says.
        pages: Pages or slides; None for what has none, or does not say.
    """

    name: str
    text: str
    pages: int | None = None

    @property
    def words(self) -> int:
        """Runs of characters between white space."""
        return len(self.text.split())

    @property
    def tokens(self) -> int:
        """About how many tokens its text costs in a prompt: a quarter of its characters."""
        return math.ceil(len(self.text) / 4)


def text_of(file: BinaryIO | Path, name: str = "") -> Document:
    """The text of a document: a text file in a usual encoding, a PDF, an office document.

    Args:
        file: A path of the host, or an open file (from ``Workspace.open_read``, say), which
            is read from its start and left open.
        name: What to call it; by default the path's last name.

    Raises:
        WorkspaceError: it holds no text that can be pasted, or cannot be read; says why.
    """
    if isinstance(file, Path):
        try:
            opened = file.open("rb")
        except OSError as error:
            raise WorkspaceError(f"{file} cannot be read: {error.strerror}.") from error
        with opened:
            return text_of(opened, name or file.name)
    file.seek(0)
    head = file.read(1024).lstrip()
    if head.startswith(b"%PDF-"):
        return _apart(file, name, "PDF")
    if head.startswith(b"PK\3\4") and name.lower().endswith(_OFFICE):
        return _apart(file, name, "document")
    file.seek(0)
    raw = file.read(MAX_TEXT + 1)
    if len(raw) > MAX_TEXT:
        raise WorkspaceError(f"“{name}” is larger than {MAX_TEXT // 1024**2} MB of text.")
    return Document(name, decode(raw, name))


def decode(raw: bytes, name: str) -> str:
    """Bytes as text: by their mark (UTF-8, -16, -32), else as UTF-8, else as Latin-1.

    Raises:
        WorkspaceError: this is no text: it has NUL or other control characters in it.
    """
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            try:
                return raw.decode(encoding)
            except UnicodeDecodeError as error:
                raise _no_text(name) from error
    if b"\0" in raw:
        raise _no_text(name)
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        if not _CONTROLS.isdisjoint(raw):
            raise _no_text(name) from error
        return raw.decode("latin-1")


def _no_text(name: str) -> WorkspaceError:
    return WorkspaceError(f"“{name}” cannot be pasted as text: it is neither text nor a document.")


def _apart(file: BinaryIO, name: str, kind: str) -> Document:
    """Let a process of its own read the file, fed through a pipe."""
    command = [sys.executable, "-P", "-m", "agent.documents", kind]
    environment = {"PYTHONPATH": str(_ROOT), "PATH": os.defpath, "LANG": "C.UTF-8"}
    file.seek(0)
    raw = file.read(MAX_PDF + 1)
    if len(raw) > MAX_PDF:
        raise WorkspaceError(f"“{name}” is larger than {MAX_PDF // 1024**2} MB.")
    try:
        done = subprocess.run(
            command,
            input=raw,
            capture_output=True,
            env=environment,
            cwd="/",
            timeout=2 * PDF_SECONDS,
            check=False,
        )
        answer = json.loads(done.stdout)
        if answer.get("too_large"):
            raise WorkspaceError(f"“{name}” holds more than {MAX_TEXT // 1024**2} MB of text.")
        text, pages = answer["text"], answer["pages"]
    except subprocess.TimeoutExpired as error:
        raise WorkspaceError(f"“{name}” took too long to read; it may be damaged.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise WorkspaceError(f"“{name}” cannot be read as a {kind}; it may be damaged.") from error
    if not text.strip():
        many = f"{pages} pages" if pages else "pages"
        raise WorkspaceError(f"“{name}” has {many} but no text in it; it may be a scan.")
    return Document(name, text, pages)


def read_pdf(raw: bytes) -> tuple[str, int]:
    """The text of a PDF's pages, a form feed between them, and how many pages it has.

    For the process of its own, and only there: the library may crash on a hostile file.

    Raises:
        pypdfium2.PdfiumError: it is no PDF, or it needs a password.
        OverflowError: there are more than ``MAX_TEXT`` characters in it.
    """
    import pypdfium2

    document = pypdfium2.PdfDocument(raw)
    pages, size = [], 0
    for number in range(len(document)):
        page = document[number].get_textpage().get_text_range()
        size += len(page)
        if size > MAX_TEXT:
            raise OverflowError("too much text")
        pages.append(page.replace("\r\n", "\n"))
    return "\f".join(pages), len(document)


_READERS: dict[str, Callable[[bytes], tuple[str, int | None]]] = {
    "PDF": read_pdf,
    "document": read_office,
}
_LIBRARIES = {"PDF": "pypdfium2", "document": "python_calamine"}


def main() -> None:
    """Read a file from standard input, write its text as JSON: alone, and within limits."""
    kind = sys.argv[1]
    _give_up(kind)
    resource.setrlimit(resource.RLIMIT_AS, (PDF_MEMORY, PDF_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (PDF_SECONDS, PDF_SECONDS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        text, pages = _READERS[kind](sys.stdin.buffer.read())
        if len(text) > MAX_TEXT:
            raise OverflowError("too much text")
    except OverflowError:
        sys.stdout.write(json.dumps({"too_large": True}))
    else:
        sys.stdout.write(json.dumps({"text": text, "pages": pages}))


def _give_up(kind: str) -> None:
    """Leave the network and our user; what the kind needs is imported before."""
    know_encodings()
    with suppress(ImportError):  # a file that needs it says so
        importlib.import_module(_LIBRARIES[kind])
    leave_network()
    become_nobody()


if __name__ == "__main__":
    main()
