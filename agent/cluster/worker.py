"""What runs on a node: an engine, an image, a pool of sandboxes and a data folder of its own.

One process per node; ``agent.cluster.cluster`` makes it an actor. A run's copies on the node are
deleted when they have been sent.
"""

import hashlib
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from agent.api.models import select_model
from agent.api.placement import RunOrder
from agent.api.studio import ClosableSandboxProvider, Opener
from agent.cluster.cleanup import delete_runs
from agent.cluster.parts import Part, Sender, batches
from agent.data_folder import lock_first_free
from agent.errors import StudioError
from agent.events import Event, RunEnded, StepEnded
from agent.limits import adapt_to_model
from agent.provisioning.capacity import sandboxes_of_this_machine
from agent.provisioning.provider import DockerSandboxProvider
from agent.runs.folder import RunFolder
from agent.runs.inputs import INPUT_FOLDER
from agent.runs.recorded_run import RecordedRun, SandboxProvider, Task
from agent.sandbox.disk import volume
from agent.settings import load
from agent.tasks.setup import write_files
from agent.util.cancellation import Stop
from agent.workspace.files import Workspace
from agent.workspace.versions.blobs import BlobStore

_SEND_SECONDS = 0.5
_PROJECT_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A node that can carry out runs.

    Attributes:
        sandboxes: How many at once.
        data: Its data folder.
    """

    sandboxes: int
    data: str


class Worker:
    """Carries out runs on its node; methods may be called from several threads.

    The node's settings are those of its environment.

    Args:
        source: Creates the provider of sandboxes for the locked data folder.
        sandboxes: How many runs at once; 0 for the node's settings, else what its processors and
            memory allow.
    """

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
        """Wait until sandboxes can be created: the image is built if the node has none.

        Raises:
            EngineError: There is no engine, or the image cannot be built.
        """
        if isinstance(self._provider, DockerSandboxProvider):
            self._provider.wait_until_ready(Stop())
        return Prepared(self._sandboxes, str(self._data))

    def carry_out(self, run: str, order: RunOrder) -> Iterator[list[Part]]:
        """Carry out a run and yield its parts in batches; the last one is ``ended``.

        Args:
            run: The run's id.
            order: The run.

        Raises:
            StudioError: The run cannot begin.
        """
        try:
            with self._created(run, order) as (recorded, sender, blobs):
                yield from batches(self._events(recorded, order, self._stop_of(run), sender))
                yield from batches(_results(recorded, sender, blobs))
                end = _end(recorded, sender)
            yield [end]
        finally:
            with self._lock:
                self._stops.pop(run, None)

    def stop(self, run: str) -> None:
        """End a run early; it ends as ``stopped``. It may begin only after this call."""
        self._stop_of(run).set()

    def close(self) -> None:
        """End everything and delete what the node stores."""
        with self._lock:
            stops = list(self._stops.values())
        for stop in stops:
            stop.set()
        self._resources.close()

    def _stop_of(self, run: str) -> Stop:
        with self._lock:
            return self._stops.setdefault(run, Stop())

    @contextmanager
    def _created(
        self, run: str, order: RunOrder
    ) -> Iterator[tuple[RecordedRun, Sender, BlobStore]]:
        """Create a run with a store of its own; delete all of it in the end."""
        folder = RunFolder.create(self._data, self._provider.create_workspace(), run_id=run)
        store = self._data / "blobs-of-runs" / run
        with ExitStack() as stack:
            stack.callback(_discard, folder, store)
            write_files(run, order.inputs, Workspace(folder.workspace))
            blobs = BlobStore(store, limit=self._settings.blob_store_bytes)
            recorded = RecordedRun(folder, _OwnStore(self._provider, blobs))
            stack.callback(_close, recorded)
            yield recorded, Sender(folder, hashes_of(order.inputs)), blobs

    def _events(
        self, recorded: RecordedRun, order: RunOrder, stop: Stop, sender: Sender
    ) -> Iterator[Part]:
        """Carry out the round; yield the journal as it grows, without its end."""
        model = select_model(order.text, order.model, self._settings).model
        task = Task(order.text, order.prompt, order.mode, order.network)
        sent = 0.0
        for event in recorded.start(task, model, adapt_to_model(order.limits, model), stop):
            if _is_due(event, sent):
                yield from sender.new_events()
                sent = time.monotonic()

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


class _OwnStore:
    """A provider whose runs keep file versions in a store of their own.

    Args:
        provider: The provider of their sandboxes.
        blobs: The store.
    """

    def __init__(self, provider: SandboxProvider, blobs: BlobStore) -> None:
        self.blobs = blobs
        self.acquire = provider.acquire


def hashes_of(inputs: Mapping[str, bytes]) -> dict[str, str]:
    """Return the SHA-256 of documents by their path in the workspace."""
    return {
        f"{INPUT_FOLDER}/{name}": hashlib.sha256(data).hexdigest() for name, data in inputs.items()
    }


def _is_due(event: Event, sent: float) -> bool:
    """Whether to send the journal: at the end of a step, else now and then; never its end."""
    if isinstance(event, RunEnded):
        return False
    return isinstance(event, StepEnded) or time.monotonic() - sent > _SEND_SECONDS


def _results(recorded: RecordedRun, sender: Sender, blobs: BlobStore) -> Iterator[Part]:
    """Yield what a run that has ended leaves, and then the end of its journal."""
    yield from sender.record()
    yield from sender.blobs(blobs.folder)
    yield from sender.workspace(recorded.workspace)
    yield from sender.new_events()


def _end(recorded: RecordedRun, sender: Sender) -> Part:
    last = recorded.state.rounds[-1]
    left_out = "\n".join(sender.left_out).encode(errors="surrogateescape")
    return Part("ended", last.reason, left_out, status=last.status or "failed", answer=last.answer)


def _close(recorded: RecordedRun) -> None:
    with suppress(StudioError):  # its sandbox is removed when the node is closed
        recorded.close()


def _discard(folder: RunFolder, store: Path) -> None:
    shutil.rmtree(folder.path, ignore_errors=True)
    shutil.rmtree(store, ignore_errors=True)
    volume.discard(folder.sandbox_folder)
