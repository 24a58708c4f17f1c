"""Runs of a manager with process sandboxes and scripted models."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agent import prompts
from agent.events import Event, Mode, RunEnded
from agent.limits import Limits
from agent.runs import journal
from agent.runs.recorded_run import Task
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.scheduling.admission import Admission
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.scripted import ScriptedModel, ScriptedTurn
from tests.support.server import wait_until


@contextmanager
def open_manager(
    data: Path, admission: Admission | None = None, provider: LocalSandboxProvider | None = None
) -> Iterator[RunManager]:
    runs = RunManager(data, provider or LocalSandboxProvider(data), admission)
    runs.open()
    yield runs
    runs.close()


def start(
    runs: RunManager,
    *turns: ScriptedTurn,
    mode: Mode = "sandbox",
    owner: str = "",
    sandbox_seconds: float | None = None,
) -> str:
    """Start a run; returns its id."""
    run = runs.create_draft(owner)
    task = Task("Do it.", prompts.get_bundled("general"), mode)
    runs.start(run, task, ScriptedModel(turns), Limits(), sandbox_seconds)
    return run


def follow_up(runs: RunManager, run: str, *turns: ScriptedTurn) -> None:
    runs.follow_up(run, "Go on.", ScriptedModel(turns), Limits())


def events(runs: RunManager, run: str) -> list[Event]:
    """Return the events of a run so far."""
    path = runs.folder(run).journal
    return [event for _, event in journal.read(path)] if path.exists() else []


def wait_for_event(runs: RunManager, run: str, kind: str, times: int = 1) -> None:
    """Wait until a run's journal has so many events of a kind."""
    path, pattern = runs.folder(run).journal, f'"kind":"{kind}"'.encode()
    wait_until(lambda: path.exists() and path.read_bytes().count(pattern) == times)


def wait_for_end(runs: RunManager, run: str, rounds: int = 1) -> RunEnded:
    """Wait until ``rounds`` rounds of a run have ended; returns the last event."""
    wait_for_event(runs, run, "run_ended", rounds)
    last = events(runs, run)[-1]
    assert isinstance(last, RunEnded)
    return last
