"""Experiments of the studio: start, stop, continue, describe, delete."""

import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, replace
from typing import Any

from agent.data_folder import is_in_use
from agent.errors import (
    QuotaExceeded,
    RunActive,
    RunError,
    RunPinned,
    StorageFull,
    StudioError,
    UsageError,
)
from agent.events import now
from agent.experiments import process
from agent.experiments.combine.extend import Grown, runs_by_suite
from agent.experiments.combine.merge import merge
from agent.experiments.description import title_of
from agent.experiments.experiment import (
    Experiment,
    Kind,
    SuiteInfo,
    remaining_seconds,
)
from agent.experiments.folder import Key, RunEntry
from agent.experiments.outcomes import has_answer, infrastructure, missing
from agent.experiments.preflight.checks import preflight
from agent.experiments.reading.labels import LabelEntry
from agent.experiments.schedule import is_builtin
from agent.experiments.scoring import is_stored, judge_access
from agent.experiments.suites import presets
from agent.grading.checks import JudgeAccess
from agent.settings import Settings
from sandbox_ui.auth.user import User
from sandbox_ui.experiments.definition import (
    Participants,
    define_comparison,
    define_evaluation,
    extended,
    loaded_suites,
)
from sandbox_ui.experiments.execution import Execution
from sandbox_ui.experiments.inputs import (
    describe_inputs,
    discard_inputs,
    read_inputs,
    require_storage,
)
from sandbox_ui.experiments.live_experiment import LiveExperiment, Place
from sandbox_ui.experiments.registry import ExperimentRegistry
from sandbox_ui.experiments.request import (
    ComparisonRequest,
    EvaluationRequest,
    ExtendRequest,
    ResumeRequest,
)
from sandbox_ui.experiments.scoring import BackgroundWork
from sandbox_ui.experiments.selection import compare_runs
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.limits.quota import Quota
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.runs.service import copy_example_inputs, model_for

_JOIN_SECONDS = 10.0
_MAX_RUNNING = {"comparison": 20, "evaluation": 5}  # of one user; each occupies a thread
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
        self._runs = runs
        self._catalog = catalog
        self._settings = settings
        self._quota = quota
        self._executions: dict[str, Execution] = {}
        self._extended: set[str] = set()  # by a request in progress
        self._work = BackgroundWork(self._scored)
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
        for live in self.registry.known():
            for scanner in list(live.scanners.values()):
                scanner.stop.set()

    def create(self, request: ComparisonRequest | EvaluationRequest, user: User) -> str:
        """Start an experiment; return its id. The draft with its inputs is deleted."""
        if isinstance(request, EvaluationRequest):
            live, participants = self._create_evaluation(request, user)
        else:
            live, participants = self._create_comparison(request, user)
        self._carry_out(live, missing(live.folder, {}), participants, user)
        return live.folder.id

    def check(
        self, request: EvaluationRequest | ExtendRequest, user: User, experiment: str = ""
    ) -> dict[str, Any]:
        """Test the models and judge of a new evaluation, or of what is added to an ``experiment``.

        Return what its new runs need and will take; nothing is added or started.
        """
        preset = request.preset if isinstance(request, EvaluationRequest) else ""
        with self._defined(request, user, experiment) as (found, participants):
            settings, definition = self._settings, found.definition
            done = runs_by_suite(self.registry.folder(experiment)) if experiment else {}
            text = found.suites[0].tasks[0].text
            models = {
                at: model_for(each.for_task(text), settings, user)
                for at, each in enumerate(participants.requests)
            }
            checked = preflight(
                definition, found.suites, models, self._judge(participants, user), settings,
                [settings.data], definition.concurrency, owner=user.id, done=done,
            )  # fmt: skip
            kept = tuple(SuiteInfo.of(each, "") for each in found.suites)
        departures = presets.departures(replace(definition, suites=kept)) if preset else []
        return asdict(checked) | {"preset": preset, "departures": departures}

    @contextmanager
    def _defined(
        self, request: EvaluationRequest | ExtendRequest, user: User, experiment: str = ""
    ) -> Iterator[tuple[Grown, Participants]]:
        """Yield a new evaluation, or an ``experiment`` with additions, and its participants.

        Documents are read within the block.
        """
        uploads = self._runs.workspace(request.inputs) if request.inputs else None
        if isinstance(request, EvaluationRequest):
            with loaded_suites(request, uploads, user, request.preset) as suites:
                yield define_evaluation(request, suites, self._settings, user)
            return
        folder = self._idle(experiment).folder
        if not folder.definition.suites:
            raise UsageError("Only an evaluation takes further members and tasks.")
        preset = folder.definition.suites[0].preset
        with loaded_suites(request, uploads, user, preset) as suites:
            yield extended(folder, request, suites, preset, self._settings, user)

    def _judge(self, participants: Participants, user: User) -> JudgeAccess | None:
        asked = participants.judge_request
        return judge_access(
            participants.judge, model_for(asked, self._settings, user) if asked else None
        )

    def create_from_runs(self, run_ids: Sequence[str], title: str, user: User) -> str:
        """Compare runs of the same task and inputs that exist; return the comparison's id."""
        definition = compare_runs(run_ids, self._runs, self.registry)
        live = self.registry.create(replace(definition, owner=user.id), title=title)
        for member, run in enumerate(run_ids):
            live.add_run(0, member, 1, run)
        return live.folder.id

    def describe(self, experiment: str) -> dict[str, Any]:
        """Return an experiment as JSON values, with all tasks and cells, for its owner."""
        live = self.catch_up(experiment)
        with live.summaries_lock:
            described = live.describe(running=self.is_running(live))
            return described | self._activity(live, described)

    def overview(
        self, experiment: str, *, fresh: bool = True, listed: bool = False
    ) -> dict[str, Any]:
        """Return an experiment without its tasks and cells; see ``LiveExperiment.overview``."""
        live = self.catch_up(experiment)
        with live.summaries_lock:
            running = self.is_running(live)
            described = live.overview(running=running, fresh=fresh, listed=listed)
            return described | self._activity(live, described)

    def published(
        self, experiment: str, shown: Mapping[str, Any], k: int | None = None
    ) -> dict[str, Any]:
        """Return what a reader may see of an experiment, with all that exports are made from."""
        from agent.experiments.publish.publication import published  # only to export

        live = self.registry.get(experiment)
        return published(live.folder, live.summaries(), shown, k)

    def in_brief(self, kind: Kind, owner: str | None) -> list[dict[str, Any]]:
        """Return all experiments of a kind, or one user's, newest first, in a few words each."""
        known = [each for each in self.registry.all(owner) if each.folder.kind == kind]
        return [
            {
                "id": live.folder.id,
                "title": title_of(live.folder),
                "created": live.folder.definition.created,
                "pinned": live.folder.pinned,
                "running": self.is_running(live),
            }
            for live in sorted(known, key=lambda each: -each.folder.definition.created)
        ]

    def progress(self, live: LiveExperiment) -> dict[str, Any]:
        """Return the number of runs by outcome and an estimate of the remaining seconds."""
        counts, (before, at) = live.counts(), live.started
        remaining = None
        if at and live.folder.id in self._executions:
            done, total = counts["done"] - before, counts["total"] - before
            remaining = remaining_seconds(done, total, time.monotonic() - at)
        return {"counts": counts, "remaining": remaining}

    def is_running(self, live: LiveExperiment) -> bool:
        """Return whether runs are in progress or will be started, or answers are being scored."""
        experiment = live.folder.id
        if experiment in self._executions or experiment in self._extended:
            return True
        if self._work.pending(experiment) > 0:
            return True
        return live.observed is not None and process.find(live.folder.path) is not None

    def catch_up(self, experiment: str) -> LiveExperiment:
        """Read what another process has written of an experiment; take over what it has left."""
        live = self.registry.get(experiment)
        if live.observed is not None and not is_in_use(live.folder.data):
            self._catalog.adopt()
            live = self.registry.get(experiment)
        if live.observed is not None:
            live.read_further(running=self.is_running(live))
        return live

    def stop(self, experiment: str, member: int | None = None) -> None:
        """Stop the runs of one member or of all, and start no more of them."""
        live = self.own(experiment)
        folder = live.folder
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
        live.notify()

    def resume(
        self,
        experiment: str,
        request: ResumeRequest,
        user: User,
        *,
        only_infrastructure: bool = False,
    ) -> None:
        """Start the runs that are missing, were stopped or were interrupted.

        With ``only_infrastructure``, those that failed by an infrastructure error.
        """
        live = self._idle(experiment)
        folder, summaries = live.folder, live.load(running=False)
        if only_infrastructure:
            todo = infrastructure(folder, summaries)
            nothing = f"No run of this {folder.kind} failed by an infrastructure error."
        else:
            todo = missing(folder, summaries)
            nothing = f"All runs of this {folder.kind} have been carried out."
        if not todo and (only_infrastructure or not self._unscored(live)):
            raise RunError(nothing)
        participants = Participants.of(
            self._settings, known=folder.definition, keys=request.members,
            judge_key=request.judge_api_key,
        )  # fmt: skip
        participants.check(folder.tasks[0].text, self._settings, user)
        self._check_start(folder.owner, folder.kind, folder.tasks[0].text)
        self._carry_out(live, todo, participants, user)

    def extend(self, experiment: str, request: ExtendRequest, user: User) -> dict[str, int]:
        """Add members and tasks, start their runs, delete the draft; return how many of each."""
        folder = self.registry.folder(experiment)
        known = folder.definition
        with (
            self._defined(request, user, experiment) as (found, participants),
            self._growing(experiment, known) as live,
        ):
            self._check_start(folder.owner, folder.kind, folder.tasks[0].text)
            try:
                added = live.extend(found)
            except OSError as error:
                raise StorageFull(f"Nothing can be added: {error.strerror}.") from error
            if added == (0, 0):
                raise UsageError("The evaluation has these members and tasks already.")
            if request.inputs:
                self._catalog.discard_draft(request.inputs)
            todo = missing(folder, live.load(running=False))
            self._carry_out(live, todo, participants, user)
        return {"members": added[0], "tasks": added[1]}

    @contextmanager
    def _growing(self, experiment: str, known: Experiment) -> Iterator[LiveExperiment]:
        """Reserve an idle experiment for an extension of its ``known`` definition."""
        with self._lock:
            live = self._idle(experiment)
            if live.folder.definition is not known:
                raise RunActive("Somebody else has just added to this evaluation. Try again.")
            self._extended.add(experiment)
        try:
            yield live
        finally:
            self._extended.discard(experiment)
            live.notify()

    def merge(self, evaluations: Sequence[str], title: str) -> str:
        """Make one evaluation of the runs of several, all of one user; return its id."""
        folders = [self._idle(each).folder for each in evaluations]
        if len({each.owner for each in folders}) > 1:
            raise UsageError("The evaluations belong to different users.")
        try:
            return merge(folders, title).id
        except OSError as error:
            raise StorageFull(f"They cannot be merged: {error.strerror}.") from error

    def rename(self, experiment: str, title: str) -> str:
        """Change the title, or restore the default if it is empty; return the new title."""
        live = self.own(experiment)
        live.folder.set_title(title)
        live.changed()
        return title_of(live.folder)

    def label(self, experiment: str, entry: LabelEntry) -> None:
        """Record a rater's label and note of a run and update all open pages."""
        live = self.own(experiment)
        known = live.entry(entry.run)
        if known is None:
            raise RunError(f"This run does not belong to the {live.folder.kind}.")
        live.folder.labels.add(entry)
        live.forget_overview()
        self._refresh(live, [(known.task, known.member)])

    def refresh_run(self, live: LiveExperiment, run: str) -> None:
        """Compute the cell of a run again, and notify the followers."""
        with suppress(StudioError):  # it was deleted, or the history is locked
            self._refresh(live, live.places_of([run]))

    def labels_of(self, experiment: str, runs: Collection[str]) -> dict[str, list[dict[str, Any]]]:
        """Return what each rater says of some runs, by run."""
        live = self.catch_up(experiment)
        return {run: [asdict(each) for each in live.folder.labels.of(run)] for run in runs}

    def pin(self, experiment: str, pinned: bool) -> bool:
        """Pin or unpin an experiment and its runs, which protects them; return the new state."""
        live = self.own(experiment)
        for run in live.run_ids():
            with suppress(RunError):  # it was deleted
                self._catalog.pin(run, pinned)
        live.folder.set_pinned(pinned)
        live.changed()
        return live.folder.pinned

    def delete(self, experiment: str, *, with_runs: bool = False) -> int:
        """Delete an experiment that is idle and not pinned; return the bytes freed.

        Its runs become independent unless they are deleted with it.
        """
        live = self._idle(experiment, advice=" Stop it first.")
        folder = live.folder
        if folder.pinned:
            raise RunPinned(f"This {folder.kind} is pinned. Unpin it, then delete it.")
        for scanner in live.scanners.values():
            scanner.stop.set()
        own = [run for run in live.run_ids() if self._belongs(run, experiment)]
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
        live.changed()
        return freed

    def _create_comparison(
        self, request: ComparisonRequest, user: User
    ) -> tuple[LiveExperiment, Participants]:
        definition, participants = define_comparison(request, self._settings, user)
        self._check_start(user.id, "comparison", definition.task)
        given = request.inputs
        with nullcontext(given) if given else self._catalog.new_draft(user.id) as draft:
            live = self._with_inputs(definition, request.title, draft)

        def measured() -> None:
            self._catalog.discard_draft(draft)
            live.changed()

        self._work.measure(live.folder, self._runs.workspace(draft), measured)
        return live, participants

    def _with_inputs(self, definition: Experiment, title: str, draft: str) -> LiveExperiment:
        """Create a comparison whose inputs are copies of a draft's."""
        if self._runs.has_started(draft):
            raise RunError("The run with the inputs has already started. Attach the files again.")
        with self._runs.locked_workspace(draft) as workspace:
            copy_example_inputs(workspace, definition.task)
            definition = replace(definition, inputs=describe_inputs(workspace))
            require_storage(definition, self._quota.remaining(definition.owner))
            documents = read_inputs(workspace, definition.inputs)
            return self.registry.create(definition, title=title, documents=documents)

    def _create_evaluation(
        self, request: EvaluationRequest, user: User
    ) -> tuple[LiveExperiment, Participants]:
        with self._defined(request, user) as (found, participants):
            self._check_start(user.id, "evaluation", found.suites[0].tasks[0].text)
            live = self.registry.create(found.definition, found.suites, request.title)
        if request.inputs:
            self._catalog.discard_draft(request.inputs)
        return live, participants

    def _carry_out(
        self, live: LiveExperiment, planned: Sequence[Key], participants: Participants, user: User
    ) -> None:
        """Start the planned runs in the background, and score ended runs that have no score."""
        folder = live.folder
        execution = Execution(
            live=live, planned=planned, participants=participants, user=user,
            runs=self._runs, catalog=self._catalog, settings=self._settings,
            on_recorded=lambda place: self._refresh(live, [place]),
            on_ended=lambda ended: self._ended(live, ended),
        )  # fmt: skip
        judge = self._judge(participants, user)
        with self._lock:
            if folder.id in self._executions:
                raise RunActive(f"This {folder.kind} is in progress.")
            self._executions[folder.id] = execution
            live.reason = ""
        folder.set_stopped(False)
        live.judge = judge or live.judge
        unscored = self._unscored(live)  # before they are shown as being scored
        live.load(running=True)
        live.started = live.counts()["done"], time.monotonic()
        self._score(live, unscored)
        self._refresh(live, live.unsettled())
        execution.begin()
        live.notify()

    def _ended(self, live: LiveExperiment, execution: Execution) -> None:
        """Update the cells, and delete inputs that are not needed again."""
        folder = live.folder
        with self._lock:
            del self._executions[folder.id]
            live.reason = execution.reason
        with suppress(StudioError):  # it was deleted, or the history is locked
            self._refresh(live, live.unsettled())
            if not folder.definition.suites and not missing(folder, live.summaries()):
                discard_inputs(folder)
        self._forget_judge(live)

    def _run_ended(self, run: str) -> None:
        """Update the cell of a run that has ended, and score its answer."""
        with self._lock:
            running = list(self._executions.values())
        for live in self.registry.known():
            entry = live.entry(run)
            if entry and (live.listeners or live.folder.id in self._executions):
                with suppress(RunError):  # it was deleted
                    self._score(live, [entry])
                    self._refresh(live, [(entry.task, entry.member)])
        for each in running:
            each.run_ended(run)

    def _runs_deleted(self, runs: Sequence[str]) -> None:
        for live in self.registry.known():
            places = live.places_of(runs)
            if places and live.listeners:
                with suppress(StudioError):  # it was deleted, or the history is locked
                    live.forget_overview()
                    self._refresh(live, places)

    def _score(self, live: LiveExperiment, entries: Collection[RunEntry]) -> None:
        """Score the answers of ended runs in the background, where grades are stored."""
        folder, summaries = live.folder, live.summaries([each.run for each in entries])
        for entry in entries:
            summary = summaries.get(entry.run)
            if summary is None or not has_answer(summary):
                continue
            expected = folder.expected(entry.task)
            if expected and is_stored(folder, expected) and (
                live.judge or expected.check != "judge"
            ):  # fmt: skip
                self._work.score(folder, entry, summary, live.judge)

    def _scored(self, experiment: str, run: str) -> None:
        with suppress(StudioError):  # it was deleted, or the history is locked
            live = self.registry.get(experiment)
            if execution := self._executions.get(experiment):
                execution.scored(run)
            self._refresh(live, live.places_of([run]))
            self._forget_judge(live)

    def _unscored(self, live: LiveExperiment) -> list[RunEntry]:
        """Return the ended runs that have no score yet, or none because a judge failed."""
        folder, judged = live.folder, live.folder.definition.judging is not None
        return [
            each
            for each in live.unscored()
            if is_stored(folder, folder.expected(each.task))
            if judged or folder.score(each.run) is None
        ]

    def _forget_judge(self, live: LiveExperiment) -> None:
        """Forget the judge's key once no score needs it."""
        if not self.is_running(live):
            live.judge = None
            live.notify()

    def _activity(self, live: LiveExperiment, described: Mapping[str, Any]) -> dict[str, Any]:
        """Return what an experiment is doing, and what can be done with it."""
        folder, counts = live.folder, live.counts()
        state = "running" if self.is_running(live) else described["state"]
        idle, definition = state != "running", folder.definition
        unscored, elsewhere = self._unscored(live) if idle else [], _where(live)
        if not (definition.suites or definition.judging or elsewhere):
            self._score(live, unscored)  # what an earlier process left
        execution = self._executions.get(folder.id)
        return {
            "state": state,
            "reason": execution.reason if execution else live.reason,
            "canResume": idle
            and not definition.from_runs
            and (counts["done"] < counts["total"] or bool(unscored)),
            "canRetry": idle and not definition.from_runs and counts["infrastructure"] > 0,
            "now": now(),
            "note": "" if idle else self._note(definition),
            "testing": execution.testing if execution else [],
            "elsewhere": elsewhere,
            "scanning": {
                id: {"running": not each.is_over, "problem": each.problem}
                for id, each in list(live.scanners.items())
            },
            **self.progress(live),
        }

    def _note(self, comparison: Experiment) -> str:
        if comparison.from_runs or comparison.suites:
            return ""
        if any(map(is_builtin, comparison.members)):
            return _BUILTIN_NOTE
        at_once = self._runs.admission.queue.max_active_of(comparison.owner)
        total = len(comparison.members) * comparison.repetitions
        if at_once >= total:
            return ""
        return f"At most {at_once:,} of the {total:,} runs are in progress at the same time."

    def _refresh(self, live: LiveExperiment, places: Collection[Place]) -> None:
        """Compute some cells again, and notify the followers."""
        with live.summaries_lock:
            live.refresh(places, running=live.folder.id in self._executions)
        live.notify()

    def own(self, experiment: str) -> LiveExperiment:
        """Return an experiment of this process. Raises ``RunActive`` if another one uses it."""
        live = self.registry.get(experiment)
        if live.observed is not None:
            raise RunActive(_where(live))
        return live

    def _idle(self, experiment: str, *, advice: str = "") -> LiveExperiment:
        """Return an experiment. Raises ``RunActive``, with advice, if it is in progress."""
        live = self.own(experiment)
        if self.is_running(live):
            raise RunActive(f"This {live.folder.kind} is in progress.{advice}")
        return live

    def _belongs(self, run: str, experiment: str) -> bool:
        """Return whether a run exists and belongs to an experiment."""
        try:
            return self._runs.peek_folder(run).comparison == experiment
        except RunError:
            return False

    def _check_start(self, owner: str, kind: Kind, text: str) -> None:
        """Check that an owner may start runs, and one more experiment of a kind."""
        with self._lock:
            running = [each.live.folder for each in self._executions.values()]
        limit = _MAX_RUNNING[kind]
        if sum((each.owner, each.kind) == (owner, kind) for each in running) >= limit:
            raise QuotaExceeded(
                f"{limit} of your {kind}s are in progress. Wait until one has ended, or stop one."
            )
        self._runs.admission.check_start(owner, text)


def _where(live: LiveExperiment) -> str:
    """Return a sentence on the process that uses an experiment; empty if this one does."""
    folder = live.folder
    if live.observed is None:
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
