"""An experiment as JSON: what the page, the API and the exports read."""

from collections import defaultdict
from dataclasses import asdict
from typing import Any, Literal

from agent.experiments.comparison_view import columns
from agent.experiments.evaluation_view import results_and_cells
from agent.experiments.experiment import Member
from agent.experiments.folder import ExperimentFolder
from agent.experiments.outcomes import Summaries, missing
from agent.models.builtin.install import BUILTIN_ID, BUILTIN_NAME
from agent.models.parameters import camel_case
from agent.runs.metrics.provenance import provenance_of
from agent.runs.summary import Summary
from agent.titles import title_for_task

State = Literal["running", "finished", "stopped", "interrupted"]
_MODE_DETAILS = {"plain": "documents in the prompt", "sandbox": "documents as files"}


def describe(
    folder: ExperimentFolder,
    summaries: Summaries,
    *,
    running: bool = False,
    can_edit: bool = True,
) -> dict[str, Any]:
    """Return an experiment with its results: a comparison's table, an evaluation's cells.

    Args:
        summaries: The summaries of its runs by id: None for one that is queued or starting; a
            run that is missing here was deleted.
        running: Whether its runs are being carried out, or are to be.
        can_edit: Whether the reader may stop, continue and delete it.
    """
    definition, known = folder.definition, defaultdict[int, list[Summary]](list)
    for entry in folder.runs():
        if (summary := summaries.get(entry.run)) is not None:
            known[entry.member].append(summary)
    view = results_and_cells if definition.suites else columns
    shown = view(folder, summaries, running=running)
    members = [
        _member_to_json(index, member, known[index])
        for index, member in enumerate(definition.members)
    ]
    return {
        "id": definition.id,
        "title": title_of(folder),
        "created": definition.created,
        "canEdit": can_edit,
        "pinned": folder.pinned,
        "state": _state(folder, summaries, running=running),
        "baseline": definition.baseline,
        "repetitions": definition.repetitions,
        **shown,
        "members": [each | more for each, more in zip(members, shown["members"], strict=True)],
    }


def title_of(folder: ExperimentFolder) -> str:
    """Return the title that the user gave, or the suites' titles, or the task's first line."""
    suites = folder.definition.suites
    if folder.title or not suites:
        return folder.title or title_for_task(folder.definition.task)
    return ", ".join(f"{suite.title} (sample)" if suite.sample else suite.title for suite in suites)


def _state(folder: ExperimentFolder, summaries: Summaries, *, running: bool) -> State:
    """Return what an experiment as a whole is doing."""
    if running:
        return "running"
    if not missing(folder, summaries):
        return "finished"
    return "stopped" if folder.stopped else "interrupted"


def _member_to_json(index: int, member: Member, known: list[Summary]) -> dict[str, Any]:
    """Return a member; its model is the one that answered, or before that, the one asked for."""
    asked = BUILTIN_NAME if member.model == BUILTIN_ID else member.model
    return {
        "index": index,
        "label": member.label,
        "detail": _MODE_DETAILS[member.mode],
        "model": known[0].model if known else asked,
        "mode": member.mode,
        "settings": _settings_of(member),
        **provenance_of(each.metrics for each in known),
    }


def _settings_of(member: Member) -> dict[str, Any]:
    """Return the settings of a member that are set, by the page's names."""
    values = asdict(member)
    for name in ("label", "mode", "model"):
        del values[name]
    empty: tuple[Any, ...] = (None, "", {}, ())
    return {camel_case(name): value for name, value in values.items() if value not in empty}
