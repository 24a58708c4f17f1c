"""Several evaluations as one, which only names their runs: nothing is copied or run."""

from collections.abc import Sequence
from dataclasses import replace

from agent.errors import UsageError
from agent.experiments.experiment import MAX_LABEL, MAX_MEMBERS, Experiment, Judge, Member, check
from agent.experiments.folder import ExperimentFolder
from agent.experiments.members import complete
from agent.experiments.reading.labels import MAX_RATERS
from agent.experiments.suite import Suite
from agent.util.text import quote

_MAY_DIFFER = ("repeat", "files")
_Place = tuple[str, str]  # the name of a suite, and the id of one of its tasks


def merge(folders: Sequence[ExperimentFolder], title: str = "") -> ExperimentFolder:
    """Create an evaluation from the runs of two or more that are alike. Raises ``UsageError``."""
    _check_places(folders)
    _check_raters(folders)
    suites = _merged_suites(folders)
    members = _merged_members(folders)
    definition = Experiment(
        members=members,
        repetitions=max(each.definition.repetitions for each in folders),
        judge=_judge_of(folders),
        owner=folders[0].owner,
        from_runs=True,
    )
    check(definition, suites)
    merged = ExperimentFolder.create(folders[0].data, definition, suites, title)
    places = {place: at for at, place in enumerate(_places(merged))}
    first = 0
    for folder in folders:
        own, scores = _places(folder), folder.scores()
        for entry in folder.runs():
            moved = replace(entry, task=places[own[entry.task]], member=first + entry.member)
            merged.take_over(moved, scores.get(entry.run), folder.labels.of(entry.run))
        first += len(folder.definition.members)
    return merged


def _check_places(folders: Sequence[ExperimentFolder]) -> None:
    if len(folders) < 2 or len({each.id for each in folders}) < len(folders):
        raise UsageError("Name two or more evaluations, each once.")
    for folder in folders:
        if not folder.definition.suites:
            raise UsageError(f"{folder.id} is a comparison; evaluations are merged.")
    if len({each.data.resolve() for each in folders}) > 1:
        raise UsageError(
            "The evaluations are in different data folders. Wait until each has ended, or close "
            "the page, so that their runs move to one."
        )


def _check_raters(folders: Sequence[ExperimentFolder]) -> None:
    raters = list(dict.fromkeys(rater for folder in folders for rater in folder.labels.raters))
    if len(raters) > MAX_RATERS:
        raise UsageError(
            f"{', '.join(raters)} have labelled the runs; one evaluation has at most {MAX_RATERS} "
            "raters."
        )


def _merged_suites(folders: Sequence[ExperimentFolder]) -> list[Suite]:
    found: dict[str, Suite] = {}
    for folder in folders:
        for each in folder.suites:
            suite = replace(each, repeat=folder.definition.repetitions_of(each))
            known = found.setdefault(suite.name, suite)
            if known is not suite:
                _check_alike(known, suite)
                most = max(known.repeat, suite.repeat)
                found[suite.name] = replace(known.joined(suite), repeat=most)
    return list(found.values())


def _check_alike(known: Suite, other: Suite) -> None:
    """Refuse suites that were asked or graded in another way, or have other tasks."""
    one, two = known.description, other.description
    different = [
        name.replace("_", " ") for name in one if name not in _MAY_DIFFER and one[name] != two[name]
    ]
    if different:
        raise UsageError(
            f"{known.title} was not carried out alike: {', '.join(different)}. Scores of different "
            "settings are not merged."
        )
    if task := known.changed_task(other):
        raise UsageError(f"{other.title}: the task {quote(task.id)} is not the same in all.")


def _merged_members(folders: Sequence[ExperimentFolder]) -> tuple[Member, ...]:
    """Return the members of all; of two with a label that a user gave, the later has a number."""
    members = [each for folder in folders for each in _without_automatic(folder)]
    if len(members) > MAX_MEMBERS:
        raise UsageError(f"An evaluation has at most {MAX_MEMBERS} members, not {len(members)}.")
    labels = list[str]()
    for member in members:
        label, number = member.label, 1
        while label and label in labels:
            number += 1
            label = f"{member.label[: MAX_LABEL - 5]} ({number})"
        labels.append(label)
    numbered = (replace(each, label=label) for each, label in zip(members, labels, strict=True))
    return complete(numbered, "")


def _without_automatic(folder: ExperimentFolder) -> list[Member]:
    """Return members without the labels that say what tells them from the others of their own."""
    members = folder.definition.members
    automatic = complete((replace(each, label="") for each in members), "")
    return [
        replace(each, label="" if each.label == other.label else each.label)
        for each, other in zip(members, automatic, strict=True)
    ]


def _judge_of(folders: Sequence[ExperimentFolder]) -> Judge | None:
    """Return the judge of all; refuse different ones."""
    found = [
        each.definition.judge for each in folders
        if any(suite.scorer == "judge" for suite in each.definition.suites)
    ]  # fmt: skip
    if any(replace(each, base_url="") != replace(found[0], base_url="") for each in found
           if each and found[0]):  # fmt: skip
        raise UsageError("The answers were decided by different judges. Their scores differ.")
    return next(filter(None, found), None)


def _places(folder: ExperimentFolder) -> list[_Place]:
    return [
        (suite.name, task.id) for task, suite in zip(folder.tasks, folder.suite_of, strict=True)
    ]
