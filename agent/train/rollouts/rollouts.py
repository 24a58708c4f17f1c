"""Concurrent rollouts of tasks by a model.

Each rollout is a normal run: the same recorder, loop, tools and sandboxes, and a folder with its
journal, which the page lists under History. The reward is for the submitted answer, and only if
the run ended normally: as in the paper, a run that reached a limit, failed, was stopped or lost
part of its conversation gets 0.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from agent import prompts
from agent.api.run import Run
from agent.api.studio import Studio
from agent.errors import WorkspaceError
from agent.events import Event, Forgotten, Mode, RunEnded, SandboxReady, Status, Totals
from agent.limits import Limits
from agent.models.base import Model
from agent.prompts import Prompt
from agent.runs import journal
from agent.runs.folder import RunFolder
from agent.sandbox.disk import volume
from agent.sandbox.network.policy import Policy
from agent.tasks.rewards import reward
from agent.tasks.setup import ANSWER, lay, task_of
from agent.tasks.task import Problem
from agent.train.rollouts.sequence import TokenSequence, sequence
from agent.util.cancellation import Stop

FINISHED: tuple[Status, ...] = ("submitted", "answered")
CUT = "The conversation did not fit the model: a part of it was left out."
_LARGEST = 1024**2


@dataclass(frozen=True, slots=True)
class Plan:
    """Settings of a set of rollouts.

    Attributes:
        limits: Limits of each run.
        at_once: Concurrent rollouts, each with its own thread and sandbox.
        mode: ``sandbox``, or ``plain`` as the baseline: documents in the prompt, no tools.
        prompt: The system prompt.
        network: Network policy of the sandboxes; tasks about documents need no network.
        repeat: Number of rollouts per task.
    """

    limits: Limits
    at_once: int = 4
    mode: Mode = "sandbox"
    prompt: Prompt = field(default_factory=lambda: prompts.named("general"))
    network: Policy = field(default_factory=lambda: Policy("none"))
    repeat: int = 1


@dataclass(frozen=True, slots=True)
class Rollout:
    """Result of one run.

    Attributes:
        problem: The task.
        number: Index among all rollouts, in the order of the tasks; rollouts of the same task
            are adjacent.
        repeat: Index among the rollouts of its task.
        folder: The run's folder, with journal and workspace.
        status: The run's final status.
        reason: The reason, if it did not end well.
        answer: The submitted answer; None if there is none, or it does not count.
        reward: From 0 to 1.
        seconds: Wall time of the run, including preparation of the sandbox.
        prepared: Seconds until the sandbox was ready.
        totals: Resource usage.
    """

    problem: Problem
    number: int
    repeat: int
    folder: RunFolder
    status: Status
    reason: str
    answer: str | None
    reward: float
    seconds: float
    prepared: float
    totals: Totals

    def events(self) -> Iterator[Event]:
        """Read the events from the journal."""
        return (event for _, event in journal.read(self.folder.journal))

    def sequence(self) -> TokenSequence | None:
        """Return the run as token ids; None if untrainable, see ``rollouts.sequence``."""
        return sequence(self.events())


class _Job(NamedTuple):
    number: int
    repeat: int
    problem: Problem


def rollouts(
    problems: Iterable[Problem],
    make_model: Callable[[Problem], Model],
    studio: Studio,
    plan: Plan,
    stop: Stop | None = None,
) -> Generator[Rollout, None, None]:
    """Perform rollouts of tasks; yield each when it ends, so in no particular order.

    When the iteration ends for any reason, the active runs are stopped gracefully and awaited.

    Args:
        problems: The tasks, consumed lazily.
        make_model: Creates the model of one run; called in the run's thread.
        studio: Stores the runs and provides their sandboxes.
        plan: Settings of the rollouts.
        stop: Starts no further tasks; active runs are yielded as ``stopped``.

    Raises:
        TaskError: if a task's files cannot be written, or its answer cannot be scored.
        RunError: if there is no disk space for a run's journal.
    """
    ending = Stop()
    jobs = _jobs(problems, plan.repeat)
    at_work: set[Future[Rollout]] = set()
    with (
        ThreadPoolExecutor(plan.at_once, "rollout") as threads,
        _set_behind(ending),
        (stop or Stop()).calling(ending.set),
    ):
        while True:
            while len(at_work) < plan.at_once and not ending.is_set and (job := next(jobs, None)):
                at_work.add(threads.submit(_done, job, make_model, studio, plan, ending))
            if not at_work:
                return
            done, at_work = wait(at_work, return_when=FIRST_COMPLETED)
            for each in done:
                yield each.result()


@contextmanager
def _set_behind(ending: Stop) -> Iterator[None]:
    """Stop the active runs on exit, before they are awaited."""
    try:
        yield
    finally:
        ending.set()


def _jobs(problems: Iterable[Problem], repeat: int) -> Iterator[_Job]:
    for place, problem in enumerate(problems):
        for again in range(repeat):
            yield _Job(place * repeat + again, again, problem)


def _done(
    job: _Job, make_model: Callable[[Problem], Model], studio: Studio, plan: Plan, ending: Stop
) -> Rollout:
    """Perform one rollout."""
    stop = Stop()
    run = studio.run(
        task_of(job.problem, plan.mode).text,
        model=make_model(job.problem),
        prompt=plan.prompt,
        network=plan.network,
        mode=plan.mode,
        limits=plan.limits,
        stop=stop,
    )
    try:
        with run, ending.calling(stop.set):
            lay(job.problem, run.recorded.workspace)
            return _rollout(job, run, plan)
    finally:
        # Unmount, or thousands of disks stay mounted; viewing a run mounts its disk again.
        volume.detach(run.recorded.folder.sandbox_folder, idle=True)


def _rollout(job: _Job, run: Run, plan: Plan) -> Rollout:
    began, prepared, cut = 0.0, 0.0, False
    ended = 0.0
    for event in run:
        began = began or event.at
        cut = cut or isinstance(event, Forgotten)
        if isinstance(event, SandboxReady):
            prepared = event.at - began
        elif isinstance(event, RunEnded):
            ended = event.at
    result, answer = run.result, None
    if result.status in FINISHED and not cut:
        answer = result.answer if plan.mode == "plain" else _handed_in(run)
    return Rollout(
        problem=job.problem,
        number=job.number,
        repeat=job.repeat,
        folder=run.recorded.folder,
        status=result.status,
        reason=result.reason or (CUT if cut else ""),
        answer=answer,
        reward=reward(job.problem, answer),
        seconds=ended - began,
        prepared=prepared,
        totals=result.totals,
    )


def _handed_in(run: Run) -> str | None:
    """Return the content of ``output/answer.txt``; None if missing or too large."""
    try:
        with run.files[ANSWER].open() as file:
            data = file.read(_LARGEST + 1)
    except WorkspaceError:
        return None
    return data.decode("utf-8", "replace") if len(data) <= _LARGEST else None
