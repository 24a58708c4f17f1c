"""A container engine of the test's own, which can be ended, frozen and started again.

It lives in a network namespace of its own: a second engine beside the machine's would take that
one's bridge and packet filter for its own to clear away.
"""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import docker
import pytest

from agent.errors import EngineError
from agent.sandbox.engine.client import Client, connect
from tests.support.server import wait_until

_PATIENCE = 60.0


class OwnEngine:
    """The engine; ``host`` is its address."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.host = f"unix://{folder}/socket"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; returns when it answers."""
        places = [f"--data-root={self.folder}/data", f"--exec-root={self.folder}/exec"]
        files = [f"--host={self.host}", f"--pidfile={self.folder}/pid"]
        command = ["unshare", "--net", "dockerd", *places, *files]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        wait_until(self._answers, _PATIENCE)

    def _answers(self) -> bool:
        try:
            connect(self.host, timeout=5).close()
        except EngineError:
            assert self._process is not None
            assert self._process.poll() is None, (self.folder / "log").read_text()[-3000:]
            return False
        return True

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def end(self) -> None:
        """End it, and its containers with it."""
        self.send(signal.SIGTERM)
        assert self._process is not None
        self._process.wait(_PATIENCE)
        self._process = None

    def restart(self) -> None:
        """End it and start it again."""
        self.end()
        self.start()


@contextmanager
def own_engine(images: list[str], source: Client) -> Iterator[OwnEngine]:
    """An engine that holds some images of another's."""
    if os.geteuid() != 0 or not shutil.which("dockerd"):
        pytest.skip("an engine of one's own needs root and dockerd")
    folder = Path(tempfile.mkdtemp(prefix="engine-"))
    engine = OwnEngine(folder)
    engine.start()
    try:
        target = docker.DockerClient(base_url=engine.host, timeout=300)
        for image in images:
            target.images.load(source.api.get_image(image))
        target.close()
        yield engine
    finally:
        engine.send(signal.SIGCONT)
        engine.end()
        subprocess.run(["umount", "-R", "-q", str(folder / "data")], check=False)
        shutil.rmtree(folder, ignore_errors=True)
