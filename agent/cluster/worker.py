"""Carries out whole runs on a node; its copies of a run are deleted when they have been sent."""

import hashlib
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from agent.api.models import select_model
from agent.api.placement import RunOrder
from agent.cluster.node_process import NodeProcess
from agent.cluster.parts import Part, Sender, batches
from agent.errors import StudioError
from agent.events import Event, RunEnded, StepEnded
from agent.limits import adapt_to_model
from agent.runs.folder import RunFolder
from agent.runs.inputs import INPUT_FOLDER
from agent.runs.recorded_run import RecordedRun, SandboxProvider
from agent.tasks.setup import write_files
from agent.util.stop import Stop
from agent.workspace.files import Workspace
from agent.workspace.versions.blobs import BlobStore

_SEND_SECONDS = 0.5


class Worker(NodeProcess):
    """Carries out runs on its node."""

    LOSS = "Its unfinished runs start again elsewhere."

    def carry_out(self, run: str, order: RunOrder) -> Iterator[list[Part]]:
        """Carry out a run and yield its parts in batches; the last one is ``ended``."""
        try:
            with self._created(run, order) as (recorded, sender, blobs):
                yield from batches(self._events(recorded, order, self._stop_of(run), sender))
                yield from batches(_results(recorded, sender, blobs))
                end = _end(recorded, sender)
            yield [end]
        finally:
            self._forget_stop(run)

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
        model = select_model(order.spec.task, order.model, self._settings).model
        task = order.spec.first_task(model, order.prompt)
        sent = 0.0
        for event in recorded.start(task, model, adapt_to_model(order.limits, model), stop):
            if _is_due(event, sent):
                yield from sender.new_events()
                sent = time.monotonic()


class _OwnStore:
    """A provider whose runs keep file versions in a store of their own."""

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
    folder.discard()
    shutil.rmtree(store, ignore_errors=True)
