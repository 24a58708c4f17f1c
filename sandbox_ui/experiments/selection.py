"""A comparison of runs that exist: they must have the same task and the same inputs."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from agent.errors import RunError, StudioError, UsageError, WorkspaceError
from agent.events import Event, Forked, RunContinued, RunStarted
from agent.experiments.experiment import (
    MAX_LABEL,
    MAX_MEMBERS,
    Experiment,
    Member,
    check,
)
from agent.experiments.suite import DataFile
from agent.models.builtin.install import BUILTIN_BASE_NAME, BUILTIN_ID, BUILTIN_NAME
from agent.runs.inputs import INPUT_FOLDER
from agent.util.text import shortened
from agent.workspace.paths import RelPath
from sandbox_ui.experiments.inputs import hash_input
from sandbox_ui.experiments.registry import ExperimentRegistry
from sandbox_ui.runs.manager import RunManager

_MODE_LABELS = {"plain": "without sandbox", "sandbox": "with sandbox"}
_SHOWN = 60


class NotComparable(StudioError):
    """Runs whose task or inputs differ."""

    def __init__(self, differences: Sequence[str]) -> None:
        super().__init__(" ".join(differences))
        self.differences = tuple(differences)


@dataclass(frozen=True, slots=True)
class _Selected:
    """A selected run: how it began, its input files, and for a fork the step and what is new."""

    run: str
    began: RunStarted
    inputs: tuple[DataFile, ...]
    fork_step: int | None = None


def compare_runs(
    run_ids: Sequence[str], runs: RunManager, registry: ExperimentRegistry
) -> Experiment:
    """Return the definition of a comparison of runs; the first one is the baseline.

    Raises ``NotComparable`` if their tasks or inputs differ.
    """
    if not 2 <= len(run_ids) <= MAX_MEMBERS:
        raise UsageError(f"Select 2 to {MAX_MEMBERS} runs to compare.")
    if len(set(run_ids)) < len(run_ids):
        raise UsageError("A run can be compared only once.")
    selected = [_select(run, runs, registry) for run in run_ids]
    differences = [
        sentence
        for number, other in enumerate(selected[1:], 2)
        for sentence in _differences(selected[0], other, number)
    ]
    if differences:
        raise NotComparable(differences)
    members = tuple(_member_of(each) for each in selected)
    definition = Experiment(
        task=selected[0].began.task,
        inputs=selected[0].inputs,
        members=tuple(_numbered(members)),
        from_runs=True,
    )
    check(definition)
    return definition


def _select(run: str, runs: RunManager, registry: ExperimentRegistry) -> _Selected:
    feed = runs.feed(run)
    began = next(iter(feed.events()), None)
    if not isinstance(began, RunStarted):
        raise RunError("One of these runs has not begun.")
    comparison, parent = runs.folder(run).comparison, runs.folder(run).parent
    if parent is not None and parent.kind == "fork":
        began = _as_forked(began, feed.events())
        return _Selected(run, began, tuple(_read_inputs(run, began, runs)), parent.step)
    if comparison:
        try:
            return _Selected(run, began, registry.folder(comparison).definition.inputs)
        except RunError:
            pass  # the comparison cannot be read
    return _Selected(run, began, tuple(_read_inputs(run, began, runs)))


def _as_forked(began: RunStarted, events: Iterable[Event]) -> RunStarted:
    """Return how a run began, with the model, mode and limits that its fork goes on with."""
    forked = False
    for event in events:
        if isinstance(event, Forked):
            forked = True
            began = replace(
                began, mode=event.mode or began.mode, prompt=event.prompt or began.prompt
            )
        elif isinstance(event, RunContinued) and forked:
            began = replace(began, model=event.model, limits=event.limits or began.limits)
            forked = False
    return began


def _read_inputs(run: str, began: RunStarted, runs: RunManager) -> list[DataFile]:
    """Return the inputs as they were when the run began, or as they are if that was not kept."""
    versions = runs.file_versions(run)
    inputs = []
    for url in began.inputs:
        path = RelPath.from_url(url)
        full = RelPath(f"{INPUT_FOLDER}/{path}")
        node = versions.node(full, 0)
        if node is not None and node.kind == "file" and node.hash:
            inputs.append(DataFile(path=path.display, size=node.size, sha256=node.hash))
            continue
        try:
            with runs.open_file(run, full) as file:
                inputs.append(hash_input(file, path))
        except WorkspaceError:
            inputs.append(DataFile(path=path.display, size=0, sha256=""))
    return inputs


def _differences(first: _Selected, other: _Selected, number: int) -> list[str]:
    found = []
    if first.began.task.strip() != other.began.task.strip():
        found.append(
            f"Run {number} has another task: “{_short(other.began.task)}” instead of "
            f"“{_short(first.began.task)}”."
        )
    one = {each.path: each.sha256 for each in first.inputs}
    two = {each.path: each.sha256 for each in other.inputs}
    for path in sorted(one.keys() | two.keys()):
        if path not in two:
            found.append(f"Run {number} did not have the input “{path}”.")
        elif path not in one:
            found.append(f"Only run {number} had the input “{path}”.")
        elif not one[path] or not two[path]:
            found.append(f"The input “{path}” of a run cannot be read any more.")
        elif one[path] != two[path]:
            found.append(f"The input “{path}” of run {number} has other content.")
    return found


def _member_of(selected: _Selected) -> Member:
    began = selected.began
    builtin = began.model in (BUILTIN_NAME, BUILTIN_BASE_NAME)
    steps, at = began.limits.get("steps"), selected.fork_step
    fork = "" if at is None else f", fork at step {at}"
    label = f"{BUILTIN_NAME if builtin else began.model}, {_MODE_LABELS[began.mode]}"
    label = label[: MAX_LABEL - len(fork)]
    return Member(
        label=f"{label}{fork}",
        mode=began.mode,
        model=BUILTIN_ID if builtin else began.model,
        prompt=began.prompt or "general",
        max_steps=int(steps) if steps else None,
        network=began.network,
        hosts=began.hosts,
    )


def _short(text: str) -> str:
    return shortened(" ".join(text.split()), _SHOWN)


def _numbered(members: Sequence[Member]) -> list[Member]:
    """Return members with numbers after those labels that occur more than once."""
    counts, seen = Counter(member.label for member in members), Counter[str]()
    numbered = []
    for member in members:
        label = member.label
        seen[label] += 1
        suffix = f" {seen[label]}" if counts[label] > 1 else ""
        numbered.append(replace(member, label=f"{label[: MAX_LABEL - len(suffix)]}{suffix}"))
    return numbered
