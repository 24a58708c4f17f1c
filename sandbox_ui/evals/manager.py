"""Evaluations of the studio: start, stop, continue, describe, delete."""

import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from agent.data_folder import is_in_use
from agent.errors import RunActive, RunError, StorageFull, StudioError
from agent.events import now
from agent.experiments import process
from agent.experiments.description import title_of
from agent.experiments.experiment import remaining_seconds
from agent.experiments.folder import ExperimentFolder
from agent.experiments.outcomes import has_ended, infrastructure, is_infrastructure, missing
from agent.runs.summary import Summary
from agent.settings import Settings
from sandbox_ui.auth.user import User
from sandbox_ui.compare.cells import Place
from sandbox_ui.compare.group_manager import GroupManager
from sandbox_ui.compare.registry import ExperimentRegistry
from sandbox_ui.compare.request import ResumeRequest
from sandbox_ui.compare.scoring import BackgroundWork
from sandbox_ui.evals.definition import define, loaded_suites
from sandbox_ui.evals.documents import Documents
from sandbox_ui.evals.observed import ObservedEvaluation
from sandbox_ui.evals.request import EvaluationRequest
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.runs.manager import RunManager


class EvaluationManager(GroupManager):
    """The evaluations of one data folder. Thread-safe.

    Attributes:
        followers: Who is told when something about an evaluation changes.
    """

    max_running = 5

    def __init__(
        self,
        registry: ExperimentRegistry,
        runs: RunManager,
        catalog: Catalog,
        settings: Settings,
    ) -> None:
        super().__init__(registry, runs, catalog, settings)
        self._started: dict[str, _Start] = {}
        self._observed: dict[str, ObservedEvaluation] = {}
        self._scoring = BackgroundWork(self._scored)
        self._documents = Documents(registry, self._summaries, self.is_running)
        runs.on_round_ended(self._run_ended)

    def close(self) -> None:
        """Start no further runs; call before the live runs are closed."""
        self._scoring.close()
        super().close()

    def create(self, request: EvaluationRequest, user: User) -> str:
        """Start an evaluation; return its id. The draft with its data is deleted."""
        self._require_capacity(user.id)
        uploads = self._runs.workspace(request.inputs) if request.inputs else None
        with loaded_suites(request, uploads, user) as suites:
            definition, participants = define(request, suites, self._settings, user)
            self._runs.admission.check_start(user.id, suites[0].tasks[0].text)
            try:
                folder = self.registry.create(definition, suites, request.title)
            except OSError as error:
                raise StorageFull(
                    f"The evaluation cannot be created: {error.strerror}. "
                    "Free some space on the studio's disk."
                ) from error
        if request.inputs:
            self._catalog.discard_draft(request.inputs)
        self._carry_out(folder, missing(folder, {}), participants, user)
        return folder.id

    def in_brief(self, owner: str | None) -> list[dict[str, Any]]:
        """Return all evaluations, or one user's, newest first, in a few words each."""
        folders = self.registry.all(owner)
        return [
            {
                "id": folder.id,
                "title": title_of(folder),
                "created": folder.definition.created,
                "pinned": folder.pinned,
                "running": self.is_running(folder.id),
            }
            for folder in sorted(folders, key=lambda each: -each.definition.created)
        ]

    def is_elsewhere(self, evaluation: str) -> bool:
        """Return whether an evaluation is in a folder that another process uses."""
        return self._observe(evaluation) is not None

    def catch_up(self, evaluation: str) -> None:
        """Read what another process has written of an evaluation; take over what it has left.

        An evaluation whose process has ended or was killed moves to the data folder, with its
        runs.
        """
        observed = self._observe(evaluation)
        if observed is not None and not is_in_use(observed.folder.data):
            self._catalog.adopt()
            self._documents.forget(evaluation)
            observed = self._observe(evaluation)
        if observed is not None:
            running = self.is_running(evaluation)
            if running != observed.running:
                self._documents.forget(evaluation)
            places = observed.changed_places(running=running)
            cells = self.registry.cells(evaluation)
            summaries = self._summaries(evaluation, cells.runs_at(places))
            cells.refresh(places, summaries, running=running)

    def describe(self, evaluation: str) -> dict[str, Any]:
        """Return an evaluation with all tasks and cells, for its owner."""
        self.catch_up(evaluation)
        described = self._documents.whole(evaluation)
        return described | self._activity(evaluation, described)

    def overview(self, evaluation: str, *, fresh: bool = True) -> dict[str, Any]:
        """Return an evaluation without its tasks and cells.

        Args:
            fresh: Compute its results as they are now; otherwise those that were computed last
                will do, if computing them often would take too much time.
        """
        self.catch_up(evaluation)
        described = self._documents.overview(evaluation, fresh=fresh)
        return described | self._activity(evaluation, described)

    def progress(self, evaluation: str) -> dict[str, Any]:
        """Return the number of runs by outcome and an estimate of the remaining seconds."""
        counts = self.registry.cells(evaluation).counts()
        start = self._started.get(evaluation)
        remaining = None
        if start is not None and evaluation in self._executions:
            done, total = counts["done"] - start.done, counts["total"] - start.done
            remaining = remaining_seconds(done, total, time.monotonic() - start.at)
        return {"counts": counts, "remaining": remaining}

    def stop(self, evaluation: str) -> None:
        """Stop all runs of an evaluation, and start no more of them."""
        folder = self._own_folder(evaluation)
        execution = self._executions.get(evaluation)
        if execution is not None:
            folder.set_stopped(True)
            execution.stop()
        self.followers.notify(evaluation)

    def resume(self, evaluation: str, request: ResumeRequest, user: User) -> None:
        """Start the runs that are missing, were stopped or were interrupted."""
        folder = self._idle_folder(evaluation)
        todo = missing(folder, self._summaries(evaluation, self.registry.run_ids(evaluation)))
        if not todo and not self._unscored(folder):
            raise RunError("All runs of this evaluation have been carried out.")
        self._continue(folder, todo, request, user)

    def retry_infrastructure(self, evaluation: str, request: ResumeRequest, user: User) -> None:
        """Start again the runs that failed by an infrastructure error, and only those.

        Raises:
            StudioError: if there are none, or a member has no model.
        """
        folder = self._idle_folder(evaluation)
        todo = infrastructure(
            folder, self._summaries(evaluation, self.registry.run_ids(evaluation))
        )
        if not todo:
            raise RunError("No run of this evaluation failed by an infrastructure error.")
        self._continue(folder, todo, request, user)

    def is_running(self, evaluation: str) -> bool:
        """Whether runs of an evaluation are in progress, or their scores are being computed."""
        if evaluation in self._executions or self._scoring.pending(evaluation) > 0:
            return True
        try:
            observed = self._observe(evaluation)
        except RunError:
            return False  # it was deleted
        return observed is not None and process.find(observed.folder.path) is not None

    def _activity(self, evaluation: str, described: Mapping[str, Any]) -> dict[str, Any]:
        """Return what an evaluation is doing, and what can be done with it."""
        running, folder = self.is_running(evaluation), self.registry.folder(evaluation)
        execution = self._executions.get(evaluation)
        elsewhere = self._where(folder)
        counts = self.registry.cells(evaluation).counts()
        return self.progress(evaluation) | {
            "state": "running" if running else described["state"],
            "reason": self._reason(evaluation),
            "testing": execution.testing if execution else [],
            "elsewhere": elsewhere,
            "canResume": not running
            and (counts["done"] < counts["total"] or bool(self._unscored(folder))),
            "canRetry": not running and counts["infrastructure"] > 0,
            "now": now(),
        }

    def _forget(self, group: str) -> None:
        self._documents.forget(group)

    def _begin(self, folder: ExperimentFolder) -> None:
        """Compute the cells anew, and score the answers that a judge did not."""
        cells = self.registry.cells(folder.id)
        cells.load(self._summaries(folder.id, cells.run_ids()), running=True)
        self._started[folder.id] = _Start(cells.counts()["done"])
        for run in self._unscored(folder):
            self._score(folder, run)
        self._refresh(folder.id, cells.unsettled())

    def _ended(self, folder: ExperimentFolder) -> None:
        """Update the cells, and forget the judge's key once no score needs it."""
        with suppress(StudioError):  # it was deleted, or the history is locked
            self._refresh(folder.id, self.registry.cells(folder.id).unsettled())
        self._forget_judge(folder.id)

    def _run_ended(self, run: str) -> None:
        """Update the cell of a run that has ended, and score its answer."""
        with self._lock:
            affected = {*self.followers.groups, *self._executions}
        for evaluation in affected:
            with suppress(RunError):  # it was deleted
                entry = self.registry.cells(evaluation).entry(run)
                if entry is not None:
                    self._score(self.registry.folder(evaluation), run)
                    self._refresh(evaluation, [(entry.task, entry.member)])
        for each in self._running():
            each.run_ended(run)

    def _score(self, folder: ExperimentFolder, run: str) -> None:
        """Score a run's answer in the background, if it has ended with a result."""
        cells = self.registry.cells(folder.id)
        entry, summary = cells.entry(run), self._summaries(folder.id, [run]).get(run)
        if entry is None or summary is None or not has_answer(summary):
            return
        self._scoring.score(folder, entry, summary, self._judges.get(folder.id))

    def _scored(self, evaluation: str, run: str) -> None:
        with suppress(StudioError):  # it was deleted, or the history is locked
            cells = self.registry.cells(evaluation)
            if (score := self.registry.folder(evaluation).score(run)) is not None:
                cells.add_score(score)
            if (entry := cells.entry(run)) is not None:
                self._refresh(evaluation, [(entry.task, entry.member)])
        self._forget_judge(evaluation)

    def _forget_judge(self, evaluation: str) -> None:
        if not self.is_running(evaluation):
            self._judges.pop(evaluation, None)
            self.followers.notify(evaluation)

    def _refresh(self, evaluation: str, places: Collection[Place]) -> None:
        """Compute some cells again, and notify the followers."""
        cells = self.registry.cells(evaluation)
        summaries = self._summaries(evaluation, cells.runs_at(places))
        cells.refresh(places, summaries, running=evaluation in self._executions)
        self.followers.notify(evaluation)

    def _summaries(self, evaluation: str, runs: Collection[str]) -> dict[str, Summary | None]:
        observed = self._observe(evaluation)
        if observed is not None:
            return observed.runs.summaries(runs)
        return self._catalog.history.summaries(runs)

    def _observe(self, evaluation: str) -> ObservedEvaluation | None:
        """Return what is seen of an evaluation of another process; None of one of our own."""
        with self._lock:
            folder = self.registry.folder(evaluation)
            if not self.registry.is_elsewhere(folder):
                self._observed.pop(evaluation, None)
                return None
            known = self._observed.get(evaluation)
            if known is None or known.folder is not folder:
                known = ObservedEvaluation(folder, self.registry.cells(evaluation))
                self._observed[evaluation] = known
            return known

    def _own_folder(self, group: str) -> ExperimentFolder:
        folder = self.registry.folder(group)
        if self.registry.is_elsewhere(folder):
            raise RunActive(self._where(folder))
        return folder

    def _where(self, folder: ExperimentFolder) -> str:
        """Return a sentence on the process that uses an evaluation; empty if this one does."""
        if not self.registry.is_elsewhere(folder):
            return ""
        owner = process.find(folder.path)
        if owner is None and not is_in_use(folder.data):
            return (
                "The command that carried this evaluation out has ended. It can be continued here "
                "once the container engine can be reached, to remove what the command left."
            )
        if owner is None:
            return (
                "Another process uses the folder of this evaluation, which can be viewed until "
                "that has ended."
            )
        return (
            f"This evaluation is carried out by {owner}. Stop it there with Ctrl+C; it can be "
            "continued here when that has ended."
        )

    def _unscored(self, folder: ExperimentFolder) -> list[str]:
        """Return the ended runs that have no score yet, or none because a judge failed."""
        cells, judged = self.registry.cells(folder.id), folder.definition.judge is not None
        return [run for run in cells.unscored() if judged or not cells.has_score(run)]


def has_answer(summary: Summary) -> bool:
    """Whether a run has ended with a result that can be scored."""
    return has_ended(summary) and not is_infrastructure(summary)


@dataclass(frozen=True, slots=True)
class _Start:
    """When an evaluation was started or continued, and how many runs were done by then."""

    done: int
    at: float = field(default_factory=time.monotonic)
