"""A node's process: an engine, an image, a pool of sandboxes and a data folder of its own."""

import subprocess
import sys
import threading
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from agent.api.studio import ClosableSandboxProvider, Opener
from agent.cluster.cleanup import delete_runs
from agent.data_folder import lock_first_free
from agent.provisioning.capacity import sandboxes_of_this_machine
from agent.provisioning.provider import DockerSandboxProvider
from agent.settings import load
from agent.util.stop import Stop

_PROJECT_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A node that can create ``sandboxes`` at once; ``image`` is empty if it has none."""

    sandboxes: int
    data: str
    image: str = ""


class NodeProcess:
    """An actor, one per node; with 0 ``sandboxes``, its settings or hardware set the number."""

    LOSS = ""
    """What follows if a node is lost, for people."""

    def __init__(self, source: Opener, sandboxes: int = 0) -> None:
        self._settings = load()
        self._resources = ExitStack()
        data = self._resources.enter_context(lock_first_free(self._settings.data / "cluster"))
        self._data = data.path
        delete_runs(self._data)
        self._resources.callback(delete_runs, self._data)
        self._watch_for_end()
        self._provider: ClosableSandboxProvider = source(self._settings, data)
        self._resources.callback(self._provider.close)
        self._sandboxes = sandboxes or self._settings.max_runs or sandboxes_of_this_machine()
        self._lock = threading.Lock()
        self._stops: dict[str, Stop] = {}

    def prepare(self) -> Prepared:
        """Wait until sandboxes can be created: the image is built if the node has none."""
        image = ""
        if isinstance(self._provider, DockerSandboxProvider):
            self._provider.wait_until_ready(Stop())
            image = self._provider.setup_status.image
        return Prepared(self._sandboxes, str(self._data), image)

    def stop(self, work: str) -> None:
        """End a run or a command early, by its id. It may begin only after this call."""
        self._stop_of(work).set()

    def close(self) -> None:
        """End everything and delete what the node stores."""
        with self._lock:
            stops = list(self._stops.values())
        for stop in stops:
            stop.set()
        self._resources.close()

    def _stop_of(self, work: str) -> Stop:
        with self._lock:
            return self._stops.setdefault(work, Stop())

    def _forget_stop(self, work: str) -> None:
        with self._lock:
            self._stops.pop(work, None)

    def _watch_for_end(self) -> None:
        """Start the process that cleans up if this one is killed, with Ray's or alone."""
        engine = (self._settings.docker_host, self._settings.runtime_dir)
        watcher = subprocess.Popen(
            [sys.executable, "-m", f"{__package__}.cleanup", str(self._data), *engine],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            cwd=_PROJECT_ROOT, start_new_session=True,
        )  # fmt: skip
        assert watcher.stdin is not None
        self._resources.callback(watcher.stdin.close)
        watcher.wait()  # its child goes on, and belongs to no process that ends it
