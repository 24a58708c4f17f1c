"""Tasks worked on by a model, many at once, and what came of each.

Each rollout is a run like any other: the same recorder, loop, tools and sandboxes, a folder with
its journal, opened on the page under History. What is handed in counts, and only where the run
came to its end by itself: one that ran into a limit, failed, was stopped or lost a part of its
conversation is worth nothing, as in the paper.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from agent import journal, prompts
from agent.errors import RunError, WorkspaceError
from agent.events import Event, Forgotten, Mode, RunEnded, SandboxReady, Status, Totals
from agent.folder import RunFolder
from agent.meter import Limits
from agent.models.base import Model
from agent.prompts import Prompt
from agent.recorder import RecordedRun
from agent.sandbox import disk
from agent.sandbox.network import Policy
from agent.stop import Stop
from agent.studio import Studio
from agent.tasks.laying import ANSWER, lay, task_of
from agent.tasks.record import Problem
from agent.tasks.rewards import reward
from agent.train.sequence import TokenSequence, sequence

FINISHED: tuple[Status, ...] = ("submitted", "answered")
CUT = "The conversation did not fit the model: a part of it was left out."
_LARGEST = 1024**2


@dataclass(frozen=True, slots=True)
class Plan:
    """How tasks are worked on.

    Attributes:
        limits: Where each run ends at the latest.
        at_once: How many go on side by side, each in a thread and a sandbox of its own.
        mode: ``sandbox``; ``plain`` is the baseline: the documents in the prompt, no tools.
        prompt: What the model is told besides the task.
        network: What the sandboxes may reach; tasks about documents need nothing.
        repeat: How often each task is worked on.
    """

    limits: Limits
    at_once: int = 4
    mode: Mode = "sandbox"
    prompt: Prompt = field(default_factory=lambda: prompts.named("general"))
    network: Policy = field(default_factory=lambda: Policy("none"))
    repeat: int = 1


@dataclass(frozen=True, slots=True)
class Rollout:
    """What came of one run.

    Attributes:
        problem: The task.
        number: Its place among all, from 0, in the order of the tasks; those of one task are
            beside each other.
        repeat: Which of its task's it is, from 0.
        folder: The run's folder, journal and workspace in it.
        status: How it ended.
        reason: Where it did not end well: why.
        answer: What it handed in; None where there is nothing, or it does not count.
        reward: From 0 to 1.
        seconds: Wall time of the run, that until its sandbox was ready included.
        prepared: That part of it.
        totals: What it used.
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
        """The journal's events."""
        return (event for _, event in journal.read(self.folder.journal))

    def sequence(self) -> TokenSequence | None:
        """The run as token ids, where it can be trained on; see ``agent.train.sequence``."""
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
    """Have tasks worked on; each rollout as soon as it is done, so in no order.

    Whatever ends the iteration, the runs at work are stopped in order and waited for.

    Args:
        problems: The tasks, taken as they are begun.
        make_model: Makes the model of one run; called in the run's thread.
        studio: Where the runs are kept, and their sandboxes come from.
        plan: How they are worked on.
        stop: Ends it: no task is begun any more, and the runs at work come as ``stopped``.

    Raises:
        TaskError: a task's files cannot be laid out, or its answer cannot be judged.
        RunError: there is no room for a run's record.
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
    """Stop what is at work when the iteration ends, before it is waited for."""
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
    """Work on one task."""
    stop, run = Stop(), studio.new()
    try:
        with run, ending.calling(stop.set):
            lay(job.problem, run.workspace)
            return _rollout(job, run, make_model(job.problem), plan, stop)
    finally:
        # Thousands of disks would stay mounted; each is mounted again when it is looked at.
        disk.detach(run.folder.sandbox_folder, idle=True)


def _rollout(job: _Job, run: RecordedRun, model: Model, plan: Plan, stop: Stop) -> Rollout:
    task = replace(task_of(job.problem, plan.mode), prompt=plan.prompt, network=plan.network)
    began, prepared, cut = 0.0, 0.0, False
    ended: RunEnded | None = None
    for event in run.start(task, model, plan.limits, stop):
        began = began or event.at
        cut = cut or isinstance(event, Forgotten)
        if isinstance(event, SandboxReady):
            prepared = event.at - began
        elif isinstance(event, RunEnded):
            ended = event
    if ended is None:
        raise RunError("The run came to no end; this is a defect of the studio.")
    answer = None
    if ended.status in FINISHED and not cut:
        answer = ended.answer if plan.mode == "plain" else _handed_in(run)
    return Rollout(
        problem=job.problem,
        number=job.number,
        repeat=job.repeat,
        folder=run.folder,
        status=ended.status,
        reason=ended.reason or (CUT if cut else ""),
        answer=answer,
        reward=reward(job.problem, answer),
        seconds=ended.at - began,
        prepared=prepared,
        totals=ended.totals,
    )


def _handed_in(run: RecordedRun) -> str | None:
    """What stands in ``output/answer.txt``; None where there is no such file, or a huge one."""
    try:
        with run.workspace.open_read(ANSWER) as file:
            data = file.read(_LARGEST + 1)
    except WorkspaceError:
        return None
    return data.decode("utf-8", "replace") if len(data) <= _LARGEST else None
