"""Carry out the runs of an evaluation, several at a time, and score their answers.

What was done is recorded as it begins, so that an evaluation continues after the process was
killed: no run that ended is repeated.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from agent.compare.runner import StartedRun, is_builtin, run_jobs
from agent.errors import NoNodeLeft, StudioError
from agent.evals.evaluation import remaining_seconds
from agent.evals.folder import EvaluationFolder, Key, RunEntry
from agent.evals.outcomes import (
    OutcomeName,
    is_infrastructure_failure,
    outcome_of_score,
)
from agent.evals.scoring import score_run
from agent.grading.checks import JudgeAccess
from agent.models.base import Model
from agent.models.passport.ensure import ensure_tested
from agent.util.cancellation import Stop

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What an evaluation is doing, for people.

    Attributes:
        evaluation: The evaluation's id.
        task: The task's index; -1 for ``defined`` and ``testing``.
        member: The member's index.
        repetition: The repetition, from 1.
        status: ``defined`` first; ``testing`` while a member's model is tested; ``started``,
            ``scored`` for an answer of an earlier run, or how the run ended; ``not started`` if
            it could not be.
        outcome: How the run counts; None while it is carried out.
        score: The score; None if there is none.
        reason: Why it failed or has no score.
        done: Number of runs that have ended, of ``total`` to do.
        remaining: An estimate of the seconds until all have ended; None if it is not known.
    """

    evaluation: str
    task: int = -1
    member: int = 0
    repetition: int = 0
    status: str
    outcome: OutcomeName | None = None
    score: float | None = None
    reason: str = ""
    done: int = 0
    total: int = 0
    remaining: float | None = None


class EvaluationRunner:
    """Carries out runs of an evaluation.

    Args:
        folder: The evaluation's folder.
        create: Creates the run of a (task, member, repetition).
        model_of: Returns the model of a member that is tested first; None for one that is not.
        judge: The model that scores answers, if a suite needs one.
        on_progress: Called in any thread, one call at a time.
    """

    def __init__(
        self,
        folder: EvaluationFolder,
        create: Callable[[Key], StartedRun],
        model_of: Callable[[int], Model | None],
        judge: JudgeAccess | None,
        on_progress: Callable[[Progress], None],
    ) -> None:
        self._folder = folder
        self._create = create
        self._model_of = model_of
        self._judge = judge
        self._on_progress = on_progress
        self._lock = threading.Lock()
        self._active: set[StartedRun] = set()
        self._given_up: dict[int, str] = {}
        self._no_node = ""
        self._halt = Stop()
        self._done = self._total = 0
        self._began = 0.0

    def carry_out(
        self,
        keys: Sequence[Key],
        to_score: Sequence[tuple[RunEntry, str]],
        concurrency: int,
        stop: Stop,
    ) -> dict[int, str]:
        """Carry out runs, and score answers of earlier ones; return when all have ended.

        Args:
            keys: The (task, member, repetition) to do, in this order.
            to_score: Ended runs without a score, and their answers.
            concurrency: How many runs at a time; of the built-in model always one.
            stop: Stops the runs in progress, and starts no others.

        Returns:
            Why members could not be started, by index; that of all if no node is left to carry
            out runs, of which the rest then waits.
        """
        self._total, self._began = len(keys) + len(to_score), time.monotonic()
        self._report(Progress(evaluation=self._folder.id, status="defined"))
        members = self._folder.definition.members
        run_jobs(to_score, lambda job: self._score_earlier(*job, stop), concurrency,
                 lambda _: False, stop, lambda: None)  # fmt: skip
        self._test_models(sorted({member for _, member, _ in keys}), stop)
        with stop.on_set(self._halt.set):
            run_jobs(
                keys, lambda key: self._carry_out_one(key, stop), concurrency,
                lambda key: is_builtin(members[key[1]]), self._halt, self._stop_active,
            )  # fmt: skip
        if self._no_node:
            return dict.fromkeys(range(len(members)), self._no_node) | self._given_up
        return dict(self._given_up)

    def _test_models(self, indexes: Sequence[int], stop: Stop) -> None:
        """Test the models of members that were not tested yet; give up those that fail."""
        models: dict[int, Model] = {}
        for index in indexes:
            with suppress(StudioError):  # the first run reports it
                if (model := self._model_of(index)) is not None:
                    models[index] = model

        def report(tested: Sequence[int]) -> None:
            for index in tested:
                self._report(Progress(evaluation=self._folder.id, member=index, status="testing"))

        self._given_up |= ensure_tested(models, stop, report)

    def _score_earlier(self, entry: RunEntry, answer: str, stop: Stop) -> None:
        self._score(entry, answer, "scored", "", stop)

    def _carry_out_one(self, key: Key, stop: Stop) -> None:
        if self._halt.is_set:
            return
        member = key[1]
        if member in self._given_up:
            self._report_run(key, "not started", reason=self._given_up[member])
            return
        try:
            run = self._create(key)
        except (StudioError, OSError) as error:
            self._given_up[member] = str(error)
            self._report_run(key, "not started", reason=str(error))
            return
        try:
            entry = self._folder.add_run(*key, run.id)
            self._report_run(key, "started")
            self._execute(run, entry, stop)
        except NoNodeLeft as error:
            self._no_node = str(error)
            self._halt.set()
            self._report_run(key, "not started", "waiting", reason=str(error))
        except (StudioError, OSError) as error:
            self._report_run(key, "failed", "infrastructure", reason=str(error))
        finally:
            with self._lock:
                self._active.discard(run)
            run.close()

    def _execute(self, run: StartedRun, entry: RunEntry, stop: Stop) -> None:
        with self._lock:
            self._active.add(run)
        if self._halt.is_set:
            run.stop()
        status, answer, reason = run.carry_out()
        run.close()  # its sandbox is free while a judge is asked
        if status == "stopped":
            self._report_run(entry.key, status, "stopped", reason=reason)
        elif is_infrastructure_failure(status, reason):
            self._report_run(entry.key, status, "infrastructure", reason=reason)
        else:
            self._score(entry, answer, status, reason, stop)

    def _score(self, entry: RunEntry, answer: str, status: str, reason: str, stop: Stop) -> None:
        score = score_run(self._folder, entry, answer, self._judge, stop)
        if score is None or score.value is None:
            why = score.reason if score else "The scoring was stopped."
            self._report_run(entry.key, status, "unscored", reason=why)
            return
        outcome = outcome_of_score(score.value)
        self._report_run(entry.key, status, outcome, score.value, reason or score.reason)

    def _stop_active(self) -> None:
        with self._lock:
            active = list(self._active)
        for run in active:
            run.stop()

    def _report_run(
        self,
        key: Key,
        status: str,
        outcome: OutcomeName | None = None,
        score: float | None = None,
        reason: str = "",
    ) -> None:
        task, member, repetition = key
        self._report(
            Progress(
                evaluation=self._folder.id, task=task, member=member, repetition=repetition,
                status=status, outcome=outcome, score=score, reason=reason,
            )
        )  # fmt: skip

    def _report(self, progress: Progress) -> None:
        with self._lock:
            self._done += progress.status not in ("defined", "testing", "started")
            elapsed = time.monotonic() - self._began
            counted = replace(
                progress, done=self._done, total=self._total,
                remaining=remaining_seconds(self._done, self._total, elapsed),
            )  # fmt: skip
            try:
                self._on_progress(counted)
            except Exception:  # noqa: BLE001 - boundary: a report must not end the runs
                _log.exception("The progress of an evaluation cannot be reported")
