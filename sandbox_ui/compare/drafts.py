"""Drafts with the input files of comparisons."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from agent.errors import QuotaExceeded, RunError, StorageFull, StudioError
from agent.experiments.experiment import Experiment
from agent.experiments.folder import ExperimentFolder
from agent.runs.folder import RunFolder
from agent.util.text import format_size
from sandbox_ui.auth.access import RunGroups
from sandbox_ui.compare.inputs import InputStore, describe_inputs
from sandbox_ui.compare.registry import ComparisonRegistry
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.limits.quota import Quota
from sandbox_ui.runs.example_inputs import copy_example_inputs
from sandbox_ui.runs.manager import RunManager


def delete_unrecorded_drafts(catalog: Catalog, groups: Sequence[RunGroups]) -> None:
    """Delete drafts that an earlier process made for a run of a group and did not record.

    Args:
        catalog: The catalog of all runs.
        groups: The comparisons and the evaluations.
    """
    for draft in catalog.draft_list.folders():
        if draft.comparison and not any(_includes(each, draft) for each in groups):
            with suppress(StudioError, OSError):
                catalog.delete([draft.id])


def _includes(groups: RunGroups, draft: RunFolder) -> bool:
    try:
        return draft.id in groups.run_ids(draft.comparison)
    except RunError:
        return False


class Drafts:
    """Makes comparisons from drafts.

    Args:
        registry: The comparisons.
        runs: The live runs.
        quota: The users' storage quotas.
    """

    def __init__(self, registry: ComparisonRegistry, runs: RunManager, quota: Quota) -> None:
        self._registry = registry
        self._runs = runs
        self._quota = quota

    def take(self, definition: Experiment, title: str, draft: str) -> ExperimentFolder:
        """Create a comparison whose inputs are copies of a draft's.

        Raises:
            StudioError: if it cannot be created; nothing is left of it.
        """
        if self._runs.has_started(draft):
            raise RunError("The run with the inputs has already started. Attach the files again.")
        with self._runs.locked_workspace(draft) as workspace:
            copy_example_inputs(workspace, definition.task)
            definition = replace(definition, inputs=describe_inputs(workspace))
            self._require_storage(definition)
            try:
                folder = self._registry.create(definition, title)
            except OSError as error:
                raise StorageFull(
                    f"The comparison cannot be created: {error.strerror}. "
                    "Free some space on the studio's disk."
                ) from error
            try:
                InputStore(folder.path).take(workspace, definition.inputs)
            except BaseException:
                self._registry.delete(folder.id)
                raise
        return folder

    def _require_storage(self, definition: Experiment) -> None:
        """Check that the copies of the inputs for all runs fit into the owner's quota."""
        remaining = self._quota.remaining(definition.owner)
        copies = len(definition.members) * definition.repetitions + 1
        needed = copies * sum(each.size for each in definition.inputs)
        if remaining is not None and needed > remaining:
            raise QuotaExceeded(
                f"The inputs take {format_size(needed)}, with a copy for each run, and your quota "
                f"has {format_size(remaining)} left. Delete some runs, or compare fewer."
            )
