"""Comparisons from Python: ``Studio.compare`` and what it returns."""

import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from agent.api import arguments
from agent.api.models import ModelArgument, endpoint_config, select_model
from agent.api.placement import Placement, RunOrder
from agent.api.run import Run
from agent.compare import comparison as definitions
from agent.compare import exports
from agent.compare.comparison import Comparison, ExpectedAnswer, Input, Judge, Member
from agent.compare.description import describe, missing_repetitions
from agent.compare.documents import measure_documents
from agent.compare.folder import ComparisonFolder
from agent.compare.members import complete, parse_member, with_parameters
from agent.compare.runner import Progress, Runner, StartedRun
from agent.errors import StudioError, UsageError, WorkspaceError
from agent.history import records
from agent.models.base import Model, ModelConfig
from agent.models.builtin.install import BUILTIN_ID
from agent.models.parameters import config_fields
from agent.runs.folder import RunFolder
from agent.runs.spec import RunSpec
from agent.runs.summary import Summary
from agent.sandbox.disk import volume
from agent.settings import Settings
from agent.util.cancellation import Stop

MAX_CONCURRENCY = 64
_CHUNK = 1024**2


@dataclass(frozen=True, slots=True)
class ComparisonResult:
    """A comparison with its table.

    Attributes:
        id: The comparison's id, under which the page lists it.
        description: Everything that is known, as the HTTP API returns it.
        problems: Why members could not be started, by label.
        data: The data folder that holds it.
    """

    id: str
    description: dict[str, Any]
    problems: Mapping[str, str]
    data: Path

    @property
    def state(self) -> str:
        """``finished``; or ``stopped`` or ``interrupted``, which can be continued."""
        return str(self.description["state"])

    @property
    def verdict(self) -> str:
        """The result in one sentence; empty if a member has no result."""
        return str(self.description["verdict"]["text"])

    @property
    def runs(self) -> list[tuple[str, int, str]]:
        """The runs: label of the member, repetition from 1, and the run's id."""
        return [
            (member["label"], run["repetition"], run["run"])
            for member in self.description["members"]
            for run in member["runs"]
        ]

    def figure(self, key: str, member: int) -> float | None:
        """Return a figure of the table; None if it is not known.

        Args:
            key: The row, such as ``score`` or ``tokens_once``.
            member: The member's index.
        """
        for group in self.description["table"]:
            for row in group["rows"]:
                if row["key"] == key:
                    value: float | None = row["cells"][member]["value"]
                    return value
        return None

    def export(self, kind: str) -> bytes:
        """Return the table (``csv``, ``json``, ``tex``, ``md``) or the chart (``svg``, ``png``)."""
        return exports.export(self.description, kind)

    def report(self, file: "str | os.PathLike[str]") -> None:
        """Write the comparison's report: one HTML file that needs nothing else.

        Args:
            file: The file to write; an existing one is replaced.

        Raises:
            WorkspaceError: The file cannot be written.
        """
        from agent.report.groups import comparison_parts  # Markdown and tables: slow to import
        from agent.report.report import save_parts

        parts = comparison_parts(self.description, partial(RunFolder.open, self.data))
        save_parts(parts, arguments.path("file", file))

    def __str__(self) -> str:
        """Return the verdict and the table as text."""
        return exports.as_text(self.description)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a comparison is carried out.

    Attributes:
        inputs: The files and folders that each run gets.
        models: Models or endpoints with keys, by the label of their member.
        judge: The judge's model, if the expected answer has a judge.
        concurrency: How many runs at a time.
        stop: Stops it early.
        on_progress: Called when a run has started or ended.
        on_run: Called with each run that has ended, before its sandbox is deleted.
    """

    inputs: tuple[Path, ...] = ()
    models: Mapping[str, ModelArgument]
    judge: ModelArgument = None
    concurrency: int = 4
    stop: Stop
    on_progress: Callable[[Progress], None]
    on_run: Callable[[str, Run], None]


class RunCreator(Protocol):
    """What creates the runs: ``agent.api.studio.Studio``."""

    @property
    def settings(self) -> Settings:
        """The settings."""

    def create_run(
        self, spec: RunSpec, model: Model, *, inputs: Iterable[Path] = (), comparison: str = ""
    ) -> Run:
        """Create a run of a comparison or an evaluation."""

    def place_member_run(
        self, placement: Placement, order: RunOrder, comparison: str
    ) -> StartedRun:
        """Create a run that is carried out elsewhere."""


class MemberRun:
    """A ``Run`` as the runner of a comparison or an evaluation uses it."""

    def __init__(self, run: Run, on_run: Callable[[str, Run], None], label: str) -> None:
        self._run = run
        self._on_run = on_run
        self._label = label

    @property
    def id(self) -> str:
        """The run's id."""
        return self._run.id

    def carry_out(self) -> tuple[str, str, str]:
        """Carry it out; return its status, its answer and why it failed."""
        result = self._run.wait()
        self._on_run(self._label, self._run)
        return result.status, result.answer, result.reason

    def stop(self) -> None:
        """End it early, from any thread."""
        self._run.stop()

    def close(self) -> None:
        """End its sandbox and unmount its disk: thousands of them would stay mounted."""
        with suppress(StudioError):
            self._run.close()
        volume.detach(self._run.recorded.folder.sandbox_folder, idle=True)


def define(
    task: str,
    members: "Iterable[str | Member]",
    inputs: Iterable[Path],
    repeat: int,
    expected: ExpectedAnswer | str | None,
    models: Mapping[str, ModelArgument],
    settings: Settings,
) -> Comparison:
    """Return the definition that arguments name, checked.

    Raises:
        UsageError: An argument is not what it has to be.
        WorkspaceError: An input cannot be read.
    """
    arguments.text("task", task)
    arguments.check_type("repeat", repeat, int, "a number from 1 to 20")
    parsed = [each if isinstance(each, Member) else parse_member(each)[0] for each in members]
    completed = complete_members(parsed, models, settings)
    if isinstance(expected, str):
        expected = ExpectedAnswer(kind="exact", answer=expected)
    comparison = Comparison(
        id="", task=task, members=completed, inputs=tuple(hash_inputs(inputs)),
        varying=definitions.varying_fields(completed), repetitions=repeat, expected=expected,
    )  # fmt: skip
    definitions.check(comparison)
    return comparison


def complete_members(
    members: Iterable[Member], models: Mapping[str, ModelArgument], settings: Settings
) -> tuple[Member, ...]:
    """Return members with models, labels and the parameters of their endpoints, for the record.

    Raises:
        UsageError: A limit is above the operator's, or two labels are equal.
    """
    completed = complete(members, settings.model if settings.base_url else "")
    for each in completed:
        try:
            each.limits_of_any(settings)
        except UsageError as error:
            raise UsageError(f"{each.label}: {error}") from error
    return with_parameters(completed, models)


def open_or_create(data: Path, wanted: Comparison, title: str, resume: str) -> ComparisonFolder:
    """Return the folder of a new comparison, or of one to continue.

    Raises:
        RunError: There is no comparison to continue.
        UsageError: It has another task, other inputs, members or repetitions.
    """
    if not resume:
        return ComparisonFolder.create(data, wanted, title)
    folder = ComparisonFolder.open(data, resume)
    known = folder.definition
    if replace(wanted, id=known.id, created=known.created, owner=known.owner) != known:
        raise UsageError(
            "The comparison to continue has another task, other inputs, members, repetitions or "
            "another expected answer. Give what it was started with."
        )
    return folder


def carry_out(studio: RunCreator, folder: ComparisonFolder, plan: Plan) -> ComparisonResult:
    """Carry out what is missing of a comparison and return it with its table.

    Raises:
        UsageError: ``concurrency`` is out of range.
        StudioError: No run could be started; the text says why.
    """
    comparison = folder.definition
    if not 1 <= plan.concurrency <= MAX_CONCURRENCY:
        raise UsageError(f"concurrency must be a number from 1 to {MAX_CONCURRENCY}.")
    judge = _judge(studio, comparison, plan)
    measured = threading.Event()

    def create(index: int) -> MemberRun:
        member = comparison.members[index]
        run = _create_run(studio, folder, member, plan)
        if comparison.inputs and not measured.is_set():
            measured.set()
            with suppress(OSError, WorkspaceError):
                measure_documents(folder, run.recorded.workspace)
        return MemberRun(run, plan.on_run, member.label)

    runner = Runner(folder, create, plan.concurrency, judge, plan.on_progress)
    folder.set_stopped(False)
    missing = missing_repetitions(folder, summaries(folder))
    problems = runner.carry_out(missing, plan.stop)
    if plan.stop.is_set:
        folder.set_stopped(True)
    if problems and not folder.runs():
        raise StudioError(next(iter(problems.values())))
    by_label = {comparison.members[index].label: why for index, why in problems.items()}
    described = describe(folder, summaries(folder))
    return ComparisonResult(comparison.id, described, by_label, folder.data)


def open_result(places: Iterable[Path], comparison: str) -> ComparisonResult:
    """Return a recorded comparison as it is now.

    Args:
        places: The data folders that may hold it.
        comparison: The comparison's id.

    Raises:
        RunError: There is no such comparison.
    """
    folder = ComparisonFolder.find(places, comparison)
    return ComparisonResult(folder.path.name, describe(folder, summaries(folder)), {}, folder.data)


def summaries(folder: ComparisonFolder) -> dict[str, Summary | None]:
    """Return the summaries of a comparison's runs, read from their journals."""
    return recorded_summaries(folder.data, [entry.run for entry in folder.runs()])


def recorded_summaries(data: Path, runs: Iterable[str]) -> dict[str, Summary | None]:
    """Return the summaries of runs, read from their journals without writing anything.

    Args:
        data: The data folder.
        runs: Their ids; one that was deleted is missing in the result.
    """
    found: dict[str, Summary | None] = {}
    for run in runs:
        if (data / "runs" / run).is_dir():
            record = records.read(data, run, None)
            found[run] = record.summary if record else None
    return found


def hash_inputs(paths: Iterable[Path]) -> list[Input]:
    """Return the files that paths name with their hashes, as they will be in ``input/``.

    Raises:
        WorkspaceError: One is missing or cannot be read.
    """
    found = []
    for path in paths:
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in files:
            if file.is_symlink() and file != path:
                continue
            if file.is_file() or not path.is_dir():
                name = Path(path.resolve().name) / file.relative_to(path)
                found.append(_hashed(file, os.fspath(name)))
    return found


def _hashed(file: Path, name: str) -> Input:
    digest, size = hashlib.sha256(), 0
    try:
        with file.open("rb") as content:
            while chunk := content.read(_CHUNK):
                digest.update(chunk)
                size += len(chunk)
    except OSError as error:
        raise WorkspaceError(f"{file} cannot be read: {error.strerror}.") from error
    return Input(path=name, size=size, sha256=digest.hexdigest())


def _create_run(studio: RunCreator, folder: ComparisonFolder, member: Member, plan: Plan) -> Run:
    model = member_model(studio.settings, member, plan.models.get(member.label))
    spec = member.spec(folder.definition.task)
    return studio.create_run(spec, model, inputs=plan.inputs, comparison=folder.id)


def member_model(settings: Settings, member: Member, given: ModelArgument = None) -> Model:
    """Return the model of a member; see ``member_argument``.

    Raises:
        UsageError: The model needs an endpoint.
        NoModelAvailable: There is no such model.
    """
    return select_model("", member_argument(settings, member, given), settings).model


def member_argument(
    settings: Settings, member: Member, given: ModelArgument = None
) -> ModelArgument:
    """Return what names a member's model; a demonstration never stands for one.

    Args:
        settings: The settings, with the usual endpoint and its key.
        member: The member.
        given: A model or an endpoint with its key, if the caller names one.

    Raises:
        UsageError: The model needs an endpoint.
    """
    argument: ModelArgument = given
    if given is None and member.model == BUILTIN_ID:
        argument = BUILTIN_ID
    elif given is None:
        argument = endpoint_config(settings, member.base_url, member.model)
    if isinstance(argument, ModelConfig):
        if not argument.base_url:
            raise UsageError(f"{member.label}: its model needs an endpoint: set OPENAI_BASE_URL.")
        argument = replace(argument, **config_fields(member))
    return argument


def _judge(studio: RunCreator, comparison: Comparison, plan: Plan) -> Model | None:
    expected = comparison.expected
    if expected is None or expected.judge is None:
        return None
    return judge_model(studio.settings, expected.judge, plan.judge)


def judge_model(settings: Settings, judge: Judge, given: ModelArgument = None) -> Model:
    """Return a judge's model; see ``member_model``."""
    if given is None:
        given = endpoint_config(settings, judge.base_url, judge.model)
    return select_model("", given, settings).model
