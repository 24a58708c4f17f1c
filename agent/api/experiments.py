"""Experiments from Python: what ``Studio.compare`` and ``Studio.evaluate`` carry out and return."""

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from agent.api import arguments
from agent.api.models import ModelArgument, select_model
from agent.api.placement import Placement, RunOrder, portable_inputs, portable_model
from agent.api.run import Run
from agent.data_folder import candidate_folders
from agent.errors import NotConfirmed, StudioError, TaskError, UsageError, WorkspaceError
from agent.experiments.combine.extend import runs_by_suite
from agent.experiments.description import describe
from agent.experiments.document_sizes import measure_documents
from agent.experiments.experiment import MAX_CONCURRENCY, Judge, Kind, Member
from agent.experiments.folder import ExperimentFolder, Key
from agent.experiments.outcomes import Summaries, in_turn, infrastructure, missing, unscored
from agent.experiments.preflight.checks import Preflight, preflight
from agent.experiments.process import registered
from agent.experiments.publish import exports
from agent.experiments.publish.publication import published
from agent.experiments.publish.rows import whole_rows
from agent.experiments.publish.selection import Chosen, chosen_runs
from agent.experiments.runner import Progress, Runner, StartedRun
from agent.experiments.schedule import models_of
from agent.experiments.scoring import judge_access
from agent.experiments.setup import set_up, with_request
from agent.grading.checks import JudgeAccess
from agent.history import records
from agent.history.index import History
from agent.models.base import Model, ModelConfig
from agent.models.builtin.install import BUILTIN_ID
from agent.models.parameters import config_fields
from agent.runs.folder import RunFolder
from agent.runs.summary import Summary
from agent.sandbox.disk import volume
from agent.settings import Settings
from agent.tasks.setup import write_files
from agent.util.stop import Stop

_R = TypeVar("_R", bound="ExperimentResult")


@dataclass(frozen=True, slots=True)
class ExperimentResult:
    """A comparison or an evaluation with its results.

    Attributes:
        kind: Which of both; None for either.
        id: Its id, under which the page lists it.
        description: Everything that is known, as the HTTP API returns it.
        problems: Why members could not be started, by label.
        data: The data folder that holds it.
        summaries: The summaries of its runs.
    """

    kind: ClassVar[Kind | None] = None
    id: str
    description: dict[str, Any]
    problems: Mapping[str, str]
    data: Path
    summaries: Summaries = field(repr=False)

    @property
    def state(self) -> str:
        """``finished``; or ``stopped`` or ``interrupted``, which can be continued."""
        return str(self.description["state"])

    def export(self, kind: str, k: int | None = None) -> bytes:
        """Return it in a format, such as ``tex`` or ``runs.parquet``; see ``published``.

        Raises:
            UsageError: There is no such format.
        """
        return exports.export(self.published(k), kind)

    def published(self, k: int | None = None) -> dict[str, Any]:
        """Return the description with all that exports are made from: its runs and provenance.

        Args:
            k: For pass@k and pass^k; None for the largest of which every task has so many runs.
        """
        folder = ExperimentFolder.open(self.data, self.id)
        return published(folder, self.summaries, self.description, k)

    def report(self, file: "str | os.PathLike[str]") -> None:
        """Write the report: one HTML file that needs nothing else.

        Args:
            file: The file to write; an existing one is replaced.

        Raises:
            WorkspaceError: The file cannot be written.
        """
        self._save_report(file)

    def appendix(self, file: "str | os.PathLike[str]") -> None:
        """Write the report with the runs of an appendix: see ``chosen_runs``.

        Args:
            file: The file to write; an existing one is replaced.

        Raises:
            WorkspaceError: The file cannot be written.
        """
        folder = ExperimentFolder.open(self.data, self.id)
        self._save_report(file, chosen_runs(list(whole_rows(folder, self.summaries))))

    def _save_report(
        self, file: "str | os.PathLike[str]", appendix: Mapping[str, Sequence[Chosen]] | None = None
    ) -> None:
        from agent.report import groups  # Markdown and tables: slow to import
        from agent.report.report import save_parts

        open_run = partial(RunFolder.open, self.data)
        parts = groups.parts(self.description, open_run, appendix=appendix)
        save_parts(parts, arguments.path("file", file))

    def __str__(self) -> str:
        """Return the results as text."""
        return exports.table_as_text(self.description)


class ComparisonResult(ExperimentResult):
    """A comparison with its table; see ``ExperimentResult``."""

    kind = "comparison"

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


class EvaluationResult(ExperimentResult):
    """An evaluation with its results; see ``ExperimentResult``."""

    kind = "evaluation"

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of runs by outcome, such as ``right`` and ``infrastructure``."""
        counts: dict[str, int] = self.description["counts"]
        return counts

    @property
    def runs(self) -> list[tuple[int, int, int, str]]:
        """The runs: index of task and member, repetition from 1, and the run's id."""
        return [
            (task, member, run["repetition"], run["run"])
            for task, row in enumerate(self.description["cells"])
            for member, cell in enumerate(row)
            for run in cell["runs"]
        ]

    def figure(self, key: str, member: int, domain: str = "all") -> float | None:
        """Return a figure of the results; None if it is not known.

        Args:
            key: Such as ``score``, ``gain`` or ``tokensOnce``.
            member: The member's index.
            domain: A domain, or ``all``.
        """
        for each in self.description["results"]:
            if each["domain"] == domain:
                value: float | None = each["members"][member][key]
                return value
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How an experiment is carried out; see ``Studio.compare`` and ``Studio.evaluate``.

    ``concurrency`` is None for what the placement or the definition says.
    """

    settings: Settings
    create_run: Callable[..., Run]
    place_run: Callable[[Placement, RunOrder, str], StartedRun]
    inputs: Iterable[Path] = ()
    models: Mapping[str, ModelArgument] | None
    judge: ModelArgument
    concurrency: int | None
    stop: Stop | None
    on_progress: Callable[[Progress], None] | None
    on_run: Callable[[str, Run], None] | None
    retry_infrastructure: bool = False
    placement: Placement | None = None
    confirm: Callable[[Preflight], bool] | None = None

    def argument_of(self, member: Member) -> ModelArgument:
        """Return what names a member's model; see ``member_argument``."""
        return member_argument(self.settings, member, (self.models or {}).get(member.label))


class MemberRun:
    """A ``Run`` as the runner of an experiment uses it."""

    def __init__(self, run: Run, on_run: Callable[[str, Run], None] | None, label: str) -> None:
        self.id = run.id
        self.stop = run.stop
        self._run = run
        self._on_run = on_run
        self._label = label

    def carry_out(self) -> tuple[str, str, str]:
        """Carry it out; return its status, its answer and why it failed."""
        result = self._run.wait()
        if self._on_run is not None:
            self._on_run(self._label, self._run)
        return result.status, result.answer, result.reason

    def close(self) -> None:
        """End its sandbox and unmount its disk: thousands of them would stay mounted."""
        with suppress(StudioError):
            self._run.close()
        volume.detach(self._run.recorded.folder.sandbox_folder, idle=True)


def carry_out(folder: ExperimentFolder, plan: Plan, result: type[_R]) -> _R:
    """Carry out what is missing of an experiment and return it with its results."""
    definition, placement, stop = folder.definition, plan.placement, plan.stop or Stop()
    placed = min(placement.capacity, MAX_CONCURRENCY) if placement else 0
    concurrency = placed or definition.concurrency if plan.concurrency is None else plan.concurrency
    if not 1 <= concurrency <= MAX_CONCURRENCY:
        raise UsageError(f"concurrency must be a number from 1 to {MAX_CONCURRENCY}.")
    judge = definition.judging
    model = judge_model(plan.settings, judge, plan.judge) if judge else None
    runner = Runner(
        folder, _Creator(folder, plan), partial(_model_to_test, folder, plan),
        judge_access(judge, model), plan.on_progress or (lambda _: None),
    )  # fmt: skip
    if plan.confirm is not None:
        _confirm(folder, plan, judge_access(judge, model), concurrency)
    folder.set_stopped(False)
    known = summaries(folder)
    keys = missing(folder, known)
    if plan.retry_infrastructure:
        keys = sorted([*keys, *infrastructure(folder, known)], key=in_turn)
    with registered(folder.path, placement.name if placement else ""):
        problems = runner.carry_out(keys, unscored(folder, known), concurrency, stop)
    if stop.is_set:
        folder.set_stopped(True)
    if problems and not folder.runs():
        raise StudioError(next(iter(problems.values())))
    by_label = {definition.members[index].label: why for index, why in problems.items()}
    ended = summaries(folder)
    return result(folder.id, describe(folder, ended), by_label, folder.data, ended)


def _confirm(
    folder: ExperimentFolder, plan: Plan, judge: JudgeAccess | None, concurrency: int
) -> None:
    """Check what an evaluation needs, and ask; raise ``NotConfirmed`` if it is not to start.

    A new one is then deleted: nothing of it was run.
    """
    members = range(len(folder.definition.members))
    models = models_of(members, partial(_model_to_test, folder, plan))
    places = [folder.data, *candidate_folders(plan.settings.data)]
    found = preflight(
        folder.definition, folder.suites, models, judge, plan.settings,
        list(dict.fromkeys(places)), concurrency, plan.stop, done=runs_by_suite(folder),
    )  # fmt: skip
    if plan.confirm is None or plan.confirm(found):
        return
    if not folder.runs():
        folder.delete()
    raise NotConfirmed("The evaluation was not started.")


def open_result(places: Iterable[Path], experiment: str, result: type[_R]) -> _R:
    """Return a recorded experiment as it is now, from the first data folder that has it."""
    folder = ExperimentFolder.find(places, experiment, result.kind)
    ended = records.summaries(folder.data, [entry.run for entry in folder.runs()])
    return result(folder.id, describe(folder, ended), {}, folder.data, ended)


def summaries(folder: ExperimentFolder) -> dict[str, Summary | None]:
    """Return the summaries of an experiment's runs, kept in the history's database."""
    history = History(folder.data)
    try:
        return history.summaries([entry.run for entry in folder.runs()])
    finally:
        history.indexer.close()


class _Creator:
    """Creates the runs of an experiment; the first one's documents are measured."""

    def __init__(self, folder: ExperimentFolder, plan: Plan) -> None:
        self._folder = folder
        self._plan = plan
        self._measured = threading.Event()

    def __call__(self, key: Key) -> StartedRun:
        """Create the run of a (task, member, repetition)."""
        task, index, _ = key
        plan, folder, settings = self._plan, self._folder, self._plan.settings
        member = folder.definition.members[index]
        spec = set_up(folder, key, member.spec(), settings)
        asked = folder.tasks[task] if folder.definition.suites else None
        argument = plan.argument_of(with_request(member, spec))
        if plan.placement is not None:
            order = RunOrder(
                spec=spec, model=portable_model(argument, settings),
                limits=spec.limits_of_any(settings),
                inputs=portable_inputs(asked.inputs if asked else {}),
            )  # fmt: skip
            return plan.place_run(plan.placement, order, folder.id)
        model = select_model("", argument, settings).model
        run = plan.create_run(spec, model, inputs=plan.inputs, comparison=folder.id)
        try:
            if asked is not None:
                write_files(asked.id, asked.inputs, run.recorded.workspace)
        except TaskError:
            run.close()
            raise
        if folder.definition.inputs and not self._measured.is_set():
            self._measured.set()
            with suppress(OSError, WorkspaceError):
                measure_documents(folder, run.recorded.workspace)
        return MemberRun(run, plan.on_run, member.label)


def _model_to_test(folder: ExperimentFolder, plan: Plan, index: int) -> Model | None:
    """Return an evaluation's member's model; None if only the node of its runs may reach it.

    A comparison is a few runs, which show themselves what a test would.
    """
    if plan.placement is not None or folder.kind == "comparison":
        return None
    argument = plan.argument_of(folder.definition.members[index])
    return select_model("", argument, plan.settings).model


def member_argument(settings: Settings, member: Member, given: ModelArgument) -> ModelArgument:
    """Return what names a member's model, if the caller does not; never a demonstration."""
    argument = member.spec().model_config(settings) if given is None else given
    if isinstance(argument, ModelConfig) and argument.model != BUILTIN_ID:
        if not argument.base_url:
            raise UsageError(f"{member.label}: its model needs an endpoint: set OPENAI_BASE_URL.")
        argument = replace(argument, **config_fields(member))
    return argument


def judge_model(settings: Settings, judge: Judge, given: ModelArgument = None) -> Model:
    """Return a judge's model, by default that of the endpoint that it names."""
    if given is None:
        given = judge.spec().model_config(settings)
    elif isinstance(given, ModelConfig):
        given = replace(given, **config_fields(judge))
    return select_model("", given, settings).model
