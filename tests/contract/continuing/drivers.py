"""What carries out runs: each driver begins its work, stops it, and continues what was left."""

import signal
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

from agent import Settings, Studio, load_settings
from agent.events import RunEnded, StepEnded, decode
from agent.limits import Limits
from agent.models.base import ModelConfig
from agent.models.endpoint.client import EndpointModel
from agent.runs import journal
from agent.runs.event_recorder import INTERRUPTED
from agent.runs.folder import RunFolder
from agent.runs.recorded_run import Task
from agent.train.rollouts.sandboxes import ProcessSandboxProvider
from sandbox_ui.application import Services
from tests.contract.continuing.work import TASK, check_record
from tests.support.local_provider import LocalSandboxProvider
from tests.support.server import wait_until

ROOT = Path(__file__).parents[3]
FIRST_TASK = TASK.format(1)


class Driver(ABC):
    """A process that carries out runs of a data folder; opened as such a process opens it.

    Args:
        data: The data folder; what an earlier process left in it is continued.
        url: The endpoint.

    Attributes:
        free: How many of its runs end before one is held.
    """

    free: ClassVar[int] = 0

    def __init__(self, data: Path, url: str) -> None:
        self.data, self.url = data, url
        self.settings: Settings = replace(
            load_settings({}), data=data, base_url=url, model="m", warm_sandboxes=0, max_runs=1
        )
        self.resources = ExitStack()

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.resources.close()

    @abstractmethod
    def open(self) -> None:
        """Take over the data folder."""

    @abstractmethod
    def begin(self) -> None:
        """Begin the work; return while it is in progress."""

    @abstractmethod
    def stop(self) -> None:
        """Stop the work as its user does; return when everything has ended."""

    @abstractmethod
    def resume(self) -> None:
        """Continue what a stop or a kill left; return when everything has ended."""

    @property
    @abstractmethod
    def state(self) -> str:
        """``finished``, ``stopped`` or ``interrupted``, as its user is told."""


class Background:
    """A call in a thread, which is joined before its error is raised."""

    def __init__(self, call: Callable[[], Any]) -> None:
        executor = ThreadPoolExecutor(1)
        self._future = executor.submit(call)
        executor.shutdown(wait=False)

    def join(self) -> None:
        self._future.result(60)


class Page(Driver):
    services: Services

    def open(self) -> None:
        self.services = Services.from_settings(
            self.settings, LocalSandboxProvider(self.data), previews_at_start=False
        )
        self.services.open()
        self.resources.callback(self.services.close)


class SingleRun(Driver):
    @property
    def folder(self) -> RunFolder:
        """The run; of a fork and its origin the fork."""
        return max(RunFolder.all(self.data), key=lambda each: each.created)

    @property
    def state(self) -> str:
        end = check_record(self.folder)[-1]
        if end.reason == INTERRUPTED:
            return "interrupted"
        return {"submitted": "finished"}.get(end.status, end.status)


class PageRun(Page, SingleRun):
    def begin(self) -> None:
        runs = self.services.runs
        runs.start(runs.create_draft(), Task(FIRST_TASK), self._model(), Limits(reminders=None))

    def stop(self) -> None:
        """Stop it twice at the same time."""
        stops = [Background(lambda: self.services.runs.stop(self.folder.id)) for _ in range(2)]
        self._wait()
        for each in stops:
            each.join()

    def resume(self) -> None:
        self.services.runs.follow_up(self.folder.id, "Go on.", self._model(), Limits())
        self._wait()

    def _wait(self) -> None:
        wait_until(lambda: not self.services.runs.active_ids())

    def _model(self) -> EndpointModel:
        return EndpointModel(ModelConfig(self.url, "m"))


class PythonRun(SingleRun):
    """A run of the Python API; after a kill it is forked from its last step."""

    def open(self) -> None:
        self.studio = self.resources.enter_context(Studio(self.settings, ProcessSandboxProvider))

    def begin(self) -> None:
        self.run = self.studio.run(FIRST_TASK)
        self.waiting = Background(self.run.wait)

    def stop(self) -> None:
        self.run.stop()
        self.waiting.join()

    def resume(self) -> None:
        if hasattr(self, "run"):
            self.run.send("Go on.").wait()
            return
        events = (event for _, event in journal.read(self.folder.journal))
        step = max((event.step for event in events if isinstance(event, StepEnded)), default=0)
        self.studio.fork(self.folder.id, step, "Go on." if step else "").wait()


class ContinuedOnThePage(SingleRun):
    """A run of a command, which the page lists and continues."""

    @property
    def state(self) -> str:
        with PageRun(self.data, self.url) as page:
            return page.state

    def resume(self) -> None:
        with PageRun(self.data, self.url) as page:
            page.resume()


class CommandLineRun(ContinuedOnThePage):
    def open(self) -> None:
        """The process begins with its work."""

    def begin(self) -> None:
        program = "tests.contract.continuing.command"
        command = [sys.executable, "-m", program, str(self.data), self.url, "run", FIRST_TASK]
        self.process = self.resources.enter_context(
            subprocess.Popen([*command, "--json"], cwd=ROOT, stdout=subprocess.PIPE)
        )
        self.resources.callback(self.process.kill)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        output, _ = self.process.communicate(timeout=60)
        assert self.process.returncode == 130
        last = decode(output.splitlines()[-1])
        assert isinstance(last, RunEnded)
        assert last.status == "stopped"
