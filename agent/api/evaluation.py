"""Evaluations from Python: ``Studio.evaluate`` and what it returns."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agent.api import arguments
from agent.api.comparison import (
    MemberRun,
    RunCreator,
    complete_members,
    judge_model,
    member_argument,
    member_model,
    recorded_summaries,
)
from agent.api.models import ModelArgument, select_model
from agent.api.placement import Placement, RunOrder, portable_inputs, portable_model
from agent.api.run import Run
from agent.compare.comparison import Judge, Member
from agent.compare.members import parse_in_modes
from agent.compare.runner import StartedRun
from agent.errors import StudioError, TaskError, UsageError
from agent.evals import evaluation as definitions
from agent.evals import exports, suites
from agent.evals.description import describe
from agent.evals.evaluation import MAX_CONCURRENCY, Evaluation
from agent.evals.folder import EvaluationFolder, Key, hash_of
from agent.evals.outcomes import in_turn, infrastructure, missing, unscored
from agent.evals.process import registered
from agent.evals.runner import EvaluationRunner, Progress
from agent.evals.scoring import answer_of
from agent.evals.setup import set_up
from agent.evals.suite import Suite, SuiteDescription
from agent.grading.checks import DEFAULT_VOTES, EXTRACTIONS, Extraction, JudgeAccess
from agent.history.index import History
from agent.models.base import Model
from agent.runs.summary import Summary
from agent.settings import Settings
from agent.tasks.setup import write_files
from agent.util.cancellation import Stop

DEFAULT_CONCURRENCY = 4


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """An evaluation with its results.

    Attributes:
        id: The evaluation's id, under which the page lists it.
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

    def export(self, kind: str) -> bytes:
        """Return the results (``csv``, ``json``, ``tex``) or the figure (``svg``, ``png``)."""
        return exports.export(self.description, kind)

    def report(self, file: "str | os.PathLike[str]") -> None:
        """Write the evaluation's report: one HTML file that needs nothing else.

        Args:
            file: The file to write; an existing one is replaced.

        Raises:
            WorkspaceError: The file cannot be written.
        """
        from agent.report.groups import evaluation_parts  # Markdown and tables: slow to import
        from agent.report.report import save_parts

        save_parts(evaluation_parts(self.description), arguments.path("file", file))

    def __str__(self) -> str:
        """Return the results as text."""
        return exports.as_text(self.description)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to evaluate; see ``Studio.evaluate``."""

    suites: "str | Suite | Iterable[str | Suite]"
    members: "Iterable[str | Member]"
    data: "str | os.PathLike[str] | Mapping[str, str | os.PathLike[str]] | None" = None
    limit: int | None = None
    extraction: "Extraction | Mapping[str, Extraction] | None" = None
    repeat: int | None = None
    judge: "Judge | str | None" = None
    title: str = ""
    models: Mapping[str, ModelArgument] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How an evaluation is carried out; see ``Studio.evaluate``."""

    models: Mapping[str, ModelArgument]
    judge: ModelArgument = None
    concurrency: int | None = None
    stop: Stop
    on_progress: Callable[[Progress], None]
    on_run: Callable[[str, Run], None]
    retry_infrastructure: bool = False
    placement: Placement | None = None


def create(
    data: Path, wanted: Wanted, settings: Settings, concurrency: int | None
) -> EvaluationFolder:
    """Create the folder of a new evaluation.

    Raises:
        UsageError: An argument is not what it has to be.
        TaskError: A suite's data is missing or invalid.
    """
    repeat = 1 if wanted.repeat is None else wanted.repeat
    arguments.check_type("repeat", repeat, int, "a number, 1 or more")
    loaded = load_suites(wanted.suites, wanted.data, wanted.limit)
    extractions = _extraction_of(loaded, wanted.extraction)
    loaded = [
        replace(suite, extraction=each) for suite, each in zip(loaded, extractions, strict=True)
    ]
    judge = wanted.judge
    if isinstance(judge, str):
        judge = Judge(model=judge, votes=DEFAULT_VOTES)
    evaluation = Evaluation(
        members=members_of(wanted.members, settings, wanted.models),
        repetitions=repeat, judge=judge,
        concurrency=DEFAULT_CONCURRENCY if concurrency is None else concurrency,
    )  # fmt: skip
    definitions.check(evaluation, loaded)
    return EvaluationFolder.create(data, evaluation, loaded, wanted.title)


def open_to_resume(
    data: Path, evaluation: str, wanted: Wanted, settings: Settings
) -> EvaluationFolder:
    """Open the folder of an evaluation to continue; its tasks are those that it began with.

    Raises:
        RunError: There is none with this id.
        UsageError: Something is named that it did not begin with.
        TaskError: The data that is named is missing or invalid.
    """
    folder = EvaluationFolder.open(data, evaluation)
    known, members = folder.definition, list(wanted.members)
    given, judge = _listed(wanted.suites), known.judge
    names = [each if isinstance(each, str) else each.name for each in given]
    known_judge = judge.model if judge and isinstance(wanted.judge, str) else judge
    known_names = [suite.name for suite in known.suites]
    others = [
        what
        for what, differs in (
            ("other suites", names and names != known_names),
            ("other members", members and members_of(members, settings, wanted.models)
             != known.members),
            ("another judge", wanted.judge and wanted.judge != known_judge),
            ("other repetitions", wanted.repeat not in (None, known.repetitions)),
            ("another extraction", _extraction_of(known.suites, wanted.extraction)
             != [suite.extraction for suite in known.suites]),
        )
        if differs
    ]  # fmt: skip
    if not others and (wanted.data or wanted.limit is not None):
        loaded = load_suites(given or known_names, wanted.data, wanted.limit)
        if [hash_of(each) for each in loaded] != [suite.sha256 for suite in known.suites]:
            others = ["other tasks"]
    if others:
        raise UsageError(
            f"The evaluation to continue has {' and '.join(others)}. Leave them out, or give what "
            "it was started with."
        )
    return folder


def _listed(suites: "str | Suite | Iterable[str | Suite]") -> "list[str | Suite]":
    return [suites] if isinstance(suites, str | Suite) else list(suites)


def load_suites(
    names: "str | Suite | Iterable[str | Suite]",
    data: "str | os.PathLike[str] | Mapping[str, str | os.PathLike[str]] | None" = None,
    limit: int | None = None,
) -> list[Suite]:
    """Load suites; see ``Studio.evaluate``.

    Raises:
        UsageError: ``data`` names no suite, or ``limit`` is not a positive number.
        TaskError: There is no such suite, or its data is missing or invalid.
    """
    wanted = _listed(names)
    named = [each for each in wanted if isinstance(each, str)]
    if data is not None and not isinstance(data, Mapping):
        if len(named) != 1:
            raise UsageError("Name the suite of each file or folder of data: SUITE=PATH.")
        data = {named[0]: data}
    paths = dict(data or {})
    if unknown := sorted(paths.keys() - set(named)):
        raise UsageError(f"There is data of “{unknown[0]:.60}”, which is not evaluated.")
    if limit is not None and limit < 1:
        raise UsageError(f"limit must be 1 or more, not {limit}.")
    loaded = [
        suites.load(each, Path(paths[each]) if each in paths else None)
        if isinstance(each, str)
        else each
        for each in wanted
    ]
    return [each if limit is None else each.first(limit) for each in loaded]


def _extraction_of(
    suites: Sequence[SuiteDescription], wanted: Extraction | Mapping[str, Extraction] | None
) -> list[Extraction]:
    """Return the extraction of each suite. Raises ``UsageError`` for an unknown suite or rule."""
    if isinstance(wanted, str):
        wanted = {each.name: wanted for each in suites}
    rules = dict(wanted or {})
    if unknown := sorted(rules.keys() - {each.name for each in suites}):
        raise UsageError(f"There is an extraction of “{unknown[0]:.60}”, which is not evaluated.")
    for rule in rules.values():
        if rule not in EXTRACTIONS:
            raise UsageError(f"An extraction is {' or '.join(EXTRACTIONS)}, not “{rule!s:.20}”.")
    return [rules.get(each.name, each.extraction) for each in suites]


def members_of(
    members: "Iterable[str | Member]", settings: Settings, models: Mapping[str, ModelArgument]
) -> tuple[Member, ...]:
    """Return members with models and labels; a text without a mode stands for both modes."""
    found = list[Member]()
    for each in list(members) or [""]:
        if isinstance(each, Member):
            found.append(each)
        else:
            found += [member for member, _ in parse_in_modes(each)]
    return complete_members(found, models, settings)


def carry_out(studio: RunCreator, folder: EvaluationFolder, plan: Plan) -> EvaluationResult:
    """Carry out what is missing of an evaluation and return it with its results.

    Raises:
        UsageError: ``concurrency`` is out of range.
        StudioError: No run could be started; the text says why.
    """
    placed = min(plan.placement.capacity, MAX_CONCURRENCY) if plan.placement else 0
    concurrency = plan.concurrency or placed or folder.definition.concurrency
    if not 1 <= concurrency <= MAX_CONCURRENCY:
        raise UsageError(f"concurrency must be a number from 1 to {MAX_CONCURRENCY}.")
    runner = EvaluationRunner(
        folder, lambda key: _create_run(studio, folder, key, plan),
        lambda member: _model_to_test(studio, folder, member, plan),
        _judge(studio.settings, folder, plan.judge), plan.on_progress,
    )  # fmt: skip
    folder.set_stopped(False)
    known = summaries(folder)
    keys = missing(folder, known)
    if plan.retry_infrastructure:
        keys = sorted([*keys, *infrastructure(folder, known)], key=in_turn)
    to_score = [
        (entry, answer_of(folder, entry, summary))
        for entry in unscored(folder, known)
        if (summary := known[entry.run]) is not None
    ]
    with registered(folder.path, plan.placement.name if plan.placement else ""):
        problems = runner.carry_out(keys, to_score, concurrency, plan.stop)
    if plan.stop.is_set:
        folder.set_stopped(True)
    if problems and not folder.runs():
        raise StudioError(next(iter(problems.values())))
    return EvaluationResult(
        folder.id,
        describe(folder, summaries(folder)),
        {folder.definition.members[index].label: why for index, why in problems.items()},
        folder.data,
    )


def open_result(places: Iterable[Path], evaluation: str) -> EvaluationResult:
    """Return a recorded evaluation as it is now.

    Args:
        places: The data folders that may hold it.
        evaluation: The evaluation's id.

    Raises:
        RunError: There is no such evaluation.
    """
    folder = EvaluationFolder.find(places, evaluation)
    known = recorded_summaries(folder.data, [entry.run for entry in folder.runs()])
    return EvaluationResult(folder.id, describe(folder, known), {}, folder.data)


def summaries(folder: EvaluationFolder) -> dict[str, Summary | None]:
    """Return the summaries of an evaluation's runs; a journal is read once after its run ended.

    They are kept in the history's database, which the page reads as well.
    """
    history = History(folder.data)
    try:
        return history.summaries([entry.run for entry in folder.runs()])
    finally:
        history.indexer.close()


def _model_to_test(
    studio: RunCreator, folder: EvaluationFolder, index: int, plan: Plan
) -> Model | None:
    """Return a member's model; None if the runs are elsewhere: only their node may reach it."""
    if plan.placement is not None:
        return None
    member = folder.definition.members[index]
    return member_model(studio.settings, member, plan.models.get(member.label))


def _create_run(studio: RunCreator, folder: EvaluationFolder, key: Key, plan: Plan) -> StartedRun:
    task, index, _ = key
    member = folder.definition.members[index]
    asked = folder.tasks[task]
    spec = set_up(folder.suite_of[task], asked, member.spec(), studio.settings)
    argument = member_argument(studio.settings, member, plan.models.get(member.label))
    if plan.placement is not None:
        order = RunOrder(
            spec=spec, model=portable_model(argument, studio.settings),
            limits=spec.limits_of_any(studio.settings), inputs=portable_inputs(asked.inputs),
        )  # fmt: skip
        return studio.place_member_run(plan.placement, order, folder.id)
    model = select_model("", argument, studio.settings).model
    run = studio.create_run(spec, model, comparison=folder.id)
    try:
        write_files(asked.id, asked.inputs, run.recorded.workspace)
    except TaskError:
        run.close()
        raise
    return MemberRun(run, plan.on_run, member.label)


def _judge(
    settings: Settings, folder: EvaluationFolder, given: ModelArgument
) -> JudgeAccess | None:
    judge = folder.definition.judge
    if judge is None:
        return None
    model = judge_model(settings, judge, given)
    return JudgeAccess(model=model, name=judge.model, prompt=judge.prompt, votes=judge.votes)
