"""JSON Lines files of tasks and answers: read line by line, written atomically."""

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from agent.errors import TaskError
from agent.tasks.task import FileAt, Problem, WrongRecord, from_json, shown, to_json

LONGEST_LINE = 256 * 1024**2


def read_problems(path: Path) -> Iterator[Problem]:
    """Yield the tasks in a file, in order.

    Raises:
        TaskError: the file cannot be read or a line is invalid; names file, line and key.
    """
    seen: dict[str, int] = {}
    for number, value in _values(path):
        try:
            problem = from_json(value, path.parent.resolve())
            _check_new(problem.id, seen, number)
        except WrongRecord as error:
            raise TaskError(f"{path}, line {number}: {error}") from error
        yield problem


def read_answers(path: Path) -> dict[str, str | None]:
    """Read answers by task id; None means no answer.

    Each line is ``{"id": …, "answer": …}``.

    Raises:
        TaskError: as for ``read_problems``.
    """
    seen: dict[str, int] = {}
    answers: dict[str, str | None] = {}
    for number, value in _values(path):
        try:
            name, answer = _answer(value)
            _check_new(name, seen, number)
        except WrongRecord as error:
            raise TaskError(f"{path}, line {number}: {error}") from error
        answers[name] = answer
    return answers


def write_problems(path: Path, problems: Iterable[Problem]) -> int:
    """Write tasks to a file atomically; return their number.

    Files that tasks refer to by path must be below the file's folder.

    Raises:
        TaskError: the file cannot be written, or a task refers to a file elsewhere.
    """
    count = 0
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                for count, problem in enumerate(problems, start=1):  # noqa: B007 - used as the count
                    file.write(_line(problem, path))
            Path(name).chmod(0o644)
            Path(name).replace(path)
        finally:
            with suppress(FileNotFoundError):
                Path(name).unlink()
    except OSError as error:
        raise TaskError(f"{path} cannot be written: {error.strerror}.") from error
    return count


def _line(problem: Problem, path: Path) -> str:
    here = path.parent.resolve()
    for name, content in problem.input_files.items():
        if isinstance(content, FileAt) and content.folder.resolve() != here:
            raise TaskError(f"{path}: {shown(name)} of {shown(problem.id)} does not lie beside it.")
    return json.dumps(to_json(problem), ensure_ascii=False) + "\n"


def _values(path: Path) -> Iterator[tuple[int, object]]:
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(LONGEST_LINE + 1):
                number += 1
                if len(line) > LONGEST_LINE:
                    raise TaskError(f"{path}, line {number}: longer than {LONGEST_LINE} bytes.")
                if line.strip():
                    yield number, _value(line, f"{path}, line {number}")
    except OSError as error:
        raise TaskError(f"{path} cannot be read: {error.strerror}.") from error


def _value(line: bytes, where: str) -> object:
    try:
        return json.loads(line.decode("utf-8-sig"), object_pairs_hook=_once)
    except WrongRecord as error:
        raise TaskError(f"{where}: {error}") from error
    except (ValueError, RecursionError) as error:
        why = "nested too deep" if isinstance(error, RecursionError) else str(error)
        raise TaskError(f"{where}: no JSON: {why}") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object; raise an error for a duplicate key, which ``json`` ignores."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise WrongRecord(shown(twice), "stands there twice")
    return found


def _answer(value: object) -> tuple[str, str | None]:
    if not isinstance(value, dict) or not isinstance(value.get("id"), str):
        raise WrongRecord("id", "is missing, or no text")
    answer = value.get("answer")
    if answer is not None and not isinstance(answer, str):
        raise WrongRecord("answer", f"must be a text or null, not {type(answer).__name__}")
    return value["id"], answer


def _check_new(name: str, seen: dict[str, int], number: int) -> None:
    if name in seen:
        raise WrongRecord("id", f"{shown(name)} is that of line {seen[name]}, too")
    seen[name] = number
