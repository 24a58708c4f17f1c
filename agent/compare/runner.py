"""Carry out a comparison's runs: several at a time, each in a thread of its own.

A member whose run cannot be started, or fails, leaves the others. What was done is recorded as
it begins, so that a comparison continues after the process was killed.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Protocol, TypeVar

from agent.compare.comparison import Member
from agent.compare.folder import ComparisonFolder
from agent.compare.scoring import score_run
from agent.errors import StudioError
from agent.models.base import Model
from agent.models.builtin.install import BUILTIN_ID
from agent.util.cancellation import Stop

_POLL_SECONDS = 0.2
_log = logging.getLogger(__name__)
Repetition = tuple[int, int]
_J = TypeVar("_J")


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


@dataclass(frozen=True, slots=True)
class Progress:
    """What a comparison is doing, for people.

    Attributes:
        comparison: The comparison's id.
        member: The member's label; empty for ``defined``.
        repetition: The repetition, from 1.
        status: ``defined`` first; ``started``, or how the run ended; ``not started`` if it could
            not be.
        reason: Why it failed; empty otherwise.
        answer: The answer at the end.
        done: Number of runs that have ended, of ``total`` to do.
    """

    comparison: str
    member: str
    repetition: int
    status: str
    reason: str = ""
    answer: str = ""
    done: int = 0
    total: int = 0


def run_jobs(
    jobs: Iterable[_J],
    carry_out: Callable[[_J], None],
    concurrency: int,
    is_alone: Callable[[_J], bool],
    stop: Stop,
    stop_active: Callable[[], None],
) -> None:
    """Carry out jobs in this order, several at a time; return when all have ended.

    Args:
        jobs: The jobs.
        carry_out: Carries out one, in a thread of its own.
        concurrency: How many at a time.
        is_alone: Whether only one of these may be carried out at a time.
        stop: Starts no further jobs.
        stop_active: Called repeatedly from then on, to end those in progress.
    """
    pending, futures = deque(jobs), dict[Future[None], bool]()
    with ThreadPoolExecutor(concurrency, "run") as pool:
        while pending or futures:
            if stop.is_set:
                pending.clear()
                stop_active()
            passed = deque[_J]()
            while pending and len(futures) < concurrency:
                job = pending.popleft()
                alone = is_alone(job)
                if alone and any(futures.values()):
                    passed.append(job)
                else:
                    futures[pool.submit(carry_out, job)] = alone
            pending.extendleft(reversed(passed))
            ended, _ = wait(futures, _POLL_SECONDS, FIRST_COMPLETED)
            for each in ended:
                del futures[each]
                each.result()


class Runner:
    """Carries out repetitions of a comparison.

    Args:
        folder: The comparison's folder.
        create: Creates the run of a member, given as index.
        concurrency: How many runs at a time; of the built-in model always one.
        judge: The model that judges answers, if the comparison has one.
        on_progress: Called in any thread, one call at a time.
    """

    def __init__(
        self,
        folder: ComparisonFolder,
        create: Callable[[int], StartedRun],
        concurrency: int,
        judge: Model | None,
        on_progress: Callable[[Progress], None],
    ) -> None:
        self._folder = folder
        self._create = create
        self._concurrency = concurrency
        self._judge = judge
        self._on_progress = on_progress
        self._lock = threading.Lock()
        self._active: set[StartedRun] = set()
        self._given_up: dict[int, str] = {}
        self._done = self._total = 0

    def carry_out(self, repetitions: Sequence[Repetition], stop: Stop) -> dict[int, str]:
        """Carry out (member, repetition) pairs in this order; return when all have ended.

        Args:
            repetitions: What to do.
            stop: Stops the runs in progress, and starts no others.

        Returns:
            Why members could not be started, by index.
        """
        self._total = len(repetitions)
        self._report("", 0, "defined")
        members = self._folder.definition.members
        run_jobs(
            repetitions,
            lambda job: self._carry_out_one(*job, stop),
            self._concurrency,
            lambda job: is_builtin(members[job[0]]),
            stop,
            self._stop_active,
        )
        return dict(self._given_up)

    def _carry_out_one(self, member: int, repetition: int, stop: Stop) -> None:
        if stop.is_set:
            return
        label = self._folder.definition.members[member].label
        if member in self._given_up:
            self._report(label, repetition, "not started", self._given_up[member])
            return
        try:
            run = self._create(member)
        except (StudioError, OSError) as error:
            self._given_up[member] = str(error)
            self._report(label, repetition, "not started", str(error))
            return
        try:
            self._folder.add_run(member, repetition, run.id)
            self._report(label, repetition, "started")
            self._execute(run, label, repetition, stop)
        except (StudioError, OSError) as error:
            self._report(label, repetition, "failed", str(error))
        finally:
            with self._lock:
                self._active.discard(run)
            run.close()

    def _execute(self, run: StartedRun, label: str, repetition: int, stop: Stop) -> None:
        with self._lock:
            self._active.add(run)
        if stop.is_set:
            run.stop()
        status, answer, reason = run.carry_out()
        if status != "stopped":
            score_run(self._folder, run.id, answer, self._judge, stop)
        self._report(label, repetition, status, reason, answer)

    def _stop_active(self) -> None:
        with self._lock:
            active = list(self._active)
        for run in active:
            run.stop()

    def _report(
        self, label: str, repetition: int, status: str, reason: str = "", answer: str = ""
    ) -> None:
        with self._lock:
            self._done += status not in ("defined", "started")
            report = Progress(
                self._folder.id, label, repetition, status, reason, answer, self._done, self._total
            )
            try:
                self._on_progress(report)
            except Exception:  # noqa: BLE001 - boundary: a report must not end the runs
                _log.exception("The progress of a comparison cannot be reported")


def is_builtin(member: Member) -> bool:
    """Whether the built-in model answers for a member: it runs one at a time."""
    return member.model == BUILTIN_ID
