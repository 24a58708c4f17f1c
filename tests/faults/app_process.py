"""The application as a child process, which can be killed and restarted."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from agent.events import Event, RunEnded
from agent.runs import journal
from agent.runs.folder import RunFolder
from tests.support import httpx
from tests.support.hostile.ordinary_user import OrdinaryUser
from tests.support.server import wait_until

ROOT = Path(__file__).parents[2]


class AppProcess:
    """``app.py`` with its own data folder and port, for some user from their copy of the source."""

    def __init__(
        self, data: Path, environment: Mapping[str, str], user: OrdinaryUser | None = None
    ) -> None:
        self.data, port = data, free_port()
        self.studio_url = f"http://127.0.0.1:{port}"
        inherited = ("PATH", "HOME", "DOCKER_HOST", "XDG_RUNTIME_DIR")
        self._environment = {
            **{key: os.environ[key] for key in inherited if key in os.environ},
            **(user.environment if user else {}),
            "STUDIO_WARM_SANDBOXES": "0", "STUDIO_DATA": str(data), "GRADIO_SERVER_PORT": str(port),
            **environment,
        }  # fmt: skip
        self._command = [user.python if user else sys.executable, "app.py"]
        self._cwd = user.source if user else ROOT
        self._identity = user.identity if user else {}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the application and wait until it serves requests."""
        with (self.data.parent / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command, env=self._environment, cwd=self._cwd, stdout=log, stderr=log,
                **self._identity,
            )  # fmt: skip
        wait_until(self._is_serving)

    @property
    def pid(self) -> int:
        """The id of its process."""
        assert self._process is not None
        return self._process.pid

    def log(self) -> str:
        return (self.data.parent / "log").read_text()

    def _is_serving(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log()
        try:
            return httpx.get(f"{self.studio_url}/api/runs").is_success
        except httpx.TransportError:
            return False

    def kill(self, signal_number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal and wait until the process has ended; idempotent."""
        if self._process is not None:
            self._process.send_signal(signal_number)
            self._process.wait(60)
            self._process = None

    @property
    def run_id(self) -> str:
        wait_until(lambda: bool(RunFolder.ids(self.data)))
        (run,) = RunFolder.ids(self.data)
        return run

    def journal_bytes(self) -> bytes:
        path = self.data / "runs" / self.run_id / "journal.jsonl"
        return path.read_bytes() if path.exists() else b""

    def wait_for_event(self, kind: str, times: int = 1) -> None:
        pattern = f'"kind":"{kind}"'.encode()
        wait_until(lambda: self.journal_bytes().count(pattern) >= times)

    def events(self) -> list[Event]:
        """Return the run's events; every line must be readable."""
        path = self.data / "runs" / self.run_id / "journal.jsonl"
        events = [event for _, event in journal.read(path)]
        assert len(events) == self.journal_bytes().count(b"\n")
        return events

    def round_ends(self) -> list[RunEnded]:
        return [event for event in self.events() if isinstance(event, RunEnded)]


def free_port() -> int:
    """Return an unused port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def start_app(
    data: Path, environment: Mapping[str, str], user: OrdinaryUser | None = None
) -> Iterator[AppProcess]:
    """Run the application; it is stopped with SIGTERM afterwards."""
    app = AppProcess(data, environment, user)
    app.start()
    try:
        yield app
    finally:
        app.kill(signal.SIGTERM)
