"""Carry out the runs of an experiment, several at a time, and score their answers.

Each run is recorded as it begins, so that none that ended is repeated after the process was
killed. A member whose run cannot be started does not stop the others.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from agent.errors import NoNodeLeft, StudioError
from agent.experiments.experiment import remaining_seconds
from agent.experiments.folder import ExperimentFolder, Key, RunEntry
from agent.experiments.outcomes import OutcomeName, is_infrastructure_failure, outcome_of_score
from agent.experiments.schedule import Schedule
from agent.experiments.scoring import score_run
from agent.grading.checks import JudgeAccess
from agent.models.base import Model
from agent.util.stop import Stop

_log = logging.getLogger(__name__)


class StartedRun(Protocol):
    """A run of a member, created and not yet carried out."""

    @property
    def id(self) -> str:
        """The run's id."""

    def carry_out(self) -> tuple[str, str, str]:
        """Carry it out; return its status, its answer and why it failed."""

    def stop(self) -> None:
        """End it early, from any thread."""

    def close(self) -> None:
        """End its sandbox; keep its files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What an experiment is doing, for people.

    Attributes:
        task: The task's index; -1 for ``defined`` and ``testing``.
        label: The member's label; empty for ``defined``.
        repetition: The repetition, from 1.
        status: ``defined`` first; ``testing`` while a member's model is tested; ``started``,
            ``scored`` for an answer of an earlier run, or how the run ended; ``not started`` if
            it could not be.
        outcome: How the run counts; None while it is carried out, or if no answer is expected.
        score: The score; None if there is none.
        done: Number of runs that have ended, of ``total`` to do.
        remaining: An estimate of the seconds until all have ended; None if it is not known.
    """

    experiment: str
    task: int = -1
    member: int = 0
    label: str = ""
    repetition: int = 0
    status: str
    outcome: OutcomeName | None = None
    score: float | None = None
    reason: str = ""
    answer: str = ""
    done: int = 0
    total: int = 0
    remaining: float | None = None


class Runner:
    """Carries out runs of an experiment.

    ``model_of`` returns None for a model that is not tested first; ``on_progress`` is called in any
    thread, one call at a time.
    """

    def __init__(
        self,
        folder: ExperimentFolder,
        create: Callable[[Key], StartedRun],
        model_of: Callable[[int], Model | None],
        judge: JudgeAccess | None,
        on_progress: Callable[[Progress], None],
    ) -> None:
        self._folder = folder
        self._members = folder.definition.members
        self._create = create
        self._model_of = model_of
        self._judge = judge
        self._on_progress = on_progress
        self._lock = threading.Lock()
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

        Returns:
            Why members could not be started, by index; that of all if no node is left to carry
            out runs, or the judge cannot be read: the rest then waits.
        """
        self._total, self._began = len(keys) + len(to_score), time.monotonic()
        self._report(Progress(experiment=self._folder.id, status="defined"))
        schedule = self._schedule = Schedule(self._members, keys, lambda: concurrency, stop)
        with ThreadPoolExecutor(concurrency, "run") as pool:
            list(pool.map(partial(self._score_earlier, stop), to_score))
            for key, problem in schedule.test_models(self._model_of, stop, self._testing).items():
                self._report_run(key, "not started", reason=problem)
            carried_out = [pool.submit(self._carry_out_one, key, stop) for key in schedule]
        for each in carried_out:
            each.result()
        if schedule.problem:
            every = dict.fromkeys(range(len(self._members)), schedule.problem)
            return every | schedule.problems
        return schedule.problems

    def _testing(self, members: Sequence[int]) -> None:
        for member in members:
            self._report_run((-1, member, 0), "testing")

    def _carry_out_one(self, key: Key, stop: Stop) -> None:
        try:
            if not self._schedule.is_stopped(key):
                self._create_and_execute(key, stop)
        finally:
            self._schedule.ended(key)

    def _create_and_execute(self, key: Key, stop: Stop) -> None:
        try:
            run = self._create(key)
        except (StudioError, OSError) as error:
            self._report_run(key, "not started", reason=str(error))
            for other in self._schedule.give_up(str(error), key[1]):
                self._report_run(other, "not started", reason=str(error))
            return
        try:
            entry = self._folder.add_run(*key, run.id)
            self._report_run(key, "started")
            self._schedule.started(key, run.stop)
            self._execute(run, entry, stop)
        except NoNodeLeft as error:
            self._schedule.abandon(str(error))
            self._report_run(key, "not started", "waiting", reason=str(error))
        except (StudioError, OSError) as error:
            self._report_run(key, "failed", "infrastructure", reason=str(error))
        finally:
            run.close()

    def _execute(self, run: StartedRun, entry: RunEntry, stop: Stop) -> None:
        status, answer, reason = run.carry_out()
        run.close()  # its sandbox is free while a judge is asked
        if status == "stopped":
            self._report_run(entry.key, status, "stopped", reason=reason)
        elif is_infrastructure_failure(status, reason):
            self._report_run(entry.key, status, "infrastructure", reason=reason)
        else:
            self._score(entry, answer, status, reason, stop)

    def _score_earlier(self, stop: Stop, job: tuple[RunEntry, str]) -> None:
        if not stop.is_set:
            self._score(*job, "scored", "", stop)

    def _score(self, entry: RunEntry, answer: str, status: str, reason: str, stop: Stop) -> None:
        grade = score_run(self._folder, entry, answer, self._judge, stop)
        self._schedule.graded(grade)
        outcome: OutcomeName | None = "unscored"
        if grade is not None and grade.score is not None:
            outcome, reason = outcome_of_score(grade.score), reason or grade.reason
        elif self._folder.expected(entry.task) is None:
            outcome = None
        else:
            reason = grade.reason if grade else "The scoring was stopped."
        self._report_run(
            entry.key, status, outcome, grade.score if grade else None, reason, answer
        )  # fmt: skip

    def _report_run(
        self,
        key: Key,
        status: str,
        outcome: OutcomeName | None = None,
        score: float | None = None,
        reason: str = "",
        answer: str = "",
    ) -> None:
        task, member, repetition = key
        self._report(Progress(
            experiment=self._folder.id, task=task, member=member,
            label=self._members[member].label, repetition=repetition, status=status,
            outcome=outcome, score=score, reason=reason, answer=answer,
        ))  # fmt: skip

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
                _log.exception("The progress of an experiment cannot be reported")
