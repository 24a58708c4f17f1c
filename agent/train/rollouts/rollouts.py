"""Concurrent rollouts of tasks by a model; each rollout is a normal run.

As in the paper, a run that reached a limit, failed, was stopped or lost part of its conversation
gets the reward 0.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from agent import prompts
from agent.api.models import ModelArgument
from agent.api.placement import Placement, RunOrder, portable_inputs
from agent.api.studio import Studio
from agent.capabilities.usage import CapabilityRates, rates
from agent.errors import NoNodeLeft, StudioError, WorkspaceError
from agent.events import (
    Event,
    Mode,
    ObservationsCleared,
    RunEnded,
    SandboxReady,
    Status,
    SummaryEnded,
    Totals,
)
from agent.limits import Limits
from agent.models.base import Model
from agent.prompts import Prompt
from agent.runs import journal
from agent.runs.event_recorder import EventRecorder
from agent.runs.folder import RunFolder
from agent.runs.spec import RunSpec
from agent.runs.state import RunState
from agent.sandbox.disk import volume
from agent.sandbox.network.policy import NetworkPolicy
from agent.tasks.scoring import reward
from agent.tasks.setup import ANSWER_PATH, build_task, write_inputs
from agent.tasks.task import TaskRecord
from agent.train.rollouts.sequence import TokenSequence, sequence_from_events
from agent.util.stop import Stop
from agent.workspace.files import Workspace

SUCCESS_STATUSES: tuple[Status, ...] = ("submitted", "answered")
TRUNCATED = "The conversation did not fit the model's context: a part of it was removed."
_MAX_ANSWER_BYTES = 1024**2


@dataclass(frozen=True, slots=True)
class RolloutPlan:
    """Settings of a set of rollouts; tasks about documents need no network."""

    limits: Limits
    concurrency: int = 4
    mode: Mode = "sandbox"
    prompt: Prompt = field(default_factory=lambda: prompts.get_bundled("general"))
    network: NetworkPolicy = field(default_factory=lambda: NetworkPolicy("none"))
    repeat: int = 1

    def spec(self, task: TaskRecord) -> RunSpec:
        """Return the run spec of a task."""
        text, network = build_task(task, self.mode).text, self.network
        return RunSpec(task=text, mode=self.mode, network=network.access, hosts=network.hosts)


@dataclass(frozen=True, slots=True)
class Rollout:
    """Result of one run; ``number`` counts all in the order of the tasks, ``repeat`` within one.

    ``answer`` is None if there is none or it does not count; ``seconds`` include ``setup_seconds``.
    """

    task: TaskRecord
    number: int
    repeat: int
    folder: RunFolder
    status: Status
    reason: str
    answer: str | None
    reward: float
    seconds: float
    setup_seconds: float
    totals: Totals
    capabilities: CapabilityRates | None = None

    def events(self) -> Iterator[Event]:
        """Read the events from the journal."""
        return (event for _, event in journal.read(self.folder.journal))

    def token_sequence(self) -> TokenSequence | None:
        """Return the run as token ids; None if untrainable, see ``rollouts.sequence``."""
        return sequence_from_events(self.events())


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A placement that carries out rollouts, and the model as another machine can use it."""

    placement: Placement
    model: ModelArgument


class _Job(NamedTuple):
    number: int
    repeat: int
    task: TaskRecord


def run_rollouts(
    tasks: Iterable[TaskRecord],
    make_model: Callable[[TaskRecord], Model],
    studio: Studio,
    plan: RolloutPlan,
    stop: Stop | None = None,
    elsewhere: Elsewhere | None = None,
) -> Generator[Rollout, None, None]:
    """Perform rollouts of tasks; yield each when it ends, so in no particular order.

    When the iteration ends for any reason, active runs are stopped and awaited; after ``stop``,
    they are yielded as ``stopped``. ``make_model`` is called in the run's thread.
    """
    stop_active = Stop()
    jobs = _jobs(tasks, plan.repeat)
    active: set[Future[Rollout]] = set()
    with (
        ThreadPoolExecutor(plan.concurrency, "rollout") as threads,
        _stop_on_exit(stop_active),
        (stop or Stop()).on_set(stop_active.set),
    ):
        while True:
            while (
                len(active) < plan.concurrency
                and not stop_active.is_set
                and (job := next(jobs, None))
            ):
                if elsewhere is None:
                    run = threads.submit(_run_job, job, make_model, studio, plan, stop_active)
                else:
                    run = threads.submit(_place_job, job, elsewhere, studio, plan, stop_active)
                active.add(run)
            if not active:
                return
            done, active = wait(active, return_when=FIRST_COMPLETED)
            for each in done:
                yield each.result()


@contextmanager
def _stop_on_exit(stop_active: Stop) -> Iterator[None]:
    """Stop the active runs on exit, before they are awaited."""
    try:
        yield
    finally:
        stop_active.set()


def _jobs(tasks: Iterable[TaskRecord], repeat: int) -> Iterator[_Job]:
    for index, task in enumerate(tasks):
        for repetition in range(repeat):
            yield _Job(index * repeat + repetition, repetition, task)


def _run_job(
    job: _Job,
    make_model: Callable[[TaskRecord], Model],
    studio: Studio,
    plan: RolloutPlan,
    stop_active: Stop,
) -> Rollout:
    """Perform one rollout."""
    stop = Stop()
    spec, model = plan.spec(job.task), make_model(job.task)
    run = studio.create_run(spec, model, prompt=plan.prompt, limits=plan.limits, stop=stop)
    try:
        with run, stop_active.on_set(stop.set):
            write_inputs(job.task, run.recorded.workspace)
            recorded = run.recorded
            return _rollout(job, plan, run, recorded.state, recorded.folder, recorded.workspace)
    finally:
        # Unmount, or thousands of disks stay mounted; viewing a run mounts its disk again.
        volume.detach(run.recorded.folder.sandbox_folder, idle=True)


def _place_job(
    job: _Job, elsewhere: Elsewhere, studio: Studio, plan: RolloutPlan, stop_active: Stop
) -> Rollout:
    """Perform one rollout elsewhere; it is a run of this data folder all the same."""
    order = RunOrder(
        spec=plan.spec(job.task),
        model=elsewhere.model,
        prompt=plan.prompt,
        limits=plan.limits,
        inputs=portable_inputs(job.task.input_files),
    )
    run = studio.place_member_run(elsewhere.placement, order)
    problem = ""
    try:
        with stop_active.on_set(run.stop):
            _, _, problem = run.carry_out()
    except NoNodeLeft:
        raise  # so would all others end
    except StudioError as error:
        problem = str(error)
    folder = RunFolder.open(studio.path, run.id)
    recorder = EventRecorder(folder)
    recorder.close()
    try:
        if not recorder.state.rounds:  # it never began
            return Rollout(
                job.task, job.number, job.repeat, folder, "failed" if problem else "stopped",
                problem, None, 0.0, 0.0, 0.0, Totals(),
            )  # fmt: skip
        events = (event for _, event in journal.read(folder.journal))
        return _rollout(job, plan, events, recorder.state, folder, Workspace(folder.workspace))
    finally:
        run.close()


def _rollout(
    job: _Job,
    plan: RolloutPlan,
    events: Iterable[Event],
    state: RunState,
    folder: RunFolder,
    workspace: Workspace,
) -> Rollout:
    """Return the result of a run; iterating ``events`` may carry it out."""
    began, setup_seconds, truncated = 0.0, 0.0, False
    ended = 0.0
    for event in events:
        began = began or event.at
        truncated = truncated or isinstance(event, ObservationsCleared | SummaryEnded)
        if isinstance(event, SandboxReady):
            setup_seconds = event.at - began
        elif isinstance(event, RunEnded):
            ended = event.at
    last, answer = state.rounds[-1], None
    if last.status in SUCCESS_STATUSES and not truncated:
        answer = last.answer if plan.mode == "plain" else _read_answer(workspace)
    return Rollout(
        task=job.task,
        number=job.number,
        repeat=job.repeat,
        folder=folder,
        status=last.status or "failed",
        reason=last.reason or (TRUNCATED if truncated else ""),
        answer=answer,
        reward=reward(job.task, answer),
        seconds=ended - began,
        setup_seconds=setup_seconds,
        totals=state.totals,
        capabilities=None if plan.mode == "plain" else rates(step.used for step in state.steps),
    )


def _read_answer(workspace: Workspace) -> str | None:
    """Return the content of ``output/answer.txt``; None if missing or too large."""
    try:
        with workspace.open_read(ANSWER_PATH) as file:
            data = file.read(_MAX_ANSWER_BYTES + 1)
    except WorkspaceError:
        return None
    return data.decode("utf-8", "replace") if len(data) <= _MAX_ANSWER_BYTES else None
