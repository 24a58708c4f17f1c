"""An evaluation's folder: its definition, its tasks, its runs and their scores.

::

    <data>/evaluations/<id>/evaluation.json   the definition, title, shared links
                            tasks.jsonl       the tasks of all suites, with their answers
                            inputs/<sha256>   the tasks' documents, each once
                            runs.jsonl        which run is which task, member and repetition
                            scores.jsonl      the scores of answers
                            process.json      the process that carries it out: agent.evals.process

The evaluation opens and continues without the data that its tasks came from. Nothing of a run is
copied. The two lists are append-only (``agent.util.entry_list``).
"""

import hashlib
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from agent.compare.folder import digest_of
from agent.compare.record_folder import Record, RecordFolder, not_found_message
from agent.errors import RunError
from agent.evals.evaluation import Evaluation, SuiteInfo
from agent.evals.suite import EvalTask, Suite
from agent.grading.checks import Grade
from agent.tasks.task import Content, HostFile
from agent.util.entry_list import EntryList, read_bounded
from agent.workspace.paths import RelPath

EVALUATION_NOT_FOUND = not_found_message("evaluation")
_MAX_LIST_BYTES = 256 * 1024**2
_TASKS, _INPUTS = "tasks.jsonl", "inputs"
Key = tuple[int, int, int]
"""Task, member, and repetition from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEntry:
    """One run of an evaluation.

    Attributes:
        task: The task's index among all tasks of the evaluation.
        member: The member's index.
        repetition: The repetition, from 1.
        run: The run's id.
        at: When it was created, in seconds since the epoch.
        attempt: Which run of this repetition it is, from 1.
    """

    task: int
    member: int
    repetition: int
    run: str
    at: float = 0.0
    attempt: int = 1

    @property
    def key(self) -> Key:
        """Task, member and repetition."""
        return self.task, self.member, self.repetition


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreEntry:
    """The stored grade of a run's answer; see ``Grade``.

    Attributes:
        answer: The hash of the answer that was scored; another answer is scored again.
        scorer: The check; in entries without ``grader``, which are of its first version.
    """

    run: str
    value: float | None
    parts: Mapping[str, float] = field(default_factory=dict)
    votes: tuple[float | None, ...] = ()
    texts: tuple[str, ...] = ()
    judge: str = ""
    extracted: str = ""
    reason: str = ""
    scorer: str = ""
    grader: str = ""
    answer: str = ""
    at: float = 0.0


class EvaluationFolder(RecordFolder[Evaluation]):
    """The folder of one evaluation; ``create`` creates one, ``open`` opens an existing one.

    Thread-safe; one process writes.
    """

    definition_class = Evaluation
    noun = "evaluation"
    parent = "evaluations"

    def __init__(self, data: Path, record: Record[Evaluation]) -> None:
        super().__init__(data, record)
        self._runs = EntryList(
            self.path / "runs.jsonl", RunEntry, lambda each: each.key, _MAX_LIST_BYTES
        )
        self._scores = EntryList(
            self.path / "scores.jsonl", ScoreEntry, lambda each: each.run, _MAX_LIST_BYTES
        )

    @classmethod
    def create(
        cls, data: Path, evaluation: Evaluation, suites: Sequence[Suite], title: str = ""
    ) -> Self:
        """Create the folder of a new evaluation; its id, time and suites are set here.

        Args:
            data: The data folder.
            evaluation: The definition, checked; ``id``, ``created`` and ``suites`` are replaced.
            suites: The suites with their tasks.
            title: A title; empty for the suites' titles.

        Raises:
            OSError: The folder cannot be written.
            WorkspaceError: A task's document cannot be read.
        """
        known = replace(evaluation, suites=tuple(SuiteInfo.of(each, hash_of(each))
                                                 for each in suites))  # fmt: skip
        return cls.create_record(data, known, title, lambda path: _write_tasks(path, suites))

    @cached_property
    def tasks(self) -> tuple[EvalTask, ...]:
        """The tasks of all suites, in their order; documents are read on use.

        Raises:
            RunError: They cannot be read.
        """
        try:
            lines = read_bounded(self.path / _TASKS, _MAX_LIST_BYTES).splitlines()
            found = tuple(_task_from_json(line, self.path / _INPUTS) for line in lines)
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise RunError(f"The tasks of evaluation {self.id} cannot be read.") from error
        if len(found) != self.definition.task_count:
            raise RunError(f"The tasks of evaluation {self.id} are incomplete.")
        return found

    @cached_property
    def suite_of(self) -> tuple[SuiteInfo, ...]:
        """The suite of each task."""
        return tuple(suite for suite in self.definition.suites for _ in range(suite.tasks))

    def runs(self) -> list[RunEntry]:
        """Return its runs by task, member and repetition; of one started again, the last."""
        return [entry for _, entry in sorted(self._runs.entries().items())]

    def add_run(self, task: int, member: int, repetition: int, run: str) -> RunEntry:
        """Record that a run is a repetition of a task by a member. Raises ``OSError``."""
        earlier = self._runs.get((task, member, repetition))
        entry = RunEntry(
            task=task, member=member, repetition=repetition, run=run, at=time.time(),
            attempt=earlier.attempt + 1 if earlier else 1,
        )  # fmt: skip
        self._runs.add(entry)
        return entry

    def score(self, run: str) -> ScoreEntry | None:
        """Return the last score of a run; None if it has none."""
        return self._scores.get(run)

    def scores(self) -> dict[str, ScoreEntry]:
        """Return the last score of each run."""
        return self._scores.entries()

    def add_score(self, run: str, grade: Grade, answer: str) -> ScoreEntry:
        """Record the grade of a run's answer. Raises ``OSError``."""
        entry = ScoreEntry(
            run=run, value=grade.score, parts=dict(grade.parts), votes=grade.votes,
            texts=grade.texts, judge=grade.judge, extracted=grade.extracted, reason=grade.reason,
            scorer=grade.grader.partition("/")[0], grader=grade.grader,
            answer=digest_of(answer), at=time.time(),
        )  # fmt: skip
        self._scores.add(entry)
        return entry

    def read_further(self) -> tuple[list[RunEntry], list[ScoreEntry]]:
        """Read and return the runs and scores that another process has added since."""
        return self._runs.read_further(), self._scores.read_further()


def hash_of(suite: Suite) -> str:
    """Return the hash of a suite's tasks, with their answers and documents."""
    digest = hashlib.sha256()
    for task in suite.tasks:
        inputs = {name: _digest(content) for name, content in task.inputs.items()}
        digest.update(_task_to_json(task, inputs))
    return digest.hexdigest()


def _write_tasks(folder: Path, suites: Iterable[Suite]) -> None:
    """Write the tasks and their documents into a new folder."""
    inputs = folder / _INPUTS
    inputs.mkdir(mode=0o700)
    with (folder / _TASKS).open("wb") as file:
        for suite in suites:
            for task in suite.tasks:
                digests = {name: _digest(content) for name, content in task.inputs.items()}
                for name, digest in digests.items():
                    if not (inputs / digest).exists():
                        (inputs / digest).write_bytes(_bytes(task.inputs[name]))
                file.write(_task_to_json(task, digests))


def _task_to_json(task: EvalTask, inputs: Mapping[str, str]) -> bytes:
    values: dict[str, Any] = {
        "id": task.id, "text": task.text, "scorer": task.scorer, "expected": task.expected,
        "choices": task.choices, "group": task.group, "inputs": inputs,
        "arguments": task.arguments,
    }  # fmt: skip
    return json.dumps(values).encode() + b"\n"


def _task_from_json(line: bytes, inputs: Path) -> EvalTask:
    values = json.loads(line)
    files = {name: HostFile(inputs, RelPath(digest)) for name, digest in values["inputs"].items()}
    return EvalTask(**values | {"inputs": files})


def _digest(content: Content) -> str:
    return hashlib.sha256(_bytes(content)).hexdigest()


def _bytes(content: Content) -> bytes:
    if isinstance(content, HostFile):
        with content.open() as file:
            return file.read()
    return content if isinstance(content, bytes) else content.encode()
