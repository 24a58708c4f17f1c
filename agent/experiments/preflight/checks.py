"""The checks before an evaluation's first run: libraries, judge, models, contexts and disk."""

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from agent.errors import WorkspaceError
from agent.experiments.document_sizes import tokens_for
from agent.experiments.experiment import Experiment
from agent.experiments.preflight.estimate import Estimate, estimate
from agent.experiments.suite import EvalTask, Suite
from agent.grading.checks import Check, Expected, JudgeAccess
from agent.models.base import Model
from agent.models.endpoint.deferred import DeferredEndpointModel, passport_of
from agent.models.passport.ensure import ensure_tested
from agent.models.passport.passport import Passport
from agent.settings import Settings
from agent.tasks.task import size_of
from agent.util.stop import Stop
from agent.util.text import plural

Level = Literal["ok", "warning", "problem"]
_LIBRARIES: Mapping[Check, tuple[str, ...]] = {
    "math": ("math_verify", "antlr4"), "rules": ("syllapy",),
}  # fmt: skip
_BYTES_OF_A_RUN = 4 * 1024**2  # besides its documents: its journal and its workspace
_EXAMPLE = EvalTask(id="example", text="What is 2 + 2?", scorer="judge", expected="4")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was checked; a ``problem`` means that the evaluation cannot work."""

    what: str
    level: Level
    text: str


@dataclass(frozen=True, slots=True)
class Preflight:
    """What was found out, and what the runs will take."""

    findings: tuple[Finding, ...]
    estimate: Estimate

    @property
    def problems(self) -> list[Finding]:
        """The findings that must be mended first."""
        return [each for each in self.findings if each.level == "problem"]


def preflight(
    definition: Experiment,
    suites: Sequence[Suite],
    models: Mapping[int, Model],
    judge: JudgeAccess | None,
    settings: Settings,
    places: Iterable[Path],
    concurrency: int,
    stop: Stop | None = None,
    owner: str | None = None,
    done: Mapping[tuple[str, int], int] = MappingProxyType({}),
) -> Preflight:
    """Check what an evaluation needs; models that were not tested are tested, which costs little.

    ``models`` are by member's index, without those that other machines reach.
    """
    stop = stop or Stop()
    expected = estimate(definition, suites, places, concurrency, owner, done)
    findings = (
        *_libraries(suites),
        *_judge(suites, judge, stop),
        *_models(definition, models, stop),
        *_contexts(definition, suites, models),
        _disk(definition, suites, settings, expected.runs),
    )
    return Preflight(findings, expected)


def _libraries(suites: Sequence[Suite]) -> Iterator[Finding]:
    """Yield whether the libraries of the scorers are installed."""
    for check, names in _LIBRARIES.items():
        titles = [suite.title for suite in suites if suite.scorer == check]
        missing = [name for name in names if find_spec(name) is None]
        if titles and missing:
            yield Finding(
                "Scoring", "problem",
                f"{', '.join(titles)}: {' and '.join(missing)} cannot be imported. Install this "
                "program's requirements again.",
            )  # fmt: skip
        elif titles:
            yield Finding("Scoring", "ok", f"{', '.join(titles)}: the libraries are installed.")


def _judge(suites: Sequence[Suite], judge: JudgeAccess | None, stop: Stop) -> Iterator[Finding]:
    """Yield whether the judge calls a right answer right, with the prompt of each suite."""
    asked = {suite.judge_prompt: suite for suite in suites if suite.scorer == "judge"}
    if judge is None:
        return
    from agent.grading.grade import grade  # only to grade

    for suite in list(asked.values())[: 1 if judge.prompt else None]:
        example: Expected = suite.expected(_EXAMPLE)
        found = grade(example, "4", replace(judge, votes=1), stop)
        if found is None:
            return
        if found.score is None:
            yield Finding("Judge", "problem", f"{judge.name}: {found.reason}")
        elif found.score < 1:
            yield Finding(
                "Judge", "warning", f"{judge.name} called 4 a wrong answer to “{_EXAMPLE.text}”."
            )
        else:
            yield Finding("Judge", "ok", f"{judge.name} judged an example for {suite.title}.")


def _models(definition: Experiment, models: Mapping[int, Model], stop: Stop) -> Iterator[Finding]:
    """Yield what the test of each member's model says; endpoints were asked with their keys."""
    problems = ensure_tested(models, stop, lambda _: None)
    for index, member in enumerate(definition.members):
        if index in problems:
            yield Finding(member.label, "problem", problems[index])
        elif index in models:
            yield _passport(member.label, member.mode, models[index])
        else:
            yield Finding(member.label, "ok", "Its model is tested where its runs are carried out.")


def _passport(label: str, mode: str, model: Model) -> Finding:
    passport = _known_passport(model)
    if passport is None:
        return Finding(label, "ok", f"{model.name} answers without an endpoint.")
    context = passport.context_tokens
    length = f"{context:,} tokens" if context else "not known"
    if mode == "sandbox" and passport.value("tools") is False:
        return Finding(label, "warning", f"{model.name} called no tool in its test.")
    return Finding(label, "ok", f"{model.name} was tested. Context length: {length}.")


def _known_passport(model: Model) -> Passport | None:
    """Return a model's passport as it is after the tests; None if there is none."""
    if isinstance(model, DeferredEndpointModel) and model.passports is not None:
        return model.passports.find(model.config.base_url, model.config.model)
    return passport_of(model)


def _contexts(
    definition: Experiment, suites: Sequence[Suite], models: Mapping[int, Model]
) -> Iterator[Finding]:
    """Yield the suites whose longest task does not fit into a context in plain mode."""
    longest = {suite.title: max(map(_tokens, suite.tasks)) for suite in suites}
    for index, member in enumerate(definition.members):
        passport = _known_passport(models[index]) if index in models else None
        context = passport.context_tokens if passport else None
        if member.mode != "plain" or context is None:
            continue
        for title, tokens in longest.items():
            if tokens >= context:
                yield Finding(
                    member.label, "warning",
                    f"The longest task of {title} has about {tokens:,} tokens in plain mode; the "
                    f"context has {context:,}. Such tasks end at the token limit.",
                )  # fmt: skip


def _tokens(task: EvalTask) -> int:
    """Return about how many tokens a task and its documents take in a prompt."""
    size = len(task.text) + sum(_size(task, name) for name in task.inputs)
    return tokens_for(size, None) or 0


def _size(task: EvalTask, name: str) -> int:
    try:
        return size_of(task.inputs[name])
    except WorkspaceError:
        return 0  # the run reports it


def _disk(
    definition: Experiment, suites: Sequence[Suite], settings: Settings, runs: int
) -> Finding:
    documents = sum(
        _size(task, name) * definition.repetitions_of(suite) * len(definition.members)
        for suite in suites
        for task in suite.tasks
        for name in task.inputs
    )
    needed, free = documents + runs * _BYTES_OF_A_RUN, _free(settings.data)
    if free is None:
        return Finding("Disk", "warning", "The free space is not known.")
    text = f"About {_gigabytes(needed)} for {plural(runs, 'run')}; {_gigabytes(free)} are free."
    return Finding("Disk", "ok" if needed < free else "problem", text)


def _free(path: Path) -> int | None:
    existing = next((each for each in (path, *path.parents) if each.exists()), None)
    return shutil.disk_usage(existing).free if existing else None


def _gigabytes(size: int) -> str:
    return f"{size / 1024**3:,.1f} GiB"
