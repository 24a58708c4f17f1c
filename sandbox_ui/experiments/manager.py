"""Experiments of the studio: start, stop, continue, describe, delete."""

import threading
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Any

from agent.data_folder import is_in_use
from agent.errors import QuotaExceeded, RunActive, RunError, RunPinned, StudioError
from agent.events import now
from agent.experiments import process
from agent.experiments.description import title_of
from agent.experiments.experiment import Experiment, Kind, remaining_seconds
from agent.experiments.folder import ExperimentFolder, Key
from agent.experiments.outcomes import has_answer, infrastructure, missing
from agent.experiments.schedule import is_builtin
from agent.experiments.scoring import is_stored, judge_access
from agent.grading.checks import JudgeAccess
from agent.runs.summary import Summary
from agent.settings import Settings
from sandbox_ui.auth.user import User
from sandbox_ui.experiments.cells import Place
from sandbox_ui.experiments.definition import continued, define, loaded_suites
from sandbox_ui.experiments.documents import Documents
from sandbox_ui.experiments.execution import Execution
from sandbox_ui.experiments.inputs import InputStore, describe_inputs, require_storage
from sandbox_ui.experiments.observed import ObservedExperiment
from sandbox_ui.experiments.registry import ExperimentRegistry
from sandbox_ui.experiments.request import (
    ComparisonRequest,
    EvaluationRequest,
    Participants,
    ResumeRequest,
)
from sandbox_ui.experiments.scoring import BackgroundWork
from sandbox_ui.experiments.selection import compare_runs
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.limits.quota import Quota
from sandbox_ui.runs.followers import Followers
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.runs.service import copy_example_inputs, model_for

_JOIN_SECONDS = 10.0
_MAX_RUNNING = {"comparison": 20, "evaluation": 5}
"""How many of a kind one user may have in progress; each occupies a thread."""
_BUILTIN_NOTE = (
    "The built-in model answers one run at a time, so its runs are carried out one after the other."
)


class ExperimentManager:
    """The comparisons and evaluations of one data folder. Thread-safe."""

    def __init__(
        self,
        registry: ExperimentRegistry,
        runs: RunManager,
        catalog: Catalog,
        quota: Quota,
        settings: Settings,
    ) -> None:
        self.registry = registry
        self.followers = Followers()
        self._runs = runs
        self._catalog = catalog
        self._settings = settings
        self._quota = quota
        self._executions: dict[str, Execution] = {}
        self._starts: dict[str, tuple[int, float]] = {}  # runs that were done, and when
        self._reasons: dict[str, str] = {}
        self._judges: dict[str, JudgeAccess] = {}
        self._observed: dict[str, ObservedExperiment] = {}
        self._work = BackgroundWork(self._scored)
        self._documents = Documents(registry, self._summaries, self.is_running)
        self._lock = threading.RLock()
        runs.on_round_ended(self._run_ended)
        catalog.on_deleted(self._runs_deleted)

    def close(self) -> None:
        """Start no further runs; call before the live runs are closed."""
        self._work.close()
        with self._lock:
            running = list(self._executions.values())
        for execution in running:
            execution.close(_JOIN_SECONDS)

    def create(self, request: ComparisonRequest | EvaluationRequest, user: User) -> str:
        """Start an experiment; return its id. The draft with its inputs is deleted."""
        if isinstance(request, EvaluationRequest):
            self._require_capacity(user.id, "evaluation")
            folder, participants = self._create_evaluation(request, user)
        else:
            self._require_capacity(user.id, "comparison")
            folder, participants = self._create_comparison(request, user)
        self._carry_out(folder, missing(folder, {}), participants, user)
        return folder.id

    def create_from_runs(self, run_ids: Sequence[str], title: str, user: User) -> str:
        """Compare runs of the same task and inputs that exist; return the comparison's id."""
        definition = compare_runs(run_ids, self._runs, self.registry)
        folder = self.registry.create(replace(definition, owner=user.id), title=title)
        for member, run in enumerate(run_ids):
            self.registry.cells(folder.id).add_run(0, member, 1, run)
        return folder.id

    def describe(self, experiment: str) -> dict[str, Any]:
        """Return an experiment as JSON values, with all tasks and cells, for its owner."""
        self.catch_up(experiment)
        described = self._documents.whole(experiment)
        return described | self._activity(experiment, described)

    def overview(
        self, experiment: str, *, fresh: bool = True, listed: bool = False
    ) -> dict[str, Any]:
        """Return an experiment without its tasks and cells; see ``Documents.overview``."""
        self.catch_up(experiment)
        described = self._documents.overview(experiment, fresh=fresh, listed=listed)
        return described | self._activity(experiment, described)

    def in_brief(self, kind: Kind, owner: str | None) -> list[dict[str, Any]]:
        """Return all experiments of a kind, or one user's, newest first, in a few words each."""
        folders = [each for each in self.registry.all(owner) if each.kind == kind]
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

    def progress(self, experiment: str) -> dict[str, Any]:
        """Return the number of runs by outcome and an estimate of the remaining seconds."""
        counts = self.registry.cells(experiment).counts()
        before, at = self._starts.get(experiment, (0, 0.0))
        remaining = None
        if at and experiment in self._executions:
            done, total = counts["done"] - before, counts["total"] - before
            remaining = remaining_seconds(done, total, time.monotonic() - at)
        return {"counts": counts, "remaining": remaining}

    def is_running(self, experiment: str) -> bool:
        """Whether runs are in progress or will be started, or answers are being scored."""
        if experiment in self._executions or self._work.pending(experiment) > 0:
            return True
        try:
            observed = self._observe(experiment)
        except RunError:
            return False  # it was deleted
        return observed is not None and process.find(observed.folder.path) is not None

    def is_elsewhere(self, experiment: str) -> bool:
        """Return whether an experiment is in a folder that another process uses."""
        return self._observe(experiment) is not None

    def catch_up(self, experiment: str) -> None:
        """Read what another process has written of an experiment; take over what it has left.

        An experiment whose process has ended or was killed moves to the data folder, with its
        runs.
        """
        observed = self._observe(experiment)
        if observed is not None and not is_in_use(observed.folder.data):
            self._catalog.adopt()
            self._documents.forget(experiment)
            observed = self._observe(experiment)
        if observed is not None:
            running = self.is_running(experiment)
            if running != observed.running:
                self._documents.forget(experiment)
            places = observed.changed_places(running=running)
            cells = self.registry.cells(experiment)
            summaries = self._summaries(experiment, cells.runs_at(places))
            cells.refresh(places, summaries, running=running)

    def stop(self, experiment: str, member: int | None = None) -> None:
        """Stop the runs of one member or of all, and start no more of them."""
        folder = self._own_folder(experiment)
        if member is not None and not 0 <= member < len(folder.definition.members):
            raise RunError("There is no such member.")
        execution = self._executions.get(experiment)
        if execution is not None:
            folder.set_stopped(True)
            execution.stop(member)
        elif not folder.definition.suites:  # made from runs, or continued one by one
            for entry in folder.runs():
                if member in (None, entry.member):
                    with suppress(StudioError):
                        self._runs.stop(entry.run)
        self.followers.notify(experiment)

    def resume(self, experiment: str, request: ResumeRequest, user: User) -> None:
        """Start the runs that are missing, were stopped or were interrupted."""
        folder = self._idle_folder(experiment)
        todo = missing(folder, self._load(folder, running=False))
        if not todo and not self._unscored(folder):
            raise RunError(f"All runs of this {folder.kind} have been carried out.")
        self._continue(folder, todo, request, user)

    def retry_infrastructure(self, experiment: str, request: ResumeRequest, user: User) -> None:
        """Start again the runs that failed by an infrastructure error, and only those."""
        folder = self._idle_folder(experiment)
        todo = infrastructure(folder, self._load(folder, running=False))
        if not todo:
            raise RunError(f"No run of this {folder.kind} failed by an infrastructure error.")
        self._continue(folder, todo, request, user)

    def rename(self, experiment: str, title: str) -> str:
        """Change the title, or restore the default if it is empty; return the new title."""
        folder = self._own_folder(experiment)
        folder.set_title(title)
        self._changed(experiment)
        return title_of(folder)

    def pin(self, experiment: str, pinned: bool) -> bool:
        """Pin or unpin an experiment and its runs, which protects them; return the new state."""
        folder = self._own_folder(experiment)
        for run in self.registry.run_ids(experiment):
            with suppress(RunError):  # it was deleted
                self._catalog.pin(run, pinned)
        folder.set_pinned(pinned)
        self._changed(experiment)
        return folder.pinned

    def delete(self, experiment: str, *, with_runs: bool = False) -> int:
        """Delete an experiment that is neither in progress nor pinned; return the bytes freed.

        Its runs become independent unless they are deleted with it.
        """
        folder = self._idle_folder(experiment, advice=" Stop it first.")
        if folder.pinned:
            raise RunPinned(f"This {folder.kind} is pinned. Unpin it, then delete it.")
        own = [run for run in self.registry.run_ids(experiment) if self._belongs(run, experiment)]
        freed = 0
        if with_runs:
            freed = self._catalog.delete(own) if own else 0
        else:
            for run in own:
                self._catalog.release(run)
        try:
            self.registry.delete(experiment)
        except OSError as error:
            raise RunError(f"The {folder.kind} cannot be deleted: {error.strerror}.") from error
        self._reasons.pop(experiment, None)
        self._changed(experiment)
        return freed

    def _create_comparison(
        self, request: ComparisonRequest, user: User
    ) -> tuple[ExperimentFolder, Participants]:
        definition, participants = define(request, None, self._settings, user)
        self._runs.admission.check_start(user.id, definition.task)
        given = request.inputs
        with nullcontext(given) if given else self._catalog.new_draft(user.id) as draft:
            folder = self._with_inputs(definition, request.title, draft)

        def measured() -> None:
            self._catalog.discard_draft(draft)
            self._changed(folder.id)

        self._work.measure(folder, self._runs.workspace(draft), measured)
        return folder, participants

    def _with_inputs(self, definition: Experiment, title: str, draft: str) -> ExperimentFolder:
        """Create a comparison whose inputs are copies of a draft's."""
        if self._runs.has_started(draft):
            raise RunError("The run with the inputs has already started. Attach the files again.")
        with self._runs.locked_workspace(draft) as workspace:
            copy_example_inputs(workspace, definition.task)
            definition = replace(definition, inputs=describe_inputs(workspace))
            require_storage(definition, self._quota.remaining(definition.owner))
            folder = self.registry.create(definition, title=title)
            try:
                InputStore(folder.path).take(workspace, definition.inputs)
            except BaseException:
                self.registry.delete(folder.id)
                raise
        return folder

    def _create_evaluation(
        self, request: EvaluationRequest, user: User
    ) -> tuple[ExperimentFolder, Participants]:
        uploads = self._runs.workspace(request.inputs) if request.inputs else None
        with loaded_suites(request, uploads, user) as suites:
            definition, participants = define(request, suites, self._settings, user)
            self._runs.admission.check_start(user.id, suites[0].tasks[0].text)
            folder = self.registry.create(definition, suites, request.title)
        if request.inputs:
            self._catalog.discard_draft(request.inputs)
        return folder, participants

    def _continue(
        self, folder: ExperimentFolder, planned: Sequence[Key], request: ResumeRequest, user: User
    ) -> None:
        definition, text = folder.definition, folder.text_of(0)
        participants = continued(
            text, definition.members, definition.judging, request, self._settings, user
        )
        self._require_capacity(folder.owner, folder.kind)
        self._runs.admission.check_start(folder.owner, text)
        self._carry_out(folder, planned, participants, user)

    def _carry_out(
        self,
        folder: ExperimentFolder,
        planned: Sequence[Key],
        participants: Participants,
        user: User,
    ) -> None:
        """Start the planned runs in the background, and score ended runs that have no score."""
        cells = self.registry.cells(folder.id)
        execution = Execution(
            folder=folder, cells=cells, planned=planned, participants=participants, user=user,
            runs=self._runs, catalog=self._catalog, settings=self._settings,
            on_recorded=lambda place: self._refresh(folder.id, [place]),
            on_changed=lambda: self.followers.notify(folder.id),
            on_ended=lambda ended: self._ended(folder, ended),
        )  # fmt: skip
        access = participants.judge
        model = model_for(access, self._settings, user) if access else None
        judge = judge_access(folder.definition.judging, model)
        with self._lock:
            if folder.id in self._executions:
                raise RunActive(f"This {folder.kind} is in progress.")
            self._executions[folder.id] = execution
            self._reasons.pop(folder.id, None)
        folder.set_stopped(False)
        if judge is not None:
            self._judges[folder.id] = judge
        unscored = self._unscored(folder)  # before they are shown as being scored
        self._load(folder, running=True)
        self._starts[folder.id] = cells.counts()["done"], time.monotonic()
        self._score(folder, unscored)
        self._refresh(folder.id, cells.unsettled())
        execution.begin()
        self.followers.notify(folder.id)

    def _ended(self, folder: ExperimentFolder, execution: Execution) -> None:
        """Update the cells, and delete inputs that are not needed again."""
        with self._lock:
            del self._executions[folder.id]
            if execution.reason:
                self._reasons[folder.id] = execution.reason
        with suppress(StudioError):  # it was deleted, or the history is locked
            cells = self.registry.cells(folder.id)
            self._refresh(folder.id, cells.unsettled())
            if not folder.definition.suites and not missing(
                folder, self._summaries(folder.id, cells.run_ids())
            ):
                InputStore(folder.path).discard()
        self._forget_judge(folder.id)

    def _run_ended(self, run: str) -> None:
        """Update the cell of a run that has ended, and score its answer."""
        with self._lock:
            affected = {*self.followers.groups, *self._executions}
            running = list(self._executions.values())
        for experiment in affected:
            with suppress(RunError):  # it was deleted
                entry = self.registry.cells(experiment).entry(run)
                if entry is not None:
                    self._score(self.registry.folder(experiment), [run])
                    self._refresh(experiment, [(entry.task, entry.member)])
        for each in running:
            each.run_ended(run)

    def _runs_deleted(self, runs: Sequence[str]) -> None:
        for experiment in self.followers.groups:
            with suppress(StudioError):  # it was deleted, or the history is locked
                cells = self.registry.cells(experiment)
                entries = [entry for run in runs if (entry := cells.entry(run)) is not None]
                if entries:
                    self._documents.forget(experiment)
                    self._refresh(experiment, {(each.task, each.member) for each in entries})

    def _score(self, folder: ExperimentFolder, runs: Collection[str]) -> None:
        """Score the answers of ended runs in the background, where grades are stored."""
        cells, judge = self.registry.cells(folder.id), self._judges.get(folder.id)
        summaries = self._summaries(folder.id, runs)
        for run in runs:
            entry, summary = cells.entry(run), summaries.get(run)
            if entry is None or summary is None or not has_answer(summary):
                continue
            expected = folder.expected(entry.task)
            if expected and is_stored(folder, expected) and (judge or expected.check != "judge"):
                self._work.score(folder, entry, summary, judge)

    def _scored(self, experiment: str, run: str) -> None:
        with suppress(StudioError):  # it was deleted, or the history is locked
            cells = self.registry.cells(experiment)
            if (score := self.registry.folder(experiment).score(run)) is not None:
                cells.add_score(score)
            if (entry := cells.entry(run)) is not None:
                self._refresh(experiment, [(entry.task, entry.member)])
        self._forget_judge(experiment)

    def _unscored(self, folder: ExperimentFolder) -> list[str]:
        """Return the ended runs that have no score yet, or none because a judge failed."""
        cells, judged = self.registry.cells(folder.id), folder.definition.judging is not None
        return [
            run for run in cells.unscored()
            if (entry := cells.entry(run)) and is_stored(folder, folder.expected(entry.task))
            if judged or folder.score(run) is None
        ]  # fmt: skip

    def _forget_judge(self, experiment: str) -> None:
        """Forget the judge's key once no score needs it."""
        if not self.is_running(experiment):
            self._judges.pop(experiment, None)
            self.followers.notify(experiment)

    def _activity(self, experiment: str, described: Mapping[str, Any]) -> dict[str, Any]:
        """Return what an experiment is doing, and what can be done with it."""
        folder, counts = self.registry.folder(experiment), self.registry.cells(experiment).counts()
        state = "running" if self.is_running(experiment) else described["state"]
        idle, definition = state != "running", folder.definition
        unscored, elsewhere = self._unscored(folder) if idle else [], self._where(folder)
        if not (definition.suites or definition.judging or elsewhere):
            self._score(folder, unscored)  # what an earlier process left
        execution = self._executions.get(experiment)
        activity = {
            "state": state,
            "reason": execution.reason if execution else self._reasons.get(experiment, ""),
            "canResume": idle
            and not definition.from_runs
            and (counts["done"] < counts["total"] or bool(unscored)),
            "canRetry": idle and not definition.from_runs and counts["infrastructure"] > 0,
            "now": now(),
        }
        if not definition.suites:
            return activity | {"note": elsewhere or ("" if idle else self._note(definition))}
        return activity | self.progress(experiment) | {
            "testing": execution.testing if execution else [],
            "elsewhere": elsewhere,
        }  # fmt: skip

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

    def _changed(self, experiment: str) -> None:
        self._documents.forget(experiment)
        self.followers.notify(experiment)

    def _load(self, folder: ExperimentFolder, *, running: bool) -> dict[str, Summary | None]:
        """Compute all cells anew; return the summaries of the runs."""
        cells = self.registry.cells(folder.id)
        summaries = self._summaries(folder.id, cells.run_ids())
        cells.load(summaries, running=running)
        return summaries

    def _refresh(self, experiment: str, places: Collection[Place]) -> None:
        """Compute some cells again, and notify the followers."""
        cells = self.registry.cells(experiment)
        summaries = self._summaries(experiment, cells.runs_at(places))
        cells.refresh(places, summaries, running=experiment in self._executions)
        self.followers.notify(experiment)

    def _summaries(self, experiment: str, runs: Collection[str]) -> dict[str, Summary | None]:
        observed = self._observe(experiment)
        if observed is not None:
            return observed.runs.summaries(runs)
        return self._catalog.history.summaries(runs)

    def _observe(self, experiment: str) -> ObservedExperiment | None:
        """Return what is seen of an experiment of another process; None of one of our own."""
        with self._lock:
            folder = self.registry.folder(experiment)
            if not self.registry.is_elsewhere(folder):
                self._observed.pop(experiment, None)
                return None
            known = self._observed.get(experiment)
            if known is None or known.folder is not folder:
                known = ObservedExperiment(folder, self.registry.cells(experiment))
                self._observed[experiment] = known
            return known

    def _own_folder(self, experiment: str) -> ExperimentFolder:
        """Return a folder. Raises ``RunActive`` if another process uses it."""
        folder = self.registry.folder(experiment)
        if self.registry.is_elsewhere(folder):
            raise RunActive(self._where(folder))
        return folder

    def _idle_folder(self, experiment: str, *, advice: str = "") -> ExperimentFolder:
        """Return a folder. Raises ``RunActive``, with advice, if it is in progress."""
        folder = self._own_folder(experiment)
        if self.is_running(experiment):
            raise RunActive(f"This {folder.kind} is in progress.{advice}")
        return folder

    def _where(self, folder: ExperimentFolder) -> str:
        """Return a sentence on the process that uses an experiment; empty if this one does."""
        if not self.registry.is_elsewhere(folder):
            return ""
        owner = process.find(folder.path)
        if owner is None and not is_in_use(folder.data):
            return (
                f"The command that carried this {folder.kind} out has ended. It can be continued "
                "here once the container engine can be reached, to remove what the command left."
            )
        if owner is None:
            return (
                f"Another process uses the folder of this {folder.kind}, which can be viewed until "
                "that has ended."
            )
        return (
            f"This {folder.kind} is carried out by {owner}. Stop it there with Ctrl+C; it can be "
            "continued here when that has ended."
        )

    def _belongs(self, run: str, experiment: str) -> bool:
        """Return whether a run exists and belongs to an experiment."""
        try:
            return self._runs.peek_folder(run).comparison == experiment
        except RunError:
            return False

    def _require_capacity(self, owner: str, kind: Kind) -> None:
        with self._lock:
            running = [self.registry.folder(each) for each in self._executions]
        limit = _MAX_RUNNING[kind]
        if sum((each.owner, each.kind) == (owner, kind) for each in running) >= limit:
            raise QuotaExceeded(
                f"{limit} of your {kind}s are in progress. Wait until one has ended, or stop one."
            )
