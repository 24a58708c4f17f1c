"""Long context: AA-LCR, questions about sets of documents of about 100,000 tokens.

``AA-LCR_Dataset.csv`` has the fields ``question_id``, ``question``, ``answer``,
``document_category``, ``document_set_id`` and ``data_source_filenames``, which are separated by
semicolons. The documents are text files ``lcr/<category>/<set>/<file>`` in
``extracted_text/AA-LCR_extracted-text.zip``, or in the folder where it was unpacked.
"""

import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from agent.errors import TaskError, WorkspaceError
from agent.experiments.suite import EvalTask, Suite, SuiteLimits
from agent.experiments.suites.records import Record, data_files, decode, read_records
from agent.grading.judge import judge_prompt
from agent.tasks.task import HostFile
from agent.util.text import quote
from agent.workspace.paths import RelPath

SOURCE = "https://huggingface.co/datasets/ArtificialAnalysis/AA-LCR"
PATTERNS = ("AA-LCR_Dataset.csv", "*.csv", "*.jsonl", "*.parquet")
ARCHIVE = "AA-LCR_extracted-text.zip"

MAX_DOCUMENTS = 200  # of a question
MAX_DOCUMENT_BYTES = 16 * 1024**2
MAX_ARCHIVE_ENTRIES = 10_000
JUDGE_PROMPT = judge_prompt(
    "Decide whether an answer to a question about documents is right. It is right if it is "
    "consistent with the official answer: all that the official answer states, and nothing that "
    "contradicts it; wording, order and format do not matter.",
    "question",
    "official_answer",
)

SUITE = Suite(
    name="aa_lcr",
    title="AA-LCR",
    domain="long context",
    prompt="long_context",
    scorer="judge",
    licence="Apache-2.0",
    source=SOURCE,
    limits=SuiteLimits(conversation_tokens=131_072),
    repetitions=4,
    judge_prompt=JUDGE_PROMPT,
)

_Reader = Callable[[Record, RelPath], str]


def tasks(path: Path) -> Iterator[EvalTask]:
    """Yield the tasks of a folder, or of a table beside its documents. Raises ``TaskError``."""
    files = data_files(path, PATTERNS, SOURCE)
    texts: dict[RelPath, str] = {}
    with ExitStack() as resources:
        read = _document_reader(path if path.is_dir() else path.parent, resources)
        for record in read_records(files):
            documents = {}
            for place in _places(record):
                if place not in texts:
                    texts[place] = read(record, place)
                documents[place.rpartition("/")[2]] = texts[place]
            yield EvalTask(
                id=record.text("question_id"),
                text=record.text("question"),
                expected=record.text("answer"),
                scorer="judge",
                group=record.text("document_category"),
                inputs=documents,
            )


def _places(record: Record) -> list[RelPath]:
    """Return the documents' paths; a name cannot leave the folder of its set."""
    field = "data_source_filenames"
    names = [name.strip() for name in record.text(field).split(";") if name.strip()]
    if len(names) > MAX_DOCUMENTS:
        raise record.error(field, f"has {len(names)} names; the maximum is {MAX_DOCUMENTS}")
    folders = [record.text(name) for name in ("document_category", "document_set_id")]
    found = []
    for name in names:
        parts = [*folders, name]
        if any("/" in part or "\\" in part or part in (".", "..") for part in parts):
            raise record.error(field, f"{quote('/'.join(parts))} is not a folder, a set and a file")
        try:
            found.append(RelPath("/".join(parts)))
        except WorkspaceError as error:
            raise record.error(field, f"{quote(name)}: {error}") from error
    if len(set(found)) < len(found):
        raise record.error(field, "has a name twice")
    return found


def _document_reader(folder: Path, resources: ExitStack) -> _Reader:
    """Return what reads a document: from an unpacked folder, or from the archive."""
    for unpacked in (folder / "lcr", folder / "extracted_text" / "lcr", folder / "extracted_text"):
        if unpacked.is_dir() and not (unpacked / ARCHIVE).is_file():
            return lambda record, place: _read_file(record, unpacked, place)
    for archive in _archives(folder):
        try:
            opened = resources.enter_context(zipfile.ZipFile(archive))
        except (zipfile.BadZipFile, OSError) as error:
            raise TaskError(f"{archive} cannot be read: {error}.") from error
        if len(opened.infolist()) > MAX_ARCHIVE_ENTRIES:
            raise TaskError(f"{archive} has more than {MAX_ARCHIVE_ENTRIES:,} files.")
        return lambda record, place: _read_member(record, opened, place)
    raise TaskError(
        f"{folder} has neither the folder lcr nor extracted_text/{ARCHIVE}. "
        f"Download the documents from {SOURCE}."
    )


def archives(path: Path) -> list[Path]:
    """Return the archive with the documents, if they are read from one."""
    folder = path if path.is_dir() else path.parent
    return [] if (folder / "lcr").is_dir() else _archives(folder)


def _archives(folder: Path) -> list[Path]:
    """Return the archive in a folder, if there is one."""
    places = (folder / "extracted_text" / ARCHIVE, folder / ARCHIVE)
    return [each for each in places if each.is_file()][:1]


def _read_file(record: Record, folder: Path, place: RelPath) -> str:
    try:
        with HostFile(folder, place).open() as file:
            return _decoded(record, place, file.read(MAX_DOCUMENT_BYTES + 1))
    except (WorkspaceError, OSError) as error:
        raise record.error("data_source_filenames", f"{folder / place}: {error}") from error


def _read_member(record: Record, archive: zipfile.ZipFile, place: RelPath) -> str:
    name = f"lcr/{place}"
    try:
        with archive.open(name) as file:
            return _decoded(record, place, file.read(MAX_DOCUMENT_BYTES + 1))
    except KeyError as error:
        raise record.error(
            "data_source_filenames", f"{quote(name)} is not in {archive.filename}"
        ) from error
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError,
            NotImplementedError) as error:  # fmt: skip
        raise record.error(
            "data_source_filenames", f"{quote(name)} in {archive.filename}: {error}"
        ) from error


def _decoded(record: Record, place: RelPath, content: bytes) -> str:
    if len(content) > MAX_DOCUMENT_BYTES:
        raise record.error(
            "data_source_filenames", f"{quote(place)} is larger than {MAX_DOCUMENT_BYTES:,} bytes"
        )
    return decode(Path(place), content)
