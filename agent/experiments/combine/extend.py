"""Add members and tasks to an evaluation; what has ended stays, and only what is new is run."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from agent.errors import UsageError
from agent.experiments.experiment import Experiment, Judge, Member, check
from agent.experiments.folder import ExperimentFolder
from agent.experiments.members import complete
from agent.experiments.suite import Suite
from agent.util.text import quote


def with_members(
    known: Sequence[Member], given: Sequence[Member], model: str = "", keyed: Collection[str] = ()
) -> tuple[Member, ...]:
    """Return the known members and those of the given ones that are not among them.

    A given member whose label is missing or taken gets one that tells it from the others, unless it
    is ``keyed``: has a key under that label. ``model`` is that of a member that names none.
    """
    bare = [replace(each, label="") for each in known]
    named = [each if each.model or each.base_url else replace(each, model=model) for each in given]
    taken = {each.label for each in known}
    new = [
        replace(each, label="") if each.label in taken - set(keyed) else each
        for each in named
        if replace(each, label="") not in bare
    ]
    return complete([*known, *new], model)


@dataclass(frozen=True, slots=True)
class Grown:
    """An evaluation as it would be: its definition, the added tasks by suite, and all suites."""

    definition: Experiment
    added: Sequence[Suite]
    suites: Sequence[Suite]


def grown(
    folder: ExperimentFolder,
    members: Sequence[Member],
    suites: Sequence[Suite],
    judge: Judge | None = None,
) -> Grown:
    """Return an evaluation with members (completed) and tasks that it has not; nothing is written.

    Tasks are added as their suite is run already: its prompt, reading of answers and repetitions
    stay. Raises ``UsageError`` if a task with a known id is another one now, or all is too large.
    """
    known = folder.definition
    if known.from_runs:
        raise UsageError("A merged evaluation does not grow: extend those that it was made of.")
    if known.judge and judge and known.judge != judge:
        raise UsageError(f"Its answers are decided by {known.judge.model}. Leave the judge out.")
    whole = {each.name: each for each in folder.suites}
    added = [batch for each in suites if (batch := _new_tasks(whole.get(each.name), each)).tasks]
    for batch in added:
        whole[batch.name] = whole[batch.name].joined(batch) if batch.name in whole else batch
    definition = replace(known, members=tuple(members), judge=known.judge or judge)
    every = list(whole.values())
    check(definition, every)
    return Grown(definition, added, every)


def extend(
    folder: ExperimentFolder,
    members: Sequence[Member],
    suites: Sequence[Suite],
    judge: Judge | None = None,
) -> tuple[int, int]:
    """Add members and tasks to an evaluation; return how many of each. See ``grown``."""
    return add(folder, grown(folder, members, suites, judge))


def add(folder: ExperimentFolder, found: Grown) -> tuple[int, int]:
    """Add what ``grown`` returned for an evaluation; return how many members and tasks."""
    members = len(found.definition.members) - len(folder.definition.members)
    if members or found.added:
        folder.extend(found.definition, found.added)
    return members, sum(len(each.tasks) for each in found.added)


def runs_by_suite(folder: ExperimentFolder) -> Counter[tuple[str, int]]:
    """Return the number of runs that there are by suite and member."""
    return Counter((folder.suite_of[each.task].name, each.member) for each in folder.runs())


def _new_tasks(known: Suite | None, suite: Suite) -> Suite:
    """Return a suite with those of its tasks that are not known, as the known suite is run."""
    if known is None:
        return suite
    if task := known.changed_task(suite):
        raise UsageError(f"{suite.title}: the task {quote(task.id)} is another one now.")
    about = known.description | {"files": suite.files}
    return replace(suite, **about, tasks=known.further_tasks(suite))
