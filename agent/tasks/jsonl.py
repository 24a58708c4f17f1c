"""JSON Lines files of tasks and answers: read line by line, written atomically."""

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from agent.errors import TaskError
from agent.tasks.task import HostFile, InvalidRecord, TaskRecord, from_json, to_json
from agent.util.text import quote

MAX_LINE_BYTES = 256 * 1024**2


def read_tasks(path: Path) -> Iterator[TaskRecord]:
    """Yield the tasks in a file, in order; a ``TaskError`` names file, line and key."""
    seen: dict[str, int] = {}
    for number, value in parse_lines(path):
        try:
            task = from_json(value, path.parent.resolve())
            _check_unique_id(task.id, seen, number)
        except InvalidRecord as error:
            raise TaskError(f"{path}, line {number}: {error}") from error
        yield task


def read_answers(path: Path) -> dict[str, str | None]:
    """Read lines ``{"id": …, "answer": …}`` by task id; None means no answer."""
    seen: dict[str, int] = {}
    answers: dict[str, str | None] = {}
    for number, value in parse_lines(path):
        try:
            name, answer = _parse_answer(value)
            _check_unique_id(name, seen, number)
        except InvalidRecord as error:
            raise TaskError(f"{path}, line {number}: {error}") from error
        answers[name] = answer
    return answers


def write_tasks(path: Path, tasks: Iterable[TaskRecord]) -> int:
    """Write tasks atomically; return their number. Their files must be below the file's folder."""
    count = 0
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                for count, task in enumerate(tasks, start=1):  # noqa: B007 - used as the count
                    file.write(_format_line(task, path))
            Path(name).chmod(0o644)
            Path(name).replace(path)
        finally:
            with suppress(FileNotFoundError):
                Path(name).unlink()
    except OSError as error:
        raise TaskError(f"{path} cannot be written: {error.strerror}.") from error
    return count


def parse_lines(path: Path) -> Iterator[tuple[int, object]]:
    """Yield the number and value of each line that is not empty."""
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > MAX_LINE_BYTES:
                    raise TaskError(
                        f"{path}, line {number}: the line exceeds {MAX_LINE_BYTES} bytes."
                    )
                if line.strip():
                    yield number, _parse_line(line, f"{path}, line {number}")
    except OSError as error:
        raise TaskError(f"{path} cannot be read: {error.strerror}.") from error


def _format_line(task: TaskRecord, path: Path) -> str:
    here = path.parent.resolve()
    for name, content in task.input_files.items():
        if isinstance(content, HostFile) and content.folder.resolve() != here:
            raise TaskError(
                f"{path}: {quote(name)} of {quote(task.id)} is not below the folder of this file."
            )
    return json.dumps(to_json(task), ensure_ascii=False) + "\n"


def _parse_line(line: bytes, where: str) -> object:
    try:
        return json.loads(line.decode("utf-8-sig"), object_pairs_hook=_object_without_duplicates)
    except InvalidRecord as error:
        raise TaskError(f"{where}: {error}") from error
    except (ValueError, RecursionError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise TaskError(f"{where}: not valid JSON: {why}") from error


def _object_without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object; raise an error for a duplicate key, which ``json`` ignores."""
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        duplicate = next(name for name in names if names.count(name) > 1)
        raise InvalidRecord(quote(duplicate), "is a duplicate key")
    return result


def _parse_answer(value: object) -> tuple[str, str | None]:
    if not isinstance(value, dict) or not isinstance(value.get("id"), str):
        raise InvalidRecord("id", "is missing or not a text")
    answer = value.get("answer")
    if answer is not None and not isinstance(answer, str):
        raise InvalidRecord("answer", f"must be a text or null, not {type(answer).__name__}")
    return value["id"], answer


def _check_unique_id(name: str, seen: dict[str, int], number: int) -> None:
    if name in seen:
        raise InvalidRecord("id", f"{quote(name)} is also the id of line {seen[name]}")
    seen[name] = number
