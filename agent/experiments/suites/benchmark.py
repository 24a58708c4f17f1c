"""The suites as the paper's authors publish them together: ``daixuancheng/llm-in-sandbox-bench``.

A configuration per domain, whose rows have the fields ``id``, ``problem_statement``,
``ground_truth`` and ``input_files``: texts by name, as an object or as JSON. A row may repeat
another one for a further repetition; it counts once.
"""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from agent.errors import TaskError
from agent.experiments.suite import EvalTask, Suite
from agent.experiments.suites.published import letter_of, rules_of
from agent.experiments.suites.records import FORMATS, MAX_FILES, Record, read_records
from agent.tasks.task import Content, InvalidRecord, parse_files

SOURCE = "https://huggingface.co/datasets/daixuancheng/llm-in-sandbox-bench"
CONFIGURATIONS: Mapping[str, str] = {
    "aime": "math",
    "ugphysics": "physics",
    "chembench": "chem",
    "medxpertqa": "biomed",
    "aa_lcr": "long_context",
    "ifbench": "instruct_follow",
}
_STATEMENT, _TRUTH, _FILES = "problem_statement", "ground_truth", "input_files"
_GROUPS = ("subject", "subtask", "medical_task", "category", "domain")
_LETTERS = {"chembench": "ABCD", "medxpertqa": "ABCDEFGHIJ"}
_CHOICE = re.compile(r"(?:^|\s)\(?([A-J])[.):]\s", re.MULTILINE)


def find_files(suite: str, path: Path) -> list[Path]:
    """Return the files with a suite's rows in this form; none if the data has another form."""
    if path.is_file():
        return [path] if _has_form(path) else []
    config = CONFIGURATIONS[suite]
    for folder, stem in ((path / config, "*"), (path, config), (path / "data", config),
                         (path / "data" / config, "*"), (path, "test"), (path, "*")):  # fmt: skip
        found = _data_files(folder, stem)
        if found and _has_form(found[0]):
            return found
    return []


def read_tasks(suite: Suite, files: list[Path]) -> Iterator[EvalTask]:
    """Yield the tasks of files in this form, each once. Raises ``TaskError``."""
    seen = set[tuple[str, str, str]]()
    for record in read_records(files):
        task = _task(suite, record)
        row = (task.text, record.text(_TRUTH), _names_and_sizes(task.inputs))
        if row not in seen:
            seen.add(row)
            yield task


def _data_files(folder: Path, stem: str) -> list[Path]:
    """Return the data files of a folder that begin so; of several splits, the test split's."""
    pattern = stem if stem == "*" else f"{stem}*"
    found = sorted(
        each
        for each in folder.glob(pattern)
        if each.is_file() and each.suffix.removeprefix(".").lower() in FORMATS
    )
    test = [each for each in found if each.name.startswith("test") or "-test" in each.name]
    if len(test or found) > MAX_FILES:
        raise TaskError(f"{folder} has more than {MAX_FILES} data files.")
    return test or found


def _has_form(path: Path) -> bool:
    return any(_STATEMENT in each.fields for each in islice(read_records([path]), 1))


def _task(suite: Suite, record: Record) -> EvalTask:
    text = record.text(_STATEMENT)
    values: dict[str, Any] = {
        "id": record.text("id"),
        "text": text,
        "scorer": suite.scorer,
        "group": _group(record),
        "inputs": _inputs(record),
    }
    if suite.scorer == "rules":
        return EvalTask(**values, arguments={"rules": rules_of(_truth_as_record(record))})
    if suite.scorer == "letter":
        letters = _LETTERS[suite.name]
        right, offered = letter_of(record, _TRUTH, letters), _offered(text, letters)
        choices = offered if right in offered else letters
        return EvalTask(**values, choices=choices, expected=right)
    return EvalTask(**values, expected=record.text(_TRUTH))


def _group(record: Record) -> str:
    name = next((each for each in _GROUPS if isinstance(record.fields.get(each), str)), "")
    return record.optional(name) if name else ""


def _offered(text: str, letters: str) -> str:
    """Return the letters that a question lists, from A on; all if it lists none."""
    listed = set(_CHOICE.findall(text))
    count = next((at for at, each in enumerate(letters) if each not in listed), len(letters))
    return letters[:count] if count > 1 else letters


def _inputs(record: Record) -> dict[str, Content]:
    """Return the documents; a table stores names of other rows with null."""
    try:
        value = record.fields.get(_FILES)
        if isinstance(value, str):
            value = json.loads(value) if value.strip() else {}
        if isinstance(value, dict):
            value = {name: each for name, each in value.items() if each is not None}
        return parse_files(value, record.path.parent)
    except InvalidRecord as error:
        raise TaskError(f"{record.where}: {error}.") from error
    except (ValueError, RecursionError) as error:
        raise record.error(_FILES, "is a text that is not valid JSON") from error


def _truth_as_record(record: Record) -> Record:
    """Return the rules and their arguments, which are JSON, as a record."""
    value = record.fields.get(_TRUTH)
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError) as error:
        raise record.error(_TRUTH, f"is not valid JSON: {error}") from error
    if not isinstance(found, dict):
        raise record.error(_TRUTH, "must be an object with instruction_id_list and kwargs")
    return Record(record.path, record.where, found)


def _names_and_sizes(inputs: Mapping[str, Content]) -> str:
    sizes = {name: len(each) if isinstance(each, str | bytes) else 0 for name, each in
             inputs.items()}  # fmt: skip
    return json.dumps(sizes, sort_keys=True)
