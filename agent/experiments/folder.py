"""An experiment's folder: its definition, its runs, their scores, and the tasks of its suites.

::

    <data>/comparisons/<id>/comparison.json   the definition, title, shared links
    <data>/evaluations/<id>/evaluation.json   the same with suites, and besides:
                            tasks.jsonl       the tasks of all suites, with their answers
                            process.json      the process that carries it out (``process``)
    both                    runs.jsonl        which run is which task, member and repetition
                            scores.jsonl      the grades of answers
                            labels.jsonl      labels and notes of runs
                            questions.jsonl   questions about the runs to a model
                            answers.jsonl     its answers
                            inputs/<sha256>   the tasks' documents, each once; a comparison's
                                              while runs are still to be started

The definition only grows: members and tasks are added at its end (``extend``). Its owner may change
the title, shared links, and whether it is pinned or stopped. The lists are append-only
(``agent.util.entry_list``). Nothing of a run is copied, and an evaluation continues without the
data that its tasks came from.
"""

import hashlib
import json
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import Annotated, Self

from pydantic import AliasChoices, Field, TypeAdapter

from agent.data_folder import random_id
from agent.errors import RunError
from agent.experiments.experiment import Experiment, Kind, SuiteInfo
from agent.experiments.reading.labels import LabelEntry, RunLabels
from agent.experiments.scan.records import Scans
from agent.experiments.suite import EvalTask, Suite
from agent.grading.checks import Expected, Grade
from agent.owned_folder import ID, OwnedFolder, OwnedRecord, one_line_title
from agent.tasks.task import Content, HostFile, chunks_of
from agent.util.entry_list import EntryList, read_bounded
from agent.workspace.paths import RelPath

KINDS: Mapping[Kind, str] = {"comparison": "comparisons", "evaluation": "evaluations"}
"""The kinds, and the folders in a data folder that contain all of a kind."""
NOT_FOUND = "There is no such comparison or evaluation. It may have been deleted."

_MAX_RECORD_BYTES = 4 * 1024**2
_MAX_LIST_BYTES = 256 * 1024**2
INPUTS, _TASKS = "inputs", "tasks.jsonl"
Key = tuple[int, int, int]  # task, member, and repetition from 1
Document = tuple[str, Iterable[bytes]]
"""SHA-256 and content of a document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(OwnedRecord):
    """The content of the record's file."""

    definition: Experiment
    stopped: bool = False


@cache  # on first use: it is slow to build
def _record_adapter() -> TypeAdapter[Record]:
    return TypeAdapter(Record)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEntry:
    """One run of an experiment: the ``attempt``-th of a repetition, both counted from 1."""

    task: int = 0
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
    """The stored grade (see ``Grade``) of a run's answer; one with another hash is graded again.

    ``scorer`` is the check, in entries without ``grader``, which are of its first version.
    Comparisons of earlier versions name the value ``score`` and the judge ``model``.
    """

    run: str
    value: Annotated[float | None, Field(validation_alias=AliasChoices("value", "score"))]
    parts: Mapping[str, float] = field(default_factory=dict)
    votes: tuple[float | None, ...] = ()
    texts: tuple[str, ...] = ()
    judge: Annotated[str, Field(validation_alias=AliasChoices("judge", "model"))] = ""
    extracted: str = ""
    reason: str = ""
    scorer: str = ""
    grader: str = ""
    answer: str = ""
    at: float = 0.0

    @property
    def grade(self) -> Grade:
        """The grade."""
        return Grade(
            score=self.value, extracted=self.extracted, reason=self.reason, grader=self.grader,
            parts=self.parts, votes=self.votes, texts=self.texts, judge=self.judge,
        )  # fmt: skip


class ExperimentFolder(OwnedFolder[Record]):
    """The folder of one experiment. Thread-safe; one process writes."""

    def __init__(self, data: Path, record: Record) -> None:
        self.definition = record.definition
        self.kind = self.definition.kind
        folder = data / KINDS[self.kind] / self.definition.id
        super().__init__(folder / f"{self.kind}.json", record, self.definition.owner)
        self._runs = EntryList(
            self.path / "runs.jsonl", RunEntry, lambda each: each.key, _MAX_LIST_BYTES
        )
        self._scores = EntryList(
            self.path / "scores.jsonl", ScoreEntry, lambda each: each.run, _MAX_LIST_BYTES
        )
        self.labels = RunLabels(self.path / "labels.jsonl")
        self.scans = Scans(self.path)

    @classmethod
    def create(
        cls,
        data: Path,
        definition: Experiment,
        suites: Sequence[Suite] = (),
        title: str = "",
        documents: Iterable[Document] = (),
    ) -> Self:
        """Create the folder of a new experiment; its id, time and suites are set here.

        ``documents`` are those of a comparison that are kept for its runs.
        """
        known = replace(
            definition, id=random_id(), created=time.time(),
            suites=tuple(SuiteInfo.of(each, hash_of(each)) for each in suites),
        )  # fmt: skip
        folder = cls(data, Record(definition=known, title=one_line_title(title)))
        folder.path.parent.mkdir(mode=0o700, exist_ok=True)
        folder.path.mkdir(mode=0o700)
        try:
            (folder.path / INPUTS).mkdir(mode=0o700)
            _keep(folder.path, documents)
            if suites:
                (folder.path / _TASKS).touch()
                _append_tasks(folder.path, 0, suites)
            folder._write(folder._record)  # only now it exists
        except BaseException:
            shutil.rmtree(folder.path, ignore_errors=True)
            raise
        return folder

    @classmethod
    def open(cls, data: Path, experiment: str, kind: Kind | None = None) -> Self:
        """Open an existing folder of a kind, or of either; see ``find``."""
        return cls.find([data], experiment, kind)

    @classmethod
    def find(cls, places: Iterable[Path], experiment: str, kind: Kind | None = None) -> Self:
        """Open an experiment in the first data folder that has it. Raises ``RunError``."""
        for data in places:
            path = record_path(data, experiment)
            if path is None or kind not in (None, path.stem):
                continue
            unreadable = f"The record of {path.stem} {experiment} cannot be read."
            try:
                record = _record_adapter().validate_json(read_bounded(path, _MAX_RECORD_BYTES))
            except (OSError, ValueError) as error:
                raise RunError(unreadable) from error
            if (record.definition.id, record.definition.kind) != (experiment, path.stem):
                raise RunError(unreadable)
            return cls(data, record)
        raise RunError(NOT_FOUND)

    @classmethod
    def all(cls, data: Path, kind: Kind) -> list[Self]:
        """Return all of a kind in a data folder, oldest first, except unreadable ones."""
        found = []
        for path in (data / KINDS[kind]).glob(f"*/{kind}.json"):
            with suppress(RunError):
                found.append(cls.open(data, path.parent.name))
        return sorted(found, key=lambda folder: folder.definition.created)

    @property
    def stopped(self) -> bool:
        """Whether the user stopped it; continuing it resets this."""
        return self._record.stopped

    def set_stopped(self, stopped: bool) -> None:
        """Record that the user stopped or continued it."""
        self._update(stopped=stopped)

    def extend(self, definition: Experiment, suites: Sequence[Suite]) -> None:
        """Add the members that a definition has besides, and tasks after the known ones.

        The indexes of what is there stay. Raises ``OSError``; then nothing is added.
        """
        added = tuple(SuiteInfo.of(each, hash_of(each)) for each in suites)
        if suites:
            _append_tasks(self.path, self.definition.task_count, suites)
        self._update(definition=replace(definition, suites=(*self.definition.suites, *added)))
        self.definition = self._record.definition
        for name in ("tasks", "suite_of"):
            vars(self).pop(name, None)

    def delete(self) -> None:
        """Delete the folder; the runs remain. Raises ``OSError``."""
        with self._lock:
            gone = self.path.with_name(f".{self.id}.deleted")
            self.path.rename(gone)  # at once: a reader finds all of it or nothing
            shutil.rmtree(gone)

    @cached_property
    def tasks(self) -> tuple[EvalTask, ...]:
        """The tasks of all suites, in their order, or the only one; documents are read on use."""
        inputs = self.path / INPUTS
        if not self.definition.suites:
            given = {
                each.path: HostFile(inputs, RelPath(each.sha256))
                for each in self.definition.inputs
                if each.sha256  # else it could not be read any more
            }
            return (EvalTask(id="task", text=self.definition.task, scorer="exact", inputs=given),)
        try:
            lines = read_bounded(self.path / _TASKS, _MAX_LIST_BYTES).splitlines()
            found = tuple(_task_from_json(line, inputs) for line in lines)
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise RunError(f"The tasks of evaluation {self.id} cannot be read.") from error
        if len(found) < self.definition.task_count:
            raise RunError(f"The tasks of evaluation {self.id} are incomplete.")
        return found[: self.definition.task_count]  # an extension may have been interrupted

    @cached_property
    def suite_of(self) -> tuple[SuiteInfo, ...]:
        """The suite of each task."""
        return tuple(suite for suite in self.definition.suites for _ in range(suite.tasks))

    @property
    def suites(self) -> list[Suite]:
        """Each suite once, with all of its tasks."""
        tasks: dict[str, list[EvalTask]] = {}
        for task, info in zip(self.tasks, self.suite_of, strict=True):
            tasks.setdefault(info.name, []).append(task)
        return [
            Suite(**each.description, tasks=tuple(tasks[each.name]))
            for each in self.definition.suites_by_name
        ]

    def repetitions_of(self, task: int) -> int:
        """Return how often each member does a task."""
        definition = self.definition
        if not definition.suites:
            return definition.repetitions
        return definition.repetitions_of(self.suite_of[task])

    def expected(self, task: int) -> Expected | None:
        """Return what answers to a task are compared with; None if no answer is expected."""
        definition = self.definition
        if definition.suites:
            return self.suite_of[task].expected(self.tasks[task])
        return definition.expected.to_grade(definition.task) if definition.expected else None

    def runs(self) -> list[RunEntry]:
        """Return its runs by task, member and repetition; of one started again, the last."""
        return [entry for _, entry in sorted(self._runs.entries().items())]

    def runs_at(self, task: int, member: int) -> list[RunEntry]:
        """Return the runs of a task by a member, in the order of their repetitions."""
        numbers = range(1, self.repetitions_of(task) + 1)
        found = (self._runs.get((task, member, number)) for number in numbers)
        return [entry for entry in found if entry is not None]

    def run_at(self, key: Key) -> RunEntry | None:
        """Return the last run of a repetition, or None."""
        return self._runs.get(key)

    def add_run(self, task: int, member: int, repetition: int, run: str) -> RunEntry:
        """Record that a run is a repetition of a task by a member. Raises ``OSError``."""
        earlier = self._runs.get((task, member, repetition))
        entry = RunEntry(
            task=task, member=member, repetition=repetition, run=run, at=time.time(),
            attempt=earlier.attempt + 1 if earlier else 1,
        )  # fmt: skip
        self._runs.add(entry)
        return entry

    def take_over(
        self, entry: RunEntry, score: ScoreEntry | None, labels: Iterable[LabelEntry] = ()
    ) -> None:
        """Record another experiment's run, score, labels. Raises ``OSError``, ``UsageError``."""
        self._runs.add(entry)
        if score is not None:
            self._scores.add(score)
        for each in labels:
            if not each.is_empty:
                self.labels.add(each)

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
        self.labels.read_further()
        self.scans.read_further()
        return self._runs.read_further(), self._scores.read_further()

    def _encode(self, record: Record) -> bytes:
        return _record_adapter().dump_json(record)


def record_path(data: Path, experiment: str) -> Path | None:
    """Return the file of an experiment's record in a data folder; None if it has none."""
    if not ID.fullmatch(experiment):
        return None
    paths = (data / name / experiment / f"{kind}.json" for kind, name in KINDS.items())
    return next(filter(Path.is_file, paths), None)


def digest_of(answer: str) -> str:
    """Return a short hash of an answer, which tells whether it was graded."""
    return hashlib.sha256(answer.encode("utf-8", "replace")).hexdigest()[:32]


def hash_of(suite: Suite) -> str:
    """Return the hash of a suite's tasks, with their answers and documents."""
    digest = hashlib.sha256()
    for task in suite.tasks:
        inputs = {name: _digest(content) for name, content in task.inputs.items()}
        digest.update(_task_to_json(task, inputs))
    return digest.hexdigest()


def _keep(folder: Path, documents: Iterable[Document]) -> None:
    """Write documents that are not kept yet, each of them whole or not at all."""
    for sha256, content in documents:
        path = folder / INPUTS / sha256
        if not path.exists():
            new = path.with_name(f"{sha256}.new")
            with new.open("wb") as file:
                file.writelines(content)
            new.replace(path)


def _append_tasks(folder: Path, count: int, suites: Iterable[Suite]) -> None:
    """Write tasks and their documents after the first ``count`` tasks, atomically."""
    path = folder / _TASKS
    new = path.with_name(f"{path.name}.new")
    with path.open("rb") as known, new.open("wb") as file:
        file.writelines(islice(known, count))
        for suite in suites:
            for task in suite.tasks:
                digests = {name: _digest(content) for name, content in task.inputs.items()}
                _keep(
                    folder, ((digests[name], chunks_of(each)) for name, each in task.inputs.items())
                )
                file.write(_task_to_json(task, digests))
    new.replace(path)


def _task_to_json(task: EvalTask, inputs: Mapping[str, str]) -> bytes:
    values = {each.name: getattr(task, each.name) for each in fields(task)} | {"inputs": inputs}
    return json.dumps(values).encode() + b"\n"


def _task_from_json(line: bytes, inputs: Path) -> EvalTask:
    values = json.loads(line)
    files = {name: HostFile(inputs, RelPath(digest)) for name, digest in values["inputs"].items()}
    return EvalTask(**values | {"inputs": files})


def _digest(content: Content) -> str:
    digest = hashlib.sha256()
    for chunk in chunks_of(content):
        digest.update(chunk)
    return digest.hexdigest()
