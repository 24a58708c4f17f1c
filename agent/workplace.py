"""Where a run's commands are carried out: a sandbox, what follows its files, their versions."""

from collections.abc import Iterator
from contextlib import suppress

from agent.changes import changed
from agent.errors import SandboxError, WorkspaceError
from agent.events import Event, Notice
from agent.folder import RunFolder
from agent.sandbox.base import Sandbox
from agent.workspace.blobs import BlobStore
from agent.workspace.manifest import Delta
from agent.workspace.snapshots import Snapshots
from agent.workspace.versions import Versions
from agent.workspace.watch import Watch


class Workplace:
    """A sandbox at work for a run.

    Args:
        sandbox: The sandbox; closed with the workplace.
        folder: The run's folder.
        blobs: Where contents of files are kept.
    """

    def __init__(self, sandbox: Sandbox, folder: RunFolder, blobs: BlobStore) -> None:
        self.sandbox = sandbox
        self._blobs = blobs
        self._workspace = folder.workspace
        self._versions = Versions(folder.manifests)
        self._watch = Watch(folder.sandbox_folder)
        self._snapshots = self._recorded()

    def versioned(self, step: int, *, final: bool = False) -> Iterator[Event]:
        """Keep the workspace's version; where that cannot be read, the run goes on.

        Args:
            step: The step that did it.
            final: Whether everything is looked at, as at the end of a round.

        Yields:
            What a person sees of it.
        """
        try:
            with self._blobs.relied_on():
                delta = self._snapshots.take(final=final)
                if delta:
                    self._append(step, delta)
        except WorkspaceError as error:
            yield Notice(step=step, text=f"What this step did to the files is not known: {error}")
            return
        if delta:
            change = changed(step, delta)
            if change.total:
                yield change

    def _append(self, step: int, delta: Delta) -> None:
        try:
            self._versions.append(step, delta)
        except OSError:
            self._snapshots = self._recorded()  # what could not be kept is found again
            raise

    def _recorded(self) -> Snapshots:
        """What follows the files, from where their versions stand."""
        known = self._versions.manifest()
        return Snapshots(self._workspace, self._blobs, self._watch, manifest=known)

    def end_processes(self) -> None:
        """Leave nothing at work behind a round; a sandbox that is lost has nothing."""
        with suppress(SandboxError):
            self.sandbox.end_processes()

    def rest(self) -> None:
        """Stop the sandbox, which can be woken; see ``Sandbox.rest``."""
        self._watch.close()
        self.sandbox.rest()

    def close(self) -> None:
        """End the sandbox; the workspace stays."""
        self._watch.close()
        self.sandbox.close()
