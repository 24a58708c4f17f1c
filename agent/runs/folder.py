"""A run's folder: its record, and the sandbox that contains its workspace.

::

    <data>/runs/<run>/run.json         creation time, sandbox, title, whether it is pinned
                      journal.jsonl    its events
                      outputs/         outputs too long for the journal, and pictures
                      requests/        requests to the model: agent.runs.requests
                      manifests.jsonl  the workspace after each step, as deltas
    <data>/sandboxes/<sandbox>/workspace
"""

import os
import shutil
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter
from pydantic_core import from_json, to_json

from agent.data_folder import random_id
from agent.errors import RunError
from agent.events import Network
from agent.owned_folder import ID, OwnedFolder, OwnedRecord
from agent.sandbox.disk import volume
from agent.sandbox.network.policy import NetworkPolicy
from agent.workspace.files import FallbackAccess, Workspace

RUN_NOT_FOUND = "There is no such run. It may have been deleted."


ParentKind = Literal["fork", "replay"]


@dataclass(frozen=True, slots=True)
class Parent:
    """What a run was made from."""

    run: str  # may have been deleted since
    step: int  # this run starts with those up to it
    manifest: str = ""  # ``Manifest.digest`` after it; empty if unknown
    kind: ParentKind = "fork"


@cache  # on first use, so that importing this module stays cheap
def parent_adapter() -> TypeAdapter[Parent]:
    """Return the adapter that reads and writes a parent as JSON."""
    return TypeAdapter(Parent)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Metadata(OwnedRecord):
    """The content of ``run.json``; an alias is a key that earlier versions read."""

    created: float
    sandbox: str
    sandbox_used: Annotated[bool, Field(alias="used")] = False
    network: Network = "open"
    hosts: tuple[str, ...] = ()
    owner: str = ""
    share_link_digests: Annotated[tuple[str, ...], Field(alias="shares")] = ()
    comparison: str = ""
    memory: int | None = None
    parent: Parent | None = None
    imported: str = ""


@cache  # on first use, so that importing this module stays cheap
def _metadata_adapter() -> TypeAdapter[_Metadata]:
    return TypeAdapter(_Metadata)


class RunFolder(OwnedFolder[_Metadata]):
    """The folder of one run; ``workspace_lock`` is held while the workspace or paths in it move."""

    def __init__(self, data: Path, run_id: str, metadata: _Metadata) -> None:
        super().__init__(data / "runs" / run_id / "run.json", metadata, metadata.owner)
        self.created = metadata.created  # in seconds since the epoch
        self.parent = metadata.parent  # what it was made from, if anything; may be deleted
        self.imported = metadata.imported  # the format that it was imported from, if any
        self._unknown: dict[str, Any] = {}  # what a newer version wrote: it is kept
        self.workspace_lock = threading.RLock()

    @classmethod
    def create(
        cls,
        data: Path,
        sandbox: str,
        owner: str = "",
        comparison: str = "",
        parent: Parent | None = None,
        run_id: str = "",
        imported: str = "",
    ) -> "RunFolder":
        """Create the folder of a new run; nothing is left of a failure.

        An empty ``owner`` is the operator; ``comparison`` is the experiment that starts it;
        ``run_id`` is given if another machine has created it; ``imported`` is the format that it is
        imported from.
        """
        metadata = _Metadata(
            created=time.time(), sandbox=sandbox, owner=owner, comparison=comparison,
            parent=parent, imported=imported,
        )  # fmt: skip
        folder = cls(data, run_id or random_id(), metadata)
        try:
            folder.outputs.mkdir(parents=True, mode=0o700)
            with volume.assigned(folder.sandbox_folder, folder.id):
                folder._write(metadata)
        except OSError:
            shutil.rmtree(folder.path, ignore_errors=True)
            raise
        return folder

    @classmethod
    def open(cls, data: Path, run_id: str) -> "RunFolder":
        """Open the folder of an existing run."""
        path = data / "runs" / run_id / "run.json"
        if not ID.fullmatch(run_id) or not path.is_file():
            raise RunError(RUN_NOT_FOUND)
        try:
            record = from_json(path.read_bytes())
            metadata = _metadata_adapter().validate_python(record)
            _check(metadata)
        except (OSError, ValueError, TypeError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise RunError(f"The record of run {run_id} cannot be read: {why}") from error
        folder = cls(data, run_id, metadata)
        folder._unknown = {key: record[key] for key in record.keys() - _dump(metadata).keys()}
        return folder

    @classmethod
    def find(cls, places: Iterable[Path], run_id: str) -> "RunFolder":
        """Open the folder of a run in the first data folder that has it."""
        if ID.fullmatch(run_id):
            for data in places:
                if (data / "runs" / run_id / "run.json").is_file():
                    return cls.open(data, run_id)
        raise RunError(RUN_NOT_FOUND)

    @classmethod
    def all(cls, data: Path) -> list["RunFolder"]:
        """Return all runs of a data folder, oldest first, except unreadable ones."""
        found = []
        for path in (data / "runs").glob("*/run.json"):
            try:
                found.append(cls.open(data, path.parent.name))
            except RunError:
                continue
        return sorted(found, key=lambda folder: folder.created)

    @classmethod
    def exists(cls, data: Path, run_id: str) -> bool:
        """Return whether a data folder has a run, which may be unreadable."""
        return bool(ID.fullmatch(run_id)) and (data / "runs" / run_id).is_dir()

    @classmethod
    def ids(cls, data: Path) -> list[str]:
        """Return the ids of all runs of a data folder, including unreadable ones."""
        try:
            with os.scandir(data / "runs") as entries:
                return [each.name for each in entries if ID.fullmatch(each.name)]
        except FileNotFoundError:
            return []

    @property
    def sandbox(self) -> str:
        """The id of the sandbox whose folder contains the workspace."""
        return self._record.sandbox

    @property
    def sandbox_folder(self) -> Path:
        """The sandbox's folder on the host."""
        return self.data / "sandboxes" / self.sandbox

    @property
    def is_untouched(self) -> bool:
        """Whether nothing has used the workspace's disk yet, so that it has no files."""
        return volume.is_unused(self.sandbox_folder)

    @property
    def workspace(self) -> Path:
        """The host folder of ``/workspace``, with its disk image mounted."""
        volume.attach(self.sandbox_folder)
        return self.sandbox_folder / "workspace"

    def open_workspace(self, fallback: FallbackAccess | None = None) -> Workspace:
        """Return the run's files, whose disk image is mounted when they are used."""
        mounted = partial(volume.in_use, self.sandbox_folder)
        return Workspace(self.sandbox_folder / "workspace", fallback=fallback, mounted=mounted)

    @property
    def journal(self) -> Path:
        """The journal file."""
        return self.path / "journal.jsonl"

    @property
    def outputs(self) -> Path:
        """The folder of outputs too long for the journal, and of pictures."""
        return self.path / "outputs"

    @property
    def requests(self) -> Path:
        """The folder of the log of requests; missing in runs of earlier versions."""
        return self.path / "requests"

    @property
    def manifests(self) -> Path:
        """The file of manifest deltas."""
        return self.path / "manifests.jsonl"

    @property
    def comparison(self) -> str:
        """The id of the comparison or evaluation that started the run; empty if none did."""
        return self._record.comparison

    @property
    def sandbox_used(self) -> bool:
        """Whether a sandbox has used the workspace, and not only the user."""
        return self._record.sandbox_used

    @property
    def network(self) -> NetworkPolicy:
        """The network policy of the run's sandbox."""
        return NetworkPolicy(self._record.network, tuple(self._record.hosts))

    def set_network(self, policy: NetworkPolicy) -> None:
        """Set the network policy for the run's sandbox, which is not yet created."""
        self._update(network=policy.access, hosts=policy.hosts)

    @property
    def memory(self) -> int | None:
        """The memory limit in bytes of the run's sandbox; None for the operator's."""
        return self._record.memory

    def set_memory(self, memory: int) -> None:
        """Set a memory limit in bytes for the run's sandbox, which is not yet created."""
        self._update(memory=memory)

    def set_sandbox(self, sandbox: str) -> None:
        """Record that this sandbox uses and contains the workspace from now on."""
        if sandbox == self.sandbox:
            self._update(sandbox_used=True)
            return
        with volume.assigned(self.data / "sandboxes" / sandbox, self.id):
            self._update(sandbox=sandbox, sandbox_used=True)

    def discard(self) -> None:
        """Delete the record, the sandbox's folder and its disk; ignore errors."""
        volume.leave(self.sandbox_folder, self.id)
        shutil.rmtree(self.path, ignore_errors=True)
        volume.discard(self.sandbox_folder)

    def leave_comparison(self) -> None:
        """Make the run independent of what started it, which is being deleted."""
        self._update(comparison="")

    def _encode(self, record: _Metadata) -> bytes:
        return to_json(_dump(record) | self._unknown)


def _dump(metadata: _Metadata) -> dict[str, Any]:
    record: dict[str, Any] = _metadata_adapter().dump_python(metadata, mode="json", by_alias=True)
    return record


def _check(metadata: _Metadata) -> None:
    """Refuse a record whose fields are present but invalid."""
    if "/" in metadata.sandbox or metadata.sandbox in ("", ".", ".."):
        raise ValueError(f"{metadata.sandbox[:50]!r} is not a sandbox id")
