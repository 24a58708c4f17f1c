"""Extract a document's text and estimate its size in a prompt.

PDFs and office documents may be hostile: a separate process parses them, without network access
or our environment variables, as ``nobody`` if we are root, with limits on time and memory.
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

from agent.documents.isolation import import_encodings, leave_network, switch_to_nobody
from agent.documents.office import LockedError, read_office
from agent.documents.signatures import OLE_SIGNATURE, is_encrypted_office, is_office, is_pdf
from agent.errors import WorkspaceError
from agent.util.charset.guess import guess_encoding, system_languages
from agent.util.text import plural

MAX_TEXT = 32 * 1024**2  # bytes of a text file, or characters of another document's text
MAX_PDF = 256 * 1024**2  # bytes of a PDF or office document
PDF_SECONDS = 30
PDF_MEMORY = 1024**3

SCAN = "it may be a scan"
"""Is in the reason why a PDF without text has none."""

_ROOT = Path(__file__).resolve().parents[2]
_BYTE_ORDER_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_CONTROLS = frozenset(range(32)) - frozenset(b"\t\n\r\f\x1b\x08")


class NoText(WorkspaceError):
    """A PDF or office document without text; ``pages`` is None if their number is not known."""

    def __init__(self, message: str, pages: int | None) -> None:
        super().__init__(message)
        self.pages = pages


@dataclass(frozen=True, slots=True)
class Document:
    """The text of a document; ``assumed_encoding`` is set if the text is too short to tell it."""

    name: str
    text: str
    pages: int | None = None
    assumed_encoding: str = ""

    @property
    def words(self) -> int:
        """Number of words, separated by whitespace."""
        return len(self.text.split())

    @property
    def tokens(self) -> int:
        """Approximate number of tokens in a prompt: a quarter of the characters."""
        return math.ceil(len(self.text) / 4)


def extract_text(file: BinaryIO | Path, name: str = "") -> Document:
    """Extract the text of a text file, PDF or office document, on the host or open."""
    if isinstance(file, Path):
        try:
            opened = file.open("rb")
        except OSError as error:
            raise WorkspaceError(f"{file} cannot be read: {error.strerror}.") from error
        with opened:
            return extract_text(opened, name or file.name)
    file.seek(0)
    start = file.read(1024)
    if is_pdf(name, start):
        return _extract_in_subprocess(file, name, "PDF")
    if is_encrypted_office(file):
        raise _locked_error(name)
    if is_office(name, start):
        return _extract_in_subprocess(file, name, "document")
    if start.startswith(OLE_SIGNATURE):
        raise WorkspaceError(
            f"“{name}” is in an old format whose text cannot be read. Save it as .docx or .pptx."
        )
    file.seek(0)
    raw = file.read(MAX_TEXT + 1)
    if len(raw) > MAX_TEXT:
        raise WorkspaceError(f"“{name}” is larger than {MAX_TEXT // 1024**2} MB of text.")
    text, assumed = _decode(raw, name)
    return Document(name, text, assumed_encoding=assumed)


def _decode(raw: bytes, name: str) -> tuple[str, str]:
    """Return a text, and its encoding if guessed. Raises ``WorkspaceError`` for binary data."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if raw.startswith(mark):
            try:
                return raw.decode(encoding), ""
            except UnicodeDecodeError as error:
                raise _not_text_error(name) from error
    if b"\0" in raw:
        raise _not_text_error(name)
    try:
        return raw.decode(), ""
    except UnicodeDecodeError as error:
        if not _CONTROLS.isdisjoint(raw):
            raise _not_text_error(name) from error
        guess = guess_encoding(raw, error.start, system_languages())
        return raw.decode(guess.encoding, "replace"), guess.encoding if guess.assumed else ""


def _not_text_error(name: str) -> WorkspaceError:
    return WorkspaceError(f"“{name}” contains no text: it is neither a text file nor a document.")


def _locked_error(name: str) -> WorkspaceError:
    advice = "Open its preview to enter the password and save a copy without one."
    if not name.lower().endswith(".pdf"):
        advice = "Save it without a password."
    return WorkspaceError(f"“{name}” is protected with a password. {advice}")


def _extract_in_subprocess(file: BinaryIO, name: str, kind: str) -> Document:
    """Parse the file in a separate process, which receives it through a pipe."""
    command = [sys.executable, "-P", "-m", f"{__package__}.text", kind]
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
        if answer.get("locked"):
            raise _locked_error(name)
        if answer.get("too_large"):
            raise WorkspaceError(f"“{name}” contains more than {MAX_TEXT // 1024**2} MB of text.")
        text, pages = answer["text"], answer["pages"]
    except subprocess.TimeoutExpired as error:
        raise WorkspaceError(f"Reading “{name}” took too long; it may be damaged.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise WorkspaceError(f"“{name}” cannot be read as a {kind}; it may be damaged.") from error
    if not text.strip():
        many = plural(pages, "page") if pages else "pages"
        raise NoText(f"“{name}” has {many} but contains no text; {SCAN}.", pages)
    return Document(name, text, pages)


def read_pdf(raw: bytes) -> tuple[str, int]:
    """Return a PDF's text and page count, only in the subprocess: hostile files may crash it."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(raw)
    except pypdfium2.PdfiumError as error:
        if error.err_code == pypdfium2.raw.FPDF_ERR_PASSWORD:
            raise LockedError from None
        raise
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
    """Read a file from stdin and write its text as JSON, with resource limits."""
    kind = sys.argv[1]
    _isolate(kind)
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
    except LockedError:
        sys.stdout.write(json.dumps({"locked": True}))
    else:
        sys.stdout.write(json.dumps({"text": text, "pages": pages}))


def _isolate(kind: str) -> None:
    """Import the modules that the kind needs, then drop network access and privileges."""
    import_encodings()
    with suppress(ImportError):  # reading a file that needs the module reports the error
        importlib.import_module(_LIBRARIES[kind])
    leave_network()
    switch_to_nobody()


if __name__ == "__main__":
    main()
