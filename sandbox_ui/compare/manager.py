"""Comparisons of the studio: start, stop, continue, describe, delete."""

import time
from collections.abc import Collection, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Any

from agent.errors import RunError, StudioError
from agent.events import now
from agent.experiments.description import describe
from agent.experiments.experiment import Experiment
from agent.experiments.folder import ExperimentFolder, Key
from agent.experiments.outcomes import Outcome, missing, outcomes_of
from agent.experiments.runner import is_builtin
from agent.grading.checks import CHECKS, JudgeAccess
from agent.runs.summary import Summary
from agent.settings import Settings
from sandbox_ui.auth.user import User
from sandbox_ui.compare.cells import Place
from sandbox_ui.compare.definition import define
from sandbox_ui.compare.group_manager import GroupManager
from sandbox_ui.compare.inputs import Drafts, InputStore
from sandbox_ui.compare.registry import ExperimentRegistry
from sandbox_ui.compare.request import ComparisonRequest, ResumeRequest
from sandbox_ui.compare.scoring import BackgroundWork
from sandbox_ui.compare.selection import compare_runs
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.limits.quota import Quota
from sandbox_ui.runs.manager import RunManager

_DESCRIPTION_SECONDS = 0.5
_MAX_DESCRIBED = 32
_BUILTIN_NOTE = (
    "The built-in model answers one run at a time, so its runs are carried out one after the other."
)


class ComparisonManager(GroupManager):
    """The comparisons of one data folder. Thread-safe.

    Attributes:
        followers: Who is told when a comparison's runs start or end.
    """

    max_running = 20

    def __init__(
        self,
        registry: ExperimentRegistry,
        runs: RunManager,
        catalog: Catalog,
        quota: Quota,
        settings: Settings,
    ) -> None:
        super().__init__(registry, runs, catalog, settings)
        self._drafts = Drafts(registry, runs, quota)
        self._described: dict[str, tuple[float, dict[str, Any]]] = {}
        self._verdicts: dict[str, tuple[str, str]] = {}
        self._work = BackgroundWork(lambda comparison, _: self.followers.notify(comparison))
        runs.on_round_ended(self._run_ended)
        catalog.on_deleted(self._runs_deleted)

    def close(self) -> None:
        """Start no further runs; call before the live runs are closed."""
        self._work.close()
        super().close()

    def create(self, request: ComparisonRequest, user: User) -> str:
        """Start a comparison; return its id. The draft with its inputs is deleted."""
        definition, participants = define(request, self._settings, user)
        self._require_capacity(user.id)
        self._runs.admission.check_start(user.id, definition.task)
        given = request.inputs
        with nullcontext(given) if given else self._catalog.new_draft(user.id) as draft:
            folder = self._drafts.take(definition, request.title, draft)
        workspace = self._runs.workspace(draft)
        self._work.measure(folder, workspace, lambda: self._measured(folder, draft))
        self._carry_out(folder, self._missing(folder), participants, user)
        return folder.id

    def create_from_runs(self, run_ids: Sequence[str], title: str, user: User) -> str:
        """Compare runs that exist; return the comparison's id.

        Raises:
            NotComparable: if their tasks or inputs differ.
            StudioError: if a run does not exist or has not begun.
        """
        definition = compare_runs(run_ids, self._runs, self.registry)
        folder = self.registry.create(replace(definition, owner=user.id), title=title)
        for member, run in enumerate(run_ids):
            self.registry.cells(folder.id).add_run(0, member, 1, run)
        return folder.id

    def describe(self, comparison: str, *, fresh: bool = True) -> dict[str, Any]:
        """Return a comparison as JSON values, for its owner.

        Args:
            fresh: Describe it as it is now; otherwise what was described within half a second
                will do.
        """
        folder = self.registry.folder(comparison)
        known = self._described.get(comparison)
        if known is not None and not fresh and time.monotonic() - known[0] < _DESCRIPTION_SECONDS:
            return known[1]
        described = self._describe(folder)
        with self._lock:
            self._verdicts[comparison] = described["state"], described["verdict"]["text"]
            self._described[comparison] = time.monotonic(), described
            while len(self._described) > _MAX_DESCRIBED:
                self._described.pop(next(iter(self._described)))
        return described

    def last_verdict(self, comparison: str) -> tuple[str, str] | None:
        """Return the state and the verdict when a comparison was last described, if it was."""
        known = self._verdicts.get(comparison)
        if known is not None and comparison in self._executions:
            return "running", known[1]
        return known

    def stop(self, comparison: str, member: int | None = None) -> None:
        """Stop the runs of one member or of all, and start no more of them.

        Raises:
            RunError: if the comparison or the member does not exist.
        """
        folder = self.registry.folder(comparison)
        if member is not None and not 0 <= member < len(folder.definition.members):
            raise RunError("There is no such member.")
        execution = self._executions.get(comparison)
        if execution is not None:
            folder.set_stopped(True)
            execution.stop(member)
        else:  # runs of a comparison that was made from runs, or was continued one by one
            for entry in folder.runs():
                if member in (None, entry.member):
                    with suppress(StudioError):
                        self._runs.stop(entry.run)
        self.followers.notify(comparison)

    def resume(self, comparison: str, request: ResumeRequest, user: User) -> None:
        """Start the repetitions that are missing, were stopped or were interrupted."""
        folder = self._idle_folder(comparison)
        todo = self._missing(folder)
        if not todo and not self._lacks_verdicts(folder):
            raise RunError("All runs of this comparison have been carried out.")
        self._continue(folder, todo, request, user)

    def _forget(self, group: str) -> None:
        self._described.pop(group, None)
        self._verdicts.pop(group, None)

    def _describe(self, folder: ExperimentFolder) -> dict[str, Any]:
        comparison = folder.definition
        summaries = self._summaries(folder)
        running = folder.id in self._executions or any(
            each is not None and each.running for each in summaries.values()
        )
        todo = missing(folder, summaries)
        if not running:
            self._score(folder)  # what an earlier process left
        return describe(folder, summaries, running=running) | {
            "note": self._note(comparison) if running else "",
            "reason": self._reason(folder.id),
            "canResume": not running
            and not comparison.from_runs
            and (bool(todo) or self._lacks_verdicts(folder)),
            "now": now(),
        }

    def _summaries(self, folder: ExperimentFolder) -> dict[str, Summary | None]:
        return self._catalog.history.summaries(self.registry.run_ids(folder.id))

    def _note(self, comparison: Experiment) -> str:
        if comparison.from_runs:
            return ""
        if any(map(is_builtin, comparison.members)):
            return _BUILTIN_NOTE
        at_once = self._runs.admission.queue.max_active_of(comparison.owner)
        total = len(comparison.members) * comparison.repetitions
        if at_once >= total:
            return ""
        return f"At most {at_once:,} of the {total:,} runs are in progress at the same time."

    def _measured(self, folder: ExperimentFolder, draft: str) -> None:
        self._catalog.discard_draft(draft)
        self.followers.notify(folder.id)

    def _missing(self, folder: ExperimentFolder) -> list[Key]:
        return missing(folder, self._summaries(folder))

    def _lacks_verdicts(self, folder: ExperimentFolder) -> bool:
        """Whether ended runs wait for a judge, whose key is not stored."""
        expected = folder.definition.expected
        if expected is None or expected.kind != "judge":
            return False
        return bool(self._unscored(folder))

    def _begin(self, folder: ExperimentFolder) -> None:
        """Nothing is to do before the runs of a comparison."""

    def _refresh(self, group: str, _places: Collection[Place]) -> None:
        self.followers.notify(group)

    def _score(self, folder: ExperimentFolder, judge: JudgeAccess | None = None) -> None:
        """Score ended runs that have no score, if it is stored and the judge, if any, is known."""
        expected = folder.definition.expected
        if expected is None or (expected.kind == "judge") != (judge is not None):
            return
        for outcome in self._unscored(folder):
            if outcome.summary is not None:
                self._work.score(folder, outcome.entry, outcome.summary, judge)

    def _unscored(self, folder: ExperimentFolder) -> list[Outcome]:
        """Return the ended runs with an answer whose score is to be computed and stored."""
        expected = folder.definition.expected
        if expected is None or not CHECKS[expected.kind].slow:
            return []
        return [
            outcome
            for member in outcomes_of(folder, self._summaries(folder))
            for outcome in member
            if outcome.counts and outcome.score is None and outcome.answer.strip()
        ]

    def _ended(self, folder: ExperimentFolder) -> None:
        """Score the answers, and delete inputs that are not needed again."""
        self._score(folder, self._judges.pop(folder.id, None))
        with suppress(StudioError):  # the comparison was deleted, or the history is locked
            if not self._missing(folder):
                InputStore(folder.path).discard()
        self.followers.notify(folder.id)

    def _run_ended(self, run: str) -> None:
        for execution in self._running():
            execution.run_ended(run)
        with self._lock:
            affected = {*self.followers.groups, *self._executions}
        for comparison in affected:
            if run in self._known_runs(comparison):
                folder = self.registry.folder(comparison)
                self._score(folder, self._judges.get(comparison))
                self.followers.notify(comparison)

    def _runs_deleted(self, runs: Sequence[str]) -> None:
        for comparison in self.followers.groups:
            if not self._known_runs(comparison).isdisjoint(runs):
                self.followers.notify(comparison)

    def _known_runs(self, comparison: str) -> set[str]:
        try:
            return set(self.registry.run_ids(comparison))
        except RunError:
            return set()
