"""The application as a program of its own, which can be killed and started again."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx

from agent.events import Event, RunEnded
from agent.runs import journal
from agent.runs.folder import RunFolder
from tests.support.hostile.ordinary_user import OrdinaryUser
from tests.support.server import wait_until

PATIENCE = 60.0
ROOT = Path(__file__).parents[2]


class Program:
    """``app.py`` on a data folder and a port of its own.

    Args:
        data: The data folder.
        environment: Further variables.
        user: Who runs it, from their own copy; by default whoever runs the tests.
    """

    def __init__(
        self, data: Path, environment: Mapping[str, str], user: OrdinaryUser | None = None
    ) -> None:
        self.data, self.port = data, free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        own = {"STUDIO_DATA": str(data), "GRADIO_SERVER_PORT": str(self.port)}
        passed = ("PATH", "HOME", "DOCKER_HOST", "XDG_RUNTIME_DIR")
        kept = {key: os.environ[key] for key in passed if key in os.environ}
        theirs = user.environment if user else {}
        self._environment = kept | theirs | {"STUDIO_WARM_SANDBOXES": "0"} | own | dict(environment)
        self._command = [user.python if user else sys.executable, "app.py"]
        self._cwd = user.source if user else ROOT
        self._identity = user.identity if user else {}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; returns when the page is served."""
        with (self.data.parent / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                env=self._environment,
                cwd=self._cwd,
                stdout=log,
                stderr=log,
                **self._identity,
            )
        wait_until(self._served, PATIENCE)

    def log(self) -> str:
        """What it has said so far."""
        return (self.data.parent / "log").read_text()

    def _served(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log()
        try:
            return httpx.get(f"{self.address}/api/runs").is_success
        except httpx.TransportError:
            return False

    def end(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Send it a signal and wait for its end. May be called twice."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(PATIENCE)
            self._process = None

    @property
    def run(self) -> str:
        """Its only run."""
        wait_until(lambda: bool(RunFolder.ids(self.data)), PATIENCE)
        (run,) = RunFolder.ids(self.data)
        return run

    def written(self) -> bytes:
        """The run's journal as it is."""
        path = self.data / "runs" / self.run / "journal.jsonl"
        return path.read_bytes() if path.exists() else b""

    def wait_for(self, kind: str, times: int = 1) -> None:
        """Wait for events of a kind."""
        marked = f'"kind":"{kind}"'.encode()
        wait_until(lambda: self.written().count(marked) >= times, PATIENCE)

    def events(self) -> list[Event]:
        """The run's events; every line is one."""
        path = self.data / "runs" / self.run / "journal.jsonl"
        events = [event for _, event in journal.read(path)]
        assert len(events) == self.written().count(b"\n")
        return events

    def ends(self) -> list[RunEnded]:
        """The ends of the run's rounds."""
        return [event for event in self.events() if isinstance(event, RunEnded)]


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def started(
    data: Path, environment: Mapping[str, str], user: OrdinaryUser | None = None
) -> Iterator[Program]:
    """The program at work, ended at the end."""
    program = Program(data, environment, user)
    program.start()
    try:
        yield program
    finally:
        program.end(signal.SIGTERM)
