"""Import a file: find its format, and write each of its traces as a run."""

import json
import shutil
import stat
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.data_folder import random_id
from agent.errors import TraceError
from agent.runs.folder import RunFolder
from agent.traces.documents import Document, part
from agent.traces.fields import Fields
from agent.traces.formats import (
    atif,
    inspect_log,
    messages,
    mini_swe_agent,
    reference,
    sts,
    swe_agent,
)
from agent.traces.import_budget import ImportBudget
from agent.traces.journal_items import ORIGIN_FILE
from agent.traces.json_reader import JsonReader
from agent.traces.own.export import open_export
from agent.traces.own.run_import import FORMAT as OWN_FORMAT
from agent.traces.own.run_import import RunImport
from agent.traces.recording import write_journal
from agent.traces.trace import Item, Start, Trace
from agent.workspace.versions.blobs import BlobStore

MAX_TRACES = 500  # traces in one file
MAX_FILE_BYTES = 1024**3
SCRATCH = "imports"  # the folder of the data folder for files that are being received or read
_MAX_ORIGIN_CHARACTERS = 1024 * 1024
KNOWN_FORMATS = (
    "ATIF, the reference's trajectory.json, mini-swe-agent's .traj.json, SWE-agent's .traj, "
    "Inspect's logs, messages of OpenAI's and Anthropic's APIs (JSON Lines), Hugging Face session "
    "traces, and runs of this program (journal.jsonl or run.zip)"
)
Reader = Callable[[Fields, JsonReader], Trace]


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """An imported run: its id, its format, and the file's title, which may be empty."""

    run: str
    format: str
    title: str


@dataclass(frozen=True, slots=True)
class _Found:
    format: str
    title: str
    trace: Trace


def import_file(
    path: Path,
    data: Path,
    *,
    name: str = "",
    owner: str = "",
    space: int | None = None,
    blobs: BlobStore | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> list[ImportedRun]:
    """Import all traces of a file, or of an exported run's folder; or none of them.

    ``space`` is in bytes, ``blobs`` the data folder's store if this process has opened it. Raises
    ``TraceError``, or ``OSError`` if a run cannot be written.
    """
    name = name or path.name
    scratch = data / SCRATCH
    scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
    budget = ImportBudget(name, space, stopped, scratch=scratch)
    folders = list[RunFolder]()

    def create(format: str) -> RunFolder:
        folders.append(_create(data, owner, format))
        return folders[-1]

    try:
        _check(path, name)
        with open_export(path, name) as export:
            if export is None:
                return _import_traces(path, name, create, budget)
            run = create(OWN_FORMAT)
            RunImport(export, run, blobs or BlobStore(data / "blobs"), budget).write()
            return [ImportedRun(run.id, OWN_FORMAT, "")]
    except BaseException:
        for folder in folders:
            shutil.rmtree(folder.path, ignore_errors=True)
            shutil.rmtree(folder.sandbox_folder, ignore_errors=True)
        raise


def _import_traces(
    path: Path, name: str, create: Callable[[str], RunFolder], budget: ImportBudget
) -> list[ImportedRun]:
    runs = list[ImportedRun]()
    for found in find_traces(path, name, budget):
        if len(runs) >= MAX_TRACES:
            raise TraceError(f"{name}: more than {MAX_TRACES} traces. Split the file.")
        folder = create(found.format)
        write_journal(folder, _with_origin(found.trace, folder), found.title or name, budget)
        runs.append(ImportedRun(folder.id, found.format, found.title))
    if not runs:
        raise TraceError(f"{name}: the file has no traces.")
    return runs


def _check(path: Path, name: str) -> None:
    try:
        info = path.stat()
    except OSError as error:
        raise TraceError(f"{name} cannot be read: {error.strerror}.") from error
    if stat.S_ISREG(info.st_mode) and info.st_size > MAX_FILE_BYTES:
        raise TraceError(f"{name}: more than 1 GB. Split the file.")
    if not stat.S_ISREG(info.st_mode) and not stat.S_ISDIR(info.st_mode):
        raise TraceError(f"{name} is neither a file nor a folder.")


def _create(data: Path, owner: str, format: str) -> RunFolder:
    folder = RunFolder.create(data, random_id(), owner, imported=format)
    for name in ("input", "output"):
        (folder.sandbox_folder / "workspace" / name).mkdir(parents=True, exist_ok=True)
    for each in (folder.sandbox_folder.parent, folder.sandbox_folder):
        each.chmod(0o700)
    return folder


def _with_origin(trace: Trace, folder: RunFolder) -> Iterator[Item]:
    """Yield a trace; store its agent and its tools' definitions, which a journal does not have."""
    for item in trace:
        if isinstance(item, Start):
            text = json.dumps({"agent": item.agent, "tools": item.tools})
            if len(text) > _MAX_ORIGIN_CHARACTERS:
                text = json.dumps({"agent": item.agent})
            (folder.path / ORIGIN_FILE).write_text(text)
        yield item


def find_traces(path: Path, name: str, budget: ImportBudget) -> Iterator[_Found]:
    """Yield the traces of a file that is not an exported run."""
    whole = Document(lambda: path.open("rb"), name, budget)
    if zipfile.is_zipfile(path):
        for title, trace in inspect_log.samples_of_eval(whole, path):
            yield _Found("Inspect", title, trace)
        return
    with whole.reader() as reader:
        mark = reader.kind()
    head, names = whole.head()
    if mark not in ("{", "[") or (mark == "{" and not names):
        raise _unknown(name)
    format, read = _format_of(head, names)
    if read is not None:
        with whole.reader() as reader:
            yield _Found(format, _title(head), read(head, reader))
    elif format == "Inspect":
        for title, trace in inspect_log.samples_of_json(whole):
            yield _Found(format, title, trace)
    else:
        yield from (_conversations if format == "Messages" else _benchmark)(whole)


def _format_of(head: Fields, names: frozenset[str]) -> tuple[str, Reader | None]:
    """Return the name of a format and its reader; None if the file may have several traces."""
    if head.values.get("schema_version", "") and "steps" in names:
        return "ATIF", atif.read
    if "messages" in names and ("trajectory_format" in names or {"info"} <= names):
        return "mini-swe-agent", mini_swe_agent.read
    if "trajectory" in names and "info" in names:
        return "SWE-agent", swe_agent.read
    if "history" in names and "trajectory" not in names:
        return "SWE-agent", swe_agent.read_history
    if "problem_statement" in names and names & {"steps", "trajectory"}:
        return "trajectory.json", reference.read
    if {"version", "eval", "status"} <= names:
        return "Inspect", None
    if head.values.get("type") == "session" and "harness" in names:
        return "STS", sts.read
    if "role" in names:
        return "Messages", messages.read
    if "messages" in names or not names:
        return "Messages", None
    return "trajectory.json", None


def _title(head: Fields) -> str:
    for name in ("name", "environment", "session_id"):
        value = head.values.get(name)
        if isinstance(value, str):
            return value[:200]
    return ""


def _conversations(whole: Document) -> Iterator[_Found]:
    """Yield conversations of OpenAI messages, one after another or in a list, itself none."""
    with whole.reader() as reader:
        if _is_list_of_conversations(whole):
            for number in reader.elements():
                yield from _conversation(reader, whole, number + 1)
            return
        yield from _conversation(reader, whole, 1)
        for number, _ in enumerate(reader.documents(), 2):
            yield from _conversation(reader, whole, number)


def _is_list_of_conversations(whole: Document) -> bool:
    with whole.reader() as reader:
        for _ in reader.elements() if reader.kind() == "[" else ():
            return reader.kind() == "[" or (
                reader.kind() == "{" and any(name == "messages" for name in reader.members())
            )
    return False


def _conversation(reader: JsonReader, whole: Document, number: int) -> Iterator[_Found]:
    with part(reader, whole) as document:
        head, names = document.head()
        with document.reader() as inner:
            is_list = inner.kind() == "["
        if "messages" not in names and not is_list:
            raise TraceError(f"{head.place}: “messages” is missing.")
        with document.reader() as inner:
            yield _Found("Messages", f"{whole.name}, {number}", messages.read(head, inner))


def _benchmark(whole: Document) -> Iterator[_Found]:
    """Yield the trajectories of a file of the reference's benchmark."""
    with whole.reader() as reader:
        for key in reader.members():
            if reader.kind() != "{":
                raise _unknown(whole.name)
            with part(reader, whole) as document:
                head, names = document.head()
                if not {"problem_statement", "trajectory"} <= names:
                    raise _unknown(whole.name)
                with document.reader() as inner:
                    yield _Found("trajectory.json", key[:200], reference.read(head, inner))


def _unknown(name: str) -> TraceError:
    return TraceError(f"{name}: none of the known formats. Known are {KNOWN_FORMATS}.")
