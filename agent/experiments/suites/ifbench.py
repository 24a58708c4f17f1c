"""Instruction following: IFBench, requests with rules that programs can check.

``IFBench_test.jsonl`` has the fields ``key``, ``prompt``, ``instruction_id_list`` and ``kwargs``:
one object of arguments per rule, in which null means none.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agent.errors import TaskError
from agent.experiments.suite import EvalTask, Suite
from agent.experiments.suites.records import Record, data_files, read_records
from agent.grading.rules import check_rule

SOURCE = "https://huggingface.co/datasets/allenai/IFBench_test"
PATTERNS = ("IFBench_test.jsonl", "*.jsonl", "data/*.parquet", "*.parquet")

SUITE = Suite(
    name="ifbench",
    title="IFBench",
    domain="instruction following",
    prompt="instruction_following",
    scorer="rules",
    licence="ODC-BY 1.0",
    source=SOURCE,
)

MAX_RULES = 20
"""Maximum number of rules of a task."""


def tasks(path: Path) -> Iterator[EvalTask]:
    """Yield the tasks of a file or folder.

    Raises:
        TaskError: A record is invalid, or has a rule that does not exist; names it.
    """
    for record in read_records(data_files(path, PATTERNS, SOURCE)):
        rules = _rules(record)
        yield EvalTask(
            id=record.text("key"),
            text=record.text("prompt"),
            scorer="rules",
            group=rules[0]["rule"].partition(":")[0],
            arguments={"rules": rules},
        )


def _rules(record: Record) -> list[dict[str, Any]]:
    names, given = record.list_of("instruction_id_list", str), record.list_of("kwargs", dict)
    if not 1 <= len(names) <= MAX_RULES:
        raise record.error("instruction_id_list", f"must have 1 to {MAX_RULES} rules")
    if len(names) != len(given):
        raise record.error("kwargs", f"has {len(given)} items for {len(names)} rules")
    rules = []
    for name, arguments in zip(names, given, strict=True):
        known = {key: value for key, value in arguments.items() if value is not None}
        try:
            rules.append({"rule": name, "arguments": check_rule(name, known)})
        except TaskError as error:
            raise TaskError(f"{record.where}: {error}") from error
    return rules
