"""Evaluations of the studio: start, stop, continue, describe, delete."""

import threading
import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from agent.compare.outcomes import is_unfinished
from agent.data_folder import is_in_use
from agent.errors import QuotaExceeded, RunActive, RunError, RunPinned, StorageFull, StudioError
from agent.evals import process
from agent.evals.description import title_of
from agent.evals.evaluation import remaining_seconds
from agent.evals.folder import EvaluationFolder, Key
from agent.evals.outcomes import infrastructure, is_infrastructure, missing
from agent.evals.scorers.score import JudgeAccess
from agent.runs.summary import Summary
from agent.settings import Settings
from sandbox_ui.auth.user import User
from sandbox_ui.compare.drafts import Drafts
from sandbox_ui.compare.execution import Execution
from sandbox_ui.compare.request import Participants, ResumeRequest
from sandbox_ui.compare.starter import release_run
from sandbox_ui.evals.cells import Place
from sandbox_ui.evals.definition import continued, define, loaded_suites
from sandbox_ui.evals.documents import Documents
from sandbox_ui.evals.observed import ObservedEvaluation
from sandbox_ui.evals.registry import EvaluationRegistry
from sandbox_ui.evals.request import EvaluationRequest
from sandbox_ui.evals.scoring import BackgroundScoring
from sandbox_ui.evals.starter import EvaluationStarter, TaskRun
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.runs import run_options
from sandbox_ui.runs.followers import Followers
from sandbox_ui.runs.manager import RunManager

MAX_RUNNING = 5
"""Maximum number of evaluations of one user in progress: each occupies a thread."""

_JOIN_SECONDS = 10.0


class EvaluationManager:
    """The evaluations of one data folder. Thread-safe.

    Args:
        registry: The evaluations.
        runs: The live runs.
        catalog: The catalog of all runs.
        drafts: Deletes drafts with uploaded data that was taken over.
        settings: The operator's settings.

    Attributes:
        registry: The evaluations.
        followers: Who is told when something about an evaluation changes.
    """

    def __init__(
        self,
        registry: EvaluationRegistry,
        runs: RunManager,
        catalog: Catalog,
        drafts: Drafts,
        settings: Settings,
    ) -> None:
        self.registry = registry
        self.followers = Followers()
        self._runs = runs
        self._catalog = catalog
        self._drafts = drafts
        self._settings = settings
        self._executions: dict[str, _Progress] = {}
        self._observed: dict[str, ObservedEvaluation] = {}
        self._reasons: dict[str, str] = {}
        self._judges: dict[str, JudgeAccess] = {}
        self._lock = threading.RLock()
        self._scoring = BackgroundScoring(self._scored)
        self._documents = Documents(registry, self._summaries, self.is_running)
        runs.on_round_ended(self._run_ended)

    def close(self) -> None:
        """Start no further runs; call before the live runs are closed."""
        self._scoring.close()
        for each in self._running():
            each.execution.close(_JOIN_SECONDS)

    def create(self, request: EvaluationRequest, user: User) -> str:
        """Start an evaluation; return its id. The draft with its data is deleted.

        Raises:
            StudioError: if it cannot be started; nothing is left of it.
        """
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
            self._drafts.delete(request.inputs)
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
        """Return whether an evaluation is in a folder that another process uses.

        Raises:
            RunError: if it does not exist.
        """
        return self._observe(evaluation) is not None

    def catch_up(self, evaluation: str) -> None:
        """Read what another process has written of an evaluation; take over what it has left.

        An evaluation whose process has ended or was killed moves to the data folder, with its
        runs.

        Raises:
            RunError: if it does not exist.
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
        """Return an evaluation with all tasks and cells, for its owner.

        Raises:
            RunError: if it does not exist.
        """
        self.catch_up(evaluation)
        described = self._documents.whole(evaluation)
        return described | self._activity(evaluation, described)

    def overview(self, evaluation: str, *, fresh: bool = True) -> dict[str, Any]:
        """Return an evaluation without its tasks and cells.

        Args:
            evaluation: Its id.
            fresh: Compute its results as they are now; otherwise those that were computed last
                will do, if computing them often would take too much time.

        Raises:
            RunError: if it does not exist.
        """
        self.catch_up(evaluation)
        described = self._documents.overview(evaluation, fresh=fresh)
        return described | self._activity(evaluation, described)

    def progress(self, evaluation: str) -> dict[str, Any]:
        """Return the number of runs by outcome and an estimate of the remaining seconds.

        Raises:
            RunError: if it does not exist.
        """
        counts = self.registry.cells(evaluation).counts()
        carried_out = self._executions.get(evaluation)
        remaining = None
        if carried_out is not None:
            remaining = remaining_seconds(
                counts["done"] - carried_out.done_before,
                counts["total"] - carried_out.done_before,
                time.time() - carried_out.began,
            )
        return {"counts": counts, "remaining": remaining}

    def stop(self, evaluation: str) -> None:
        """Stop all runs of an evaluation, and start no more of them.

        Raises:
            RunError: if it does not exist.
        """
        folder = self._own_folder(evaluation)
        carried_out = self._executions.get(evaluation)
        if carried_out is not None:
            folder.set_stopped(True)
            carried_out.execution.stop()
        self.followers.notify(evaluation)

    def resume(self, evaluation: str, request: ResumeRequest, user: User) -> None:
        """Start the runs that are missing, were stopped or were interrupted.

        Raises:
            RunActive: if the evaluation is in progress.
            StudioError: if there is nothing to start, or a member has no model.
        """
        folder = self._idle_folder(evaluation)
        todo = missing(folder, self._summaries(evaluation, self.registry.run_ids(evaluation)))
        if not todo and not self._unscored(folder):
            raise RunError("All runs of this evaluation have been carried out.")
        self._continue(folder, todo, request, user)

    def retry_infrastructure(self, evaluation: str, request: ResumeRequest, user: User) -> None:
        """Start again the runs that failed by an infrastructure error, and only those.

        Raises:
            RunActive: if the evaluation is in progress.
            StudioError: if there are none, or a member has no model.
        """
        folder = self._idle_folder(evaluation)
        todo = infrastructure(
            folder, self._summaries(evaluation, self.registry.run_ids(evaluation))
        )
        if not todo:
            raise RunError("No run of this evaluation failed by an infrastructure error.")
        self._continue(folder, todo, request, user)

    def rename(self, evaluation: str, title: str) -> str:
        """Rename an evaluation; empty restores the suites' titles. Return the new title.

        Raises:
            RunError: if it does not exist.
        """
        folder = self._own_folder(evaluation)
        folder.set_title(title)
        self._documents.forget(evaluation)
        self.followers.notify(evaluation)
        return title_of(folder)

    def pin(self, evaluation: str, pinned: bool) -> bool:
        """Protect an evaluation and its runs from deletion, or end that; return the new state.

        Raises:
            RunError: if it does not exist.
        """
        folder = self._own_folder(evaluation)
        for run in self.registry.run_ids(evaluation):
            with suppress(RunError):  # it was deleted
                self._catalog.pin(run, pinned)
        folder.set_pinned(pinned)
        self._documents.forget(evaluation)
        self.followers.notify(evaluation)
        return folder.pinned

    def delete(self, evaluation: str, *, with_runs: bool = False) -> int:
        """Delete an evaluation, and on request the runs that it started.

        Returns:
            The bytes of runs freed on disk.

        Raises:
            RunActive: if it is in progress.
            RunPinned: if it, or one of the runs to delete, is pinned.
            RunError: if it does not exist or a run cannot be deleted.
        """
        folder = self._idle_folder(evaluation)
        if folder.pinned:
            raise RunPinned("This evaluation is pinned. Unpin it, then delete it.")
        own = [run for run in self.registry.run_ids(evaluation) if self._belongs(run, evaluation)]
        freed = self._catalog.delete(own) if with_runs and own else 0
        for run in () if with_runs else own:
            release_run(run, self._runs, self._catalog)
        try:
            self.registry.delete(evaluation)
        except OSError as error:
            raise RunError(f"The evaluation cannot be deleted: {error.strerror}.") from error
        self._documents.forget(evaluation)
        self._reasons.pop(evaluation, None)
        self.followers.notify(evaluation)
        return freed

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
        elsewhere = self._where(folder)
        counts = self.registry.cells(evaluation).counts()
        carried_out = self._executions.get(evaluation)
        reason = carried_out.execution.reason if carried_out else self._reasons.get(evaluation, "")
        return self.progress(evaluation) | {
            "state": "running" if running else described["state"],
            "reason": reason,
            "elsewhere": elsewhere,
            "canResume": not running
            and (counts["done"] < counts["total"] or bool(self._unscored(folder))),
            "canRetry": not running and counts["infrastructure"] > 0,
            "now": time.time(),
        }

    def _continue(
        self, folder: EvaluationFolder, todo: Iterable[Key], request: ResumeRequest, user: User
    ) -> None:
        text = folder.tasks[0].text
        participants = continued(folder.definition, text, request, self._settings, user)
        self._require_capacity(folder.owner)
        self._runs.admission.check_start(folder.owner, text)
        self._carry_out(folder, todo, participants, user)

    def _carry_out(
        self,
        folder: EvaluationFolder,
        todo: Iterable[Key],
        participants: Participants,
        user: User,
    ) -> None:
        """Start runs in the background, and score those that have no scores."""
        cells = self.registry.cells(folder.id)
        cells.load(self._summaries(folder.id, cells.run_ids()), running=True)
        starter = EvaluationStarter(
            folder,
            cells,
            participants,
            user,
            self._runs,
            self._catalog,
            self._settings,
            lambda place: self._refresh(folder.id, [place]),
        )
        judge, access = folder.definition.judge, participants.judge
        if judge is not None and access is not None:
            model = run_options.model_for("", access, self._settings, user)
            self._judges[folder.id] = JudgeAccess(
                model=model, name=judge.model, prompt=judge.prompt, votes=judge.votes
            )
        unscored = self._unscored(folder)
        execution = Execution(
            f"evaluation {folder.id}",
            folder.definition.members,
            [TaskRun(*key) for key in todo],
            starter,
            lambda: self.followers.notify(folder.id),
            lambda ended: self._ended(folder, ended),
        )
        with self._lock:
            if folder.id in self._executions:
                raise RunActive("This evaluation is in progress.")
            self._executions[folder.id] = _Progress(execution, cells.counts()["done"])
        folder.set_stopped(False)
        self._reasons.pop(folder.id, None)
        for run in unscored:
            self._score(folder, run)
        execution.begin()
        self._refresh(folder.id, cells.unsettled())

    def _ended(self, folder: EvaluationFolder, execution: Execution[TaskRun]) -> None:
        """Forget an execution, and with it the keys, once no score needs them."""
        with self._lock:
            del self._executions[folder.id]
            if execution.reason:
                self._reasons[folder.id] = execution.reason
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
            each.execution.run_ended(run)

    def _score(self, folder: EvaluationFolder, run: str) -> None:
        """Score a run's answer in the background, if it has ended with a result."""
        cells = self.registry.cells(folder.id)
        entry, summary = cells.entry(run), self._summaries(folder.id, [run]).get(run)
        if entry is None or summary is None or not has_answer(summary):
            return
        self._scoring.score(folder, cells, entry, summary, self._judges.get(folder.id))

    def _scored(self, evaluation: str, run: str) -> None:
        with suppress(StudioError):  # it was deleted, or the history is locked
            entry = self.registry.cells(evaluation).entry(run)
            if entry is not None:
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

    def _running(self) -> "list[_Progress]":
        with self._lock:
            return list(self._executions.values())

    def _idle_folder(self, evaluation: str) -> EvaluationFolder:
        """Return the folder of an evaluation that is not in progress."""
        folder = self._own_folder(evaluation)
        if self.is_running(evaluation):
            raise RunActive("This evaluation is in progress. Stop it first.")
        return folder

    def _own_folder(self, evaluation: str) -> EvaluationFolder:
        """Return the folder of an evaluation that no other process uses."""
        folder = self.registry.folder(evaluation)
        if self.registry.is_elsewhere(folder):
            raise RunActive(self._where(folder))
        return folder

    def _where(self, folder: EvaluationFolder) -> str:
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

    def _unscored(self, folder: EvaluationFolder) -> list[str]:
        """Return the ended runs that have no score yet, or none because a judge failed."""
        cells, judged = self.registry.cells(folder.id), folder.definition.judge is not None
        return [run for run in cells.unscored() if judged or not cells.has_score(run)]

    def _belongs(self, run: str, evaluation: str) -> bool:
        """Whether a run exists and was started by an evaluation."""
        try:
            return self._runs.peek_folder(run).comparison == evaluation
        except RunError:
            return False

    def _require_capacity(self, owner: str) -> None:
        with self._lock:
            running = list(self._executions)
        if sum(self.registry.folder(each).owner == owner for each in running) >= MAX_RUNNING:
            raise QuotaExceeded(
                f"{MAX_RUNNING} of your evaluations are in progress. Wait until one has ended, or "
                "stop one."
            )


def has_answer(summary: Summary) -> bool:
    """Whether a run has ended with a result that can be scored."""
    return not summary.running and not is_unfinished(summary) and not is_infrastructure(summary)


@dataclass(slots=True)
class _Progress:
    """The execution of an evaluation, and what had been done when it began."""

    execution: Execution[TaskRun]
    done_before: int
    began: float = field(default_factory=time.time)
