"""A Docker engine for one test module, which can be stopped, frozen and restarted.

It runs in its own network namespace. Otherwise it would take over the bridge and the packet filter
rules of the machine's engine, and remove them when it ends.
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


class PrivateEngine:
    """The engine process; ``host`` is the address of its socket."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.host = f"unix://{folder}/socket"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        folder_options = [f"--data-root={self.folder}/data", f"--exec-root={self.folder}/exec"]
        file_options = [f"--host={self.host}", f"--pidfile={self.folder}/pid"]
        command = ["unshare", "--net", "dockerd", *folder_options, *file_options]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        wait_until(self._is_responding)

    def _is_responding(self) -> bool:
        try:
            connect(self.host, timeout=5).close()
        except EngineError:
            assert self._process is not None
            assert self._process.poll() is None, (self.folder / "log").read_text()[-3000:]
            return False
        return True

    def send_signal(self, signal_number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(signal_number)

    def stop(self) -> None:
        if self._process is None:
            return
        self.send_signal(signal.SIGCONT)
        self.send_signal(signal.SIGTERM)
        self._process.wait(60)
        self._process = None

    def restart(self) -> None:
        self.stop()
        self.start()


@contextmanager
def run_private_engine(images: list[str], source: Client) -> Iterator[PrivateEngine]:
    """Run an engine with copies of ``images`` from the ``source`` engine."""
    if os.geteuid() != 0 or not shutil.which("dockerd"):
        pytest.skip("a private engine needs root and dockerd")
    folder = Path(tempfile.mkdtemp(prefix="engine-"))
    engine = PrivateEngine(folder)
    engine.start()
    try:
        target = docker.DockerClient(base_url=engine.host, timeout=300)
        for image in images:
            target.images.load(source.api.get_image(image))
        target.close()
        yield engine
    finally:
        engine.stop()
        subprocess.run(["umount", "-R", "-q", str(folder / "data")], check=False)
        shutil.rmtree(folder, ignore_errors=True)
