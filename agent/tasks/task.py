"""A task with a known answer: one JSON object in the paper's format.

    {"id": "a-1", "domain": "letters", "problem_statement": "When …?", "ground_truth": "B",
     "input_files": {"letters/anna.txt": "Dear …", "map.png": {"base64": "iVBO…"},
                     "report.pdf": {"path": "files/report.pdf"}},
     "qa_type": "single_choice"}

A path is relative to the folder of the file that contains the record.
"""

import base64
import binascii
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast, get_args

from agent.errors import WorkspaceError
from agent.grading.checks import Expected
from agent.util.text import quote
from agent.workspace import paths
from agent.workspace.paths import RelPath

QaType = Literal["single_choice", "multiple_choice", "open_ended", "exact"]
MAX_FILES = 10_000
_CHUNK = 1024**2

NO_TYPE = (
    "is missing: nothing says how answers are compared. If these are the paper's rows, name their "
    "suite: --suite"
)
_REQUIRED = ("id", "problem_statement", "ground_truth", "qa_type")
_KEYS = (*_REQUIRED, "domain", "input_files")
_CHOICE_PATTERNS = {"single_choice": re.compile("[A-Z]"), "multiple_choice": re.compile("[A-Z]+")}


@dataclass(frozen=True, slots=True)
class HostFile:
    """A host file: ``path`` below ``folder``, opened without following links."""

    folder: Path
    path: RelPath

    def open(self) -> BinaryIO:
        """Open the file; the caller closes it. Raises ``WorkspaceError``."""
        try:
            with paths.host_folder_fd(self.folder) as folder:
                return os.fdopen(paths.open_file(folder, self.path), "rb")
        except OSError as error:
            raise paths.to_workspace_error(error, self.path) from error


Content = str | bytes | HostFile


def chunks_of(content: Content) -> Iterator[bytes]:
    """Yield the content of a task's file. Raises ``WorkspaceError``."""
    if isinstance(content, HostFile):
        with content.open() as file:
            while chunk := file.read(_CHUNK):
                yield chunk
    else:
        yield content if isinstance(content, bytes) else content.encode()


def size_of(content: Content) -> int:
    """Return the number of bytes of a task's file. Raises ``WorkspaceError``."""
    if isinstance(content, HostFile):
        with content.open() as file:
            return file.seek(0, 2)
    return len(content if isinstance(content, bytes) else content.encode())


class InvalidRecord(ValueError):
    """An invalid record; ``key`` is the invalid key and the message gives the reason."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(f"{key}: {reason}")
        self.key = key


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """A task with a known answer; of a choice, its letters, ``B`` or ``ACD``.

    ``qa_type`` says how an answer is rewarded (``scoring.reward``); ``exact`` is not in the paper.
    A task of a suite has an ``expected`` answer instead.
    """

    id: str
    problem_statement: str
    ground_truth: str
    qa_type: QaType
    domain: str = ""
    input_files: Mapping[str, Content] = field(default_factory=dict)
    expected: Expected | None = None


def from_json(value: object, folder: Path) -> TaskRecord:
    """Parse a record; paths in it are relative to ``folder``. Raises ``InvalidRecord``."""
    if not isinstance(value, dict):
        raise InvalidRecord("the line", "is not a JSON object")
    for key in value:
        if key not in _KEYS:
            raise InvalidRecord(quote(key), f"unknown key; the keys are {', '.join(_KEYS)}")
    if "qa_type" not in value and "problem_statement" in value:
        raise InvalidRecord("qa_type", NO_TYPE)
    for key in _REQUIRED:
        if not _get_text(value, key).strip():
            raise InvalidRecord(key, "is missing or empty")
    task = TaskRecord(
        id=_get_text(value, "id"),
        problem_statement=_get_text(value, "problem_statement"),
        ground_truth=_get_text(value, "ground_truth"),
        qa_type=_qa_type(_get_text(value, "qa_type")),
        domain=_get_text(value, "domain"),
        input_files=parse_files(value.get("input_files"), folder),
    )
    _check_truth(task)
    return task


def to_json(task: TaskRecord) -> dict[str, Any]:
    """Return the record as a JSON value, with host files as paths."""
    return {
        "id": task.id,
        "domain": task.domain,
        "problem_statement": task.problem_statement,
        "ground_truth": task.ground_truth,
        "input_files": {name: _content_to_json(each) for name, each in task.input_files.items()},
        "qa_type": task.qa_type,
    }


def _get_text(value: dict[str, Any], key: str) -> str:
    text = value.get(key, "")
    if not isinstance(text, str):
        raise InvalidRecord(key, f"must be a text, not {type(text).__name__}")
    return _check_encodable(text, key)


def _check_encodable(text: str, key: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidRecord(key, "contains a lone surrogate, which is not valid text") from error
    return text


def _qa_type(text: str) -> QaType:
    if text not in get_args(QaType):
        raise InvalidRecord("qa_type", f"{quote(text)} is not one of {', '.join(get_args(QaType))}")
    return cast(QaType, text)


def _check_truth(task: TaskRecord) -> None:
    form = _CHOICE_PATTERNS.get(task.qa_type)
    if form and not form.fullmatch(task.ground_truth):
        few = "one letter" if task.qa_type == "single_choice" else "letters, such as ACD"
        raise InvalidRecord("ground_truth", f"{quote(task.ground_truth)} must be {few}")


def parse_files(value: object, folder: Path) -> dict[str, Content]:
    """Return files by name, from an object or its JSON; paths are relative to ``folder``."""
    if value is None:
        return {}
    if isinstance(value, str):
        value = _parse_json_text(value)
    if not isinstance(value, dict):
        raise InvalidRecord("input_files", "must be an object: name → text, path or base64")
    if len(value) > MAX_FILES:
        raise InvalidRecord("input_files", f"has {len(value):,} files; the maximum is {MAX_FILES}")
    found = {
        _check_file_name(name): _parse_content(name, each, folder) for name, each in value.items()
    }
    folders = {above for name in found for above in _parent_folders(name)}
    for name in found.keys() & folders:
        raise InvalidRecord(f"input_files[{quote(name)}]", "is a file and a folder at once")
    return found


def _parse_json_text(text: str) -> object:
    """Parse an object encoded as a string, a form the reference data also uses."""
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidRecord("input_files", "is a text that is not valid JSON") from error
    return found


def _check_file_name(name: str) -> str:
    key = f"input_files[{quote(name)}]"
    try:
        return RelPath(_check_encodable(f"input/{name}", key)).removeprefix("input/")
    except WorkspaceError as error:
        raise InvalidRecord(key, str(error)) from error


def _parent_folders(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def _parse_content(name: str, value: object, folder: Path) -> Content:
    key = f"input_files[{quote(name)}]"
    match value:
        case str():
            return _check_encodable(value, key)
        case {"path": str(path), **rest} if not rest:
            try:
                return HostFile(folder, RelPath(path))
            except WorkspaceError as error:
                raise InvalidRecord(key, str(error)) from error
        case {"base64": str(text), **rest} if not rest:
            try:
                return base64.b64decode(text, validate=True)
            except (binascii.Error, ValueError) as error:
                raise InvalidRecord(key, "is not base64") from error
    raise InvalidRecord(key, 'must be a text, {"path": …} or {"base64": …}')


def _content_to_json(content: Content) -> str | dict[str, str]:
    if isinstance(content, bytes):
        return {"base64": base64.b64encode(content).decode()}
    return {"path": str(content.path)} if isinstance(content, HostFile) else content
