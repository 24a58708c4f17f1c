"""What a suite is: tasks of one domain with known answers, and how they are meant to be run."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, BinaryIO, Self

from agent.grading.checks import VERDICTS, Check, Expected, Extraction
from agent.tasks.task import Content

_CHUNK = 1024**2


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalTask:
    """A task with a known answer.

    Attributes:
        id: Unique within the suite.
        text: The question, as it is inserted in the suite's prompt.
        scorer: How an answer is graded (``agent.grading``).
        expected: The right answer; empty for ``rules``.
        choices: For ``letter``: the letters that the question offers, such as ``ABCD``.
        group: The part of the suite it belongs to: a subject, a subtask.
        inputs: Documents for ``input/``: relative path (separated by ``/``) → content.
        arguments: What the scorer needs besides: for ``rules``, the rules and their arguments.
    """

    id: str
    text: str
    scorer: Check
    expected: str = ""
    choices: str = ""
    group: str = ""
    inputs: Mapping[str, Content] = field(default_factory=dict)
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A file that an experiment was given, by its path in ``input/`` or in a suite's folder."""

    path: str
    size: int
    sha256: str

    @classmethod
    def of(cls, path: str, file: BinaryIO) -> Self:
        """Return what is kept of a file, which is read to its end."""
        digest, size = hashlib.sha256(), 0
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
        return cls(path=path, size=size, sha256=digest.hexdigest())


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteLimits:
    """Limits of one run, as in the paper.

    Attributes:
        steps: Model turns.
        conversation_tokens: Length of the conversation.
        turn_tokens: Budget of one answer.
    """

    steps: int = 100
    conversation_tokens: int = 65_536
    turn_tokens: int = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteDescription:
    """A suite without its tasks.

    Attributes:
        name: Its name on the command line.
        title: Its name for people.
        domain: One of the paper's domains.
        prompt: The name of the bundled prompt.
        scorer: How its tasks are scored.
        licence: The licence under which the authors publish the data.
        source: The address of the data's page.
        limits: Limits of one run.
        judge_prompt: For ``judge``: what the judge is asked.
        judge_words: What it answers for right and for wrong.
        extraction: How answers are read: as here, or as the paper's reward does.
        sample: Whether these are the packaged tasks of this project, not the authors' data.
        preset: The name of the preset that it follows; empty for none.
        repeat: How often each task is done; 0 for the experiment's number.
        parameters: Request parameters of its runs, where a member sets none.
        files: The files that it was read from.
    """

    name: str
    title: str
    domain: str
    prompt: str
    scorer: Check
    licence: str
    source: str
    limits: SuiteLimits = SuiteLimits()
    judge_prompt: str = ""
    judge_words: tuple[str, str] = VERDICTS
    extraction: Extraction = "lenient"
    sample: bool = False
    preset: str = ""
    repeat: int = 0
    parameters: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[DataFile, ...] = ()

    @property
    def description(self) -> dict[str, Any]:
        """What it is without its tasks, by name."""
        return {each.name: getattr(self, each.name) for each in fields(SuiteDescription)}

    def expected(self, task: EvalTask) -> Expected:
        """Return what an answer to one of its tasks is compared with, and how."""
        return Expected(
            check=task.scorer, answer=task.expected, extraction=self.extraction,
            choices=task.choices, question=task.text, prompt=self.judge_prompt,
            words=self.judge_words, rules=tuple(task.arguments.get("rules", ())),
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite(SuiteDescription):
    """A suite that was loaded.

    Attributes:
        tasks: The tasks, in the order of the data.
        repetitions: How often the paper runs each task.
    """

    tasks: tuple[EvalTask, ...] = ()
    repetitions: int = 1

    def changed_task(self, other: "Suite") -> EvalTask | None:
        """Return another suite's first task with a known id but another text or answer."""
        known = {task.id: task for task in self.tasks}
        for task in other.tasks:
            same = known.get(task.id, task)
            if (same.text, same.expected) != (task.text, task.expected):
                return task
        return None

    def further_tasks(self, other: "Suite") -> tuple[EvalTask, ...]:
        """Return another suite's tasks whose ids are not in this one."""
        known = {task.id for task in self.tasks}
        return tuple(task for task in other.tasks if task.id not in known)

    def joined(self, other: "Suite") -> "Suite":
        """Return the suite with another one's further tasks, and the files of both."""
        files = tuple(dict.fromkeys((*self.files, *other.files)))
        return replace(self, tasks=(*self.tasks, *self.further_tasks(other)), files=files)

    def first(self, count: int) -> "Suite":
        """Return the suite with at most ``count`` tasks, evenly from all groups as in the paper."""
        groups: dict[str, list[EvalTask]] = {}
        for task in self.tasks:
            groups.setdefault(task.group, []).append(task)
        chosen = {task.id for task in _in_turn(list(groups.values()), count)}
        return replace(self, tasks=tuple(task for task in self.tasks if task.id in chosen))


def _in_turn(groups: Sequence[Sequence[EvalTask]], count: int) -> list[EvalTask]:
    """Return the first ``count`` tasks, one of each group in turn."""
    longest = max(map(len, groups), default=0)
    return [group[at] for at in range(longest) for group in groups if at < len(group)][:count]
