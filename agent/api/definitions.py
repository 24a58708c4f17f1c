"""Definitions of experiments from the arguments of ``Studio.compare`` and ``Studio.evaluate``."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from agent.api import arguments
from agent.api.models import ModelArgument
from agent.errors import UsageError, WorkspaceError
from agent.experiments import suites
from agent.experiments.combine.extend import extend, with_members
from agent.experiments.experiment import ExpectedAnswer, Experiment, Judge, Member, check
from agent.experiments.folder import ExperimentFolder, hash_of
from agent.experiments.members import complete, parse_in_modes, parse_member, with_parameters
from agent.experiments.suite import DataFile, Suite, SuiteDescription
from agent.experiments.suites import presets
from agent.grading.checks import DEFAULT_VOTES, EXTRACTIONS, Extraction
from agent.models.parameters import checked
from agent.settings import Settings

_T = TypeVar("_T")


def define_comparison(
    task: str,
    members: "Iterable[str | Member]",
    inputs: Iterable[Path],
    repeat: int,
    expected: ExpectedAnswer | str | None,
    models: Mapping[str, ModelArgument],
    settings: Settings,
) -> Experiment:
    """Return the definition that arguments name, checked."""
    arguments.text("task", task)
    arguments.check_type("repeat", repeat, int, "a number, 1 or more")
    parsed = [each if isinstance(each, Member) else parse_member(each)[0] for each in members]
    completed = _complete_members(parsed, models, settings)
    if isinstance(expected, str):
        expected = ExpectedAnswer(kind="exact", answer=expected)
    comparison = Experiment(
        task=task, members=completed, inputs=tuple(_hash_inputs(inputs)), repetitions=repeat,
        expected=expected,
    )  # fmt: skip
    check(comparison)
    return comparison


def _complete_members(
    members: Iterable[Member], models: Mapping[str, ModelArgument], settings: Settings
) -> tuple[Member, ...]:
    """Return members with models, labels and the parameters of their endpoints, for the record."""
    completed = complete(members, settings.model if settings.base_url else "")
    for each in completed:
        try:
            each.limits_of_any(settings)
        except UsageError as error:
            raise UsageError(f"{each.label}: {error}") from error
    return with_parameters(completed, models)


def open_or_create(data: Path, wanted: Experiment, title: str, resume: str) -> ExperimentFolder:
    """Return the folder of a new comparison, or of one to continue, which must be as it was."""
    if not resume:
        return ExperimentFolder.create(data, wanted, title=title)
    folder = ExperimentFolder.open(data, resume, "comparison")
    known = folder.definition
    if replace(wanted, id=known.id, created=known.created, owner=known.owner) != known:
        raise UsageError(
            "The comparison to continue has another task, other inputs, members, repetitions or "
            "another expected answer. Give what it was started with."
        )
    return folder


def _hash_inputs(paths: Iterable[Path]) -> Iterator[DataFile]:
    """Yield the files that paths name with their hashes, as they will be in ``input/``."""
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_symlink() and file != path:
                continue
            if file.is_file() or not path.is_dir():
                name = Path(path.resolve().name) / file.relative_to(path)
                try:
                    with file.open("rb") as content:
                        found = DataFile.of(os.fspath(name), content)
                except OSError as error:
                    raise WorkspaceError(f"{file} cannot be read: {error.strerror}.") from error
                yield found


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to evaluate; see ``Studio.evaluate``."""

    suites: "str | Suite | Iterable[str | Suite]"
    members: "Iterable[str | Member]"
    data: "str | os.PathLike[str] | Mapping[str, str | os.PathLike[str]] | None" = None
    limit: "int | Mapping[str, int] | None" = None
    extraction: "Extraction | Mapping[str, Extraction] | None" = None
    repeat: "int | Mapping[str, int] | None" = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    preset: str = ""
    judge: "Judge | str | None" = None
    title: str = ""
    models: Mapping[str, ModelArgument] = field(default_factory=dict)

    @property
    def listed(self) -> "list[str | Suite]":
        """The suites as a list."""
        return [self.suites] if isinstance(self.suites, str | Suite) else list(self.suites)


def create_evaluation(
    data: Path, wanted: Wanted, settings: Settings, concurrency: int | None
) -> ExperimentFolder:
    """Create the folder of a new evaluation."""
    presets.check_name(wanted.preset)
    loaded = load_configured(wanted.listed, wanted)
    evaluation = Experiment(
        members=_members_of(wanted.members, settings, wanted.models),
        repetitions=wanted.repeat if isinstance(wanted.repeat, int) else 1,
        judge=_judge_of(wanted, wanted.preset),
        concurrency=4 if concurrency is None else concurrency,
    )  # fmt: skip
    check(evaluation, loaded)
    return ExperimentFolder.create(data, evaluation, loaded, wanted.title)


def _judge_of(wanted: Wanted, preset: str) -> Judge | None:
    """Return the judge that is asked for, with a preset's settings where it has none of its own."""
    judge = wanted.judge
    if isinstance(judge, str):
        judge = Judge(model=judge, votes=DEFAULT_VOTES)
    return presets.follow_judge(judge, preset) if judge else None


def load_configured(names: "Sequence[str | Suite]", wanted: Wanted) -> list[Suite]:
    """Return suites with their tasks, as they are asked for: what is given goes before a preset."""
    loaded = [presets.follow(each, wanted.preset) for each in _load_suites(names, wanted)]
    repeats = by_suite("repeat", wanted.repeat, loaded)
    parameters = _parameters_by_suite(wanted.parameters, loaded)
    extractions = _extraction_of(loaded, wanted.extraction)
    return [
        replace(
            suite, extraction=extraction, repeat=repeats.get(suite.name, suite.repeat),
            parameters=parameters[suite.name],
        )
        for suite, extraction in zip(loaded, extractions, strict=True)
    ]  # fmt: skip


def _by_suite(
    wanted: "_T | Mapping[str, _T] | None", names: Iterable[str], refusal: str
) -> dict[str, _T]:
    """Return what is wanted by suite, from one for all or some of each; refuse other suites."""
    if wanted is None:
        return {}
    found = dict(wanted) if isinstance(wanted, Mapping) else dict.fromkeys(names, wanted)
    if unknown := sorted(found.keys() - set(names)):
        raise UsageError(refusal.format(f"“{unknown[0]:.60}”"))
    return found


def by_suite(
    name: str, wanted: "int | Mapping[str, int] | None", suites: Iterable[SuiteDescription]
) -> dict[str, int]:
    """Return a number by suite, 1 or more, from one for all or some of each. Raises."""
    known = [suite.name for suite in suites]
    numbers = _by_suite(wanted, known, f"{name}: {{}} is not evaluated.")
    for value in numbers.values():
        arguments.check_type(name, value, int, "a number, 1 or more")
        if value < 1:
            raise UsageError(f"{name} must be 1 or more, not {value}.")
    return numbers


def _parameters_by_suite(
    wanted: Mapping[str, Any], suites: Sequence[SuiteDescription]
) -> dict[str, dict[str, Any]]:
    """Return request parameters by suite: those of all, and those that it has of its own."""
    names = {suite.name for suite in suites}
    shared = {name: value for name, value in wanted.items() if name not in names}
    return {each.name: checked({**shared, **dict(wanted.get(each.name, {}))}) for each in suites}


def open_to_extend(
    data: Path, evaluation: str, wanted: Wanted, settings: Settings
) -> ExperimentFolder:
    """Open the folder of an evaluation with what is wanted besides: members, tasks, or both."""
    folder = ExperimentFolder.open(data, evaluation, "evaluation")
    known = folder.definition
    members = known.members
    if given := list(wanted.members):
        default = settings.model if settings.base_url else ""
        every = with_members(members, _parsed_members(given), default, wanted.models)
        members = (*members, *_complete_members(every, wanted.models, settings)[len(members) :])
    names = wanted.listed or [suite.name for suite in known.suites_by_name]
    preset = wanted.preset or next((each.preset for each in known.suites), "")
    asks = wanted.listed or wanted.data or wanted.limit is not None
    loaded = load_configured(names, replace(wanted, preset=preset)) if asks else []
    extend(folder, members, loaded, _judge_of(wanted, preset))
    return folder


def open_to_resume(
    data: Path, evaluation: str, wanted: Wanted, settings: Settings
) -> ExperimentFolder:
    """Open the folder of an evaluation to continue; its tasks are those that it began with."""
    folder = ExperimentFolder.open(data, evaluation, "evaluation")
    known, members = folder.definition, list(wanted.members)
    given, judge = wanted.listed, known.judge
    names = [each if isinstance(each, str) else each.name for each in given]
    known_judge = judge.model if judge and isinstance(wanted.judge, str) else judge
    known_suites = known.suites_by_name
    known_names = [suite.name for suite in known_suites]
    repeats = by_suite("repeat", wanted.repeat, known_suites)
    others = [
        what
        for what, differs in (
            ("other suites", names and names != known_names),
            ("other members", members and _members_of(members, settings, wanted.models)
             != known.members),
            ("another judge", wanted.judge and wanted.judge != known_judge),
            ("other repetitions", any(
                suite.name in repeats and repeats[suite.name] != known.repetitions_of(suite)
                for suite in known_suites
            )),
            ("another extraction", _extraction_of(known_suites, wanted.extraction)
             != [suite.extraction for suite in known_suites]),
        )
        if differs
    ]  # fmt: skip
    if not others and (wanted.data or wanted.limit is not None):
        loaded = load_configured(given or known_names, wanted)
        if [hash_of(each) for each in loaded] != [suite.sha256 for suite in known_suites]:
            others = ["other tasks"]
    if others:
        raise UsageError(
            f"The evaluation to continue has {' and '.join(others)}. Leave them out, or give what "
            "it was started with."
        )
    return folder


def _load_suites(names: "Sequence[str | Suite]", wanted: Wanted) -> list[Suite]:
    """Load suites, from the data and with the limit that are asked for."""
    named = [each for each in names if isinstance(each, str)]
    refusal = "There is data of {}, which is not evaluated."
    paths: dict[str, str | os.PathLike[str]] = _by_suite(wanted.data, named, refusal)
    loaded = [
        suites.load(each, Path(paths[each]) if each in paths else None)
        if isinstance(each, str)
        else each
        for each in names
    ]
    limits = by_suite("limit", wanted.limit, loaded)
    return [each.first(limits[each.name]) if each.name in limits else each for each in loaded]


def _extraction_of(
    suites: Sequence[SuiteDescription], wanted: Extraction | Mapping[str, Extraction] | None
) -> list[Extraction]:
    """Return the extraction of each suite. Raises ``UsageError`` for an unknown suite or rule."""
    names = [each.name for each in suites]
    refusal = "There is an extraction of {}, which is not evaluated."
    rules: dict[str, Extraction] = _by_suite(wanted, names, refusal)
    for rule in rules.values():
        if rule not in EXTRACTIONS:
            raise UsageError(f"An extraction is {' or '.join(EXTRACTIONS)}, not “{rule!s:.20}”.")
    return [rules.get(each.name, each.extraction) for each in suites]


def _members_of(
    members: "Iterable[str | Member]", settings: Settings, models: Mapping[str, ModelArgument]
) -> tuple[Member, ...]:
    """Return members with models and labels; a text without a mode stands for both modes."""
    return _complete_members(_parsed_members(list(members) or [""]), models, settings)


def _parsed_members(members: "Iterable[str | Member]") -> list[Member]:
    found = list[Member]()
    for each in members:
        if isinstance(each, Member):
            found.append(each)
        else:
            found += [member for member, _ in parse_in_modes(each)]
    return found
