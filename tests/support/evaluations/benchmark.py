"""Rows in the form of the paper's benchmark, one or two of each domain; a model and a judge."""

import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent.experiments import suites
from agent.experiments.suite import EvalTask
from agent.experiments.suites.benchmark import CONFIGURATIONS
from tests.support.models.turns import Body, Turn

RULES = {"instruction_id_list": ["count:numbers"], "kwargs": [{"N": 1.0, "relation": None}]}
ROWS: Mapping[str, list[dict[str, Any]]] = {
    "math": [
        {"id": f"aime_{number}_{copy}", "problem_statement": f"What is {number} + 1?",
         "ground_truth": str(number + 1)}
        for copy in range(2)
        for number in range(2)
    ],
    "physics": [
        {"id": "p0", "problem_statement": "What is the weight of 2 kg where g is 10 m/s²?",
         "ground_truth": "20 N", "subject": "Mechanics"},
    ],
    "chem": [
        {"id": "c0", "problem_statement": "Which is a metal?\n\nA. iron\nB. neon\nC. air\nD. ice",
         "ground_truth": "A"},
    ],
    "biomed": [
        {"id": "b0", "problem_statement": "Which?\nAnswer Choices: (A) one (B) two (C) three",
         "ground_truth": "C"},
        {"id": "b1", "problem_statement": "Which one, without a list?", "ground_truth": "J"},
    ],
    "long_context": [
        {"id": "l0", "problem_statement": "Who wrote the letter?", "ground_truth": "Ada",
         "input_files": {"letter.txt": "Yours, Ada"}},
        {"id": "l1", "problem_statement": "Who sent the note?", "ground_truth": "Bob",
         "input_files": {"note.txt": "Bob"}},
    ],
    "instruct_follow": [
        {"id": "i0", "problem_statement": "Use exactly one number.",
         "ground_truth": json.dumps(RULES)},
    ],
}  # fmt: skip
"""By configuration. The rows of ``math`` are two tasks, twice each."""

COUNTS = {"aime": 2, "ugphysics": 1, "chembench": 1, "medxpertqa": 2, "aa_lcr": 2, "ifbench": 1}


def write_parquet(folder: Path, *, files_as_json: bool = True) -> Path:
    """Write the data set as the hub's client does: a folder with a split for each configuration."""
    import pyarrow
    import pyarrow.parquet

    for config in CONFIGURATIONS.values():
        rows = [{"input_files": {}, "domain": config} | row for row in ROWS[config]]
        if files_as_json or config != "long_context":
            rows = [row | {"input_files": json.dumps(row["input_files"])} for row in rows]
        path = folder / config / "test-00000-of-00001.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return folder


class Competent:
    """Knows the answers to a folder's tasks, and works with tools where it has them.

    Args:
        blind: Whether it knows no answer of a task with documents while it has no tools.
    """

    def __init__(self, folder: Path, *, blind: bool = False) -> None:
        tasks = [task for name in suites.NAMES for task in suites.load(name, folder).tasks]
        self._tasks = {task.text: task for task in tasks}
        self._blind = blind

    def __call__(self, body: Body) -> Turn:
        """Answer a request."""
        messages = body["messages"]
        user = next(each["content"] for each in messages if each["role"] == "user")
        task = self._tasks[max((text for text in self._tasks if text in user), key=len)]
        if not body.get("tools"):
            return Turn(text="I cannot tell." if self._blind and task.inputs else _answer(task))
        if any(each["role"] == "tool" for each in messages):
            return Turn(calls=[("submit", {})])
        command = f"printf %s {shlex.quote(_answer(task))} > output/answer.txt"
        return Turn(calls=[("execute_bash", {"command": command})])


def _answer(task: EvalTask) -> str:
    if task.scorer == "rules":
        return "Just 1."
    return f"\\boxed{{{task.expected}}}" if task.scorer == "math" else task.expected


def judge(body: Body) -> Turn:
    """Judge by comparing the two answers quoted in the preset's prompt."""
    text = body["messages"][0]["content"]
    (official,) = re.findall(r"^The official answer: (.*)$", text, re.MULTILINE)
    (given,) = re.findall(r"^The candidate's answer.*: (.*)$", text, re.MULTILINE)
    return Turn(text="CORRECT" if given == official else "INCORRECT")
