"""A run's folder: where its record is kept, and which sandbox holds its workspace.

::

    <data>/runs/<run>/run.json         when it was made, which sandbox, its title, if pinned
                      journal.jsonl    its events
                      summary.json     what a list says of it; made again from the journal
                      outputs/         outputs too long for the journal
                      manifests.jsonl  the workspace after each step, as deltas
    <data>/sandboxes/<sandbox>/workspace
"""

import re
import secrets
import threading
import time
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from agent.errors import RunError
from agent.events import Network
from agent.sandbox import disk
from agent.sandbox.network import Policy

MAX_TITLE = 200
NO_RUN = "There is no such run. It may have been deleted."
_ID = re.compile(r"[A-Za-z0-9_-]{8,64}")


@dataclass(frozen=True, slots=True)
class _About:
    created: float
    sandbox: str
    used: bool = False
    network: Network = "open"
    hosts: tuple[str, ...] = ()
    title: str = ""
    owner: str = ""
    shares: tuple[str, ...] = ()
    pinned: bool = False


_ABOUT = TypeAdapter(_About)


class RunFolder:
    """The folder of one run; ``create`` makes one, ``open`` finds one.

    Attributes:
        settling: Held while the workspace is moved to another sandbox, and by whoever
            changes names in it.
    """

    def __init__(self, data: Path, run_id: str, about: _About) -> None:
        self.id = run_id
        self.data = data
        self.path = data / "runs" / run_id
        self._about = about
        self._lock = threading.Lock()
        self.settling = threading.RLock()

    @classmethod
    def create(cls, data: Path, sandbox: str, owner: str = "") -> "RunFolder":
        """A new run's folder, with an id that cannot be guessed.

        Args:
            data: The data folder.
            sandbox: The id of the sandbox folder that holds the run's workspace.
            owner: Whose it is; empty for the operator's, as all of the command line are.
        """
        about = _About(time.time(), sandbox, owner=owner)
        folder = cls(data, secrets.token_urlsafe(12), about)
        folder.outputs.mkdir(parents=True, mode=0o700)
        folder._write()
        return folder

    @classmethod
    def open(cls, data: Path, run_id: str) -> "RunFolder":
        """The folder of a run that exists.

        Raises:
            RunError: there is none of this id, or it cannot be read.
        """
        path = data / "runs" / run_id / "run.json"
        if not _ID.fullmatch(run_id) or not path.is_file():
            raise RunError(NO_RUN)
        try:
            about = _ABOUT.validate_json(path.read_bytes())
            _check(about)
        except (OSError, ValueError, TypeError) as error:
            raise RunError(f"The record of run {run_id} cannot be read: {error}") from error
        return cls(data, run_id, about)

    @classmethod
    def all(cls, data: Path) -> list["RunFolder"]:
        """Every run of a data folder, oldest first; those that cannot be read are left out."""
        found = []
        for path in (data / "runs").glob("*/run.json"):
            try:
                found.append(cls.open(data, path.parent.name))
            except RunError:
                continue
        return sorted(found, key=lambda folder: folder.created)

    @classmethod
    def ids(cls, data: Path) -> list[str]:
        """The ids of all runs of a data folder, in no order; those that cannot be read too."""
        return [path.name for path in (data / "runs").glob("*") if _ID.fullmatch(path.name)]

    @property
    def created(self) -> float:
        """When the run was made, seconds since the epoch."""
        return self._about.created

    @property
    def sandbox(self) -> str:
        """The id of the sandbox whose folder holds the workspace."""
        return self._about.sandbox

    @property
    def sandbox_folder(self) -> Path:
        """The sandbox's folder on the host."""
        return self.data / "sandboxes" / self.sandbox

    @property
    def workspace(self) -> Path:
        """The folder that is ``/workspace`` inside the sandbox, its disk mounted.

        Raises:
            SandboxError: it is on a disk of its own, which cannot be mounted.
        """
        disk.attach(self.sandbox_folder)
        return self.sandbox_folder / "workspace"

    @property
    def journal(self) -> Path:
        """The journal's file."""
        return self.path / "journal.jsonl"

    @property
    def outputs(self) -> Path:
        """The folder of outputs that were too long for the journal."""
        return self.path / "outputs"

    @property
    def manifests(self) -> Path:
        """The file of manifest deltas."""
        return self.path / "manifests.jsonl"

    @property
    def summary(self) -> Path:
        """What a list says of the run."""
        return self.path / "summary.json"

    @property
    def title(self) -> str:
        """What a person called the run; empty until they do."""
        return self._about.title

    @property
    def owner(self) -> str:
        """Whose the run is; empty for the operator's."""
        return self._about.owner

    @property
    def shares(self) -> tuple[str, ...]:
        """The digests of the links that show the run to others."""
        return tuple(self._about.shares)

    @property
    def pinned(self) -> bool:
        """Whether a person keeps it: then nothing but their unpinning lets it be removed."""
        return self._about.pinned

    @property
    def used(self) -> bool:
        """Whether a sandbox has worked in the workspace; before, only the person has."""
        return self._about.used

    @property
    def network(self) -> Policy:
        """What the run's sandbox may reach."""
        return Policy(self._about.network, tuple(self._about.hosts))

    def restrict(self, policy: Policy) -> None:
        """Let the run's sandbox, which is still to be made, reach this and nothing else."""
        if policy != self.network:
            self._change(network=policy.access, hosts=policy.hosts)

    def use(self, sandbox: str) -> None:
        """Remember that this sandbox works in the workspace from now on, and holds it."""
        self._change(sandbox=sandbox, used=True)

    def share(self, digests: Iterable[str]) -> None:
        """Let the links of these digests show the run, and no others."""
        self._change(shares=tuple(digests))

    def rename(self, title: str) -> None:
        """Call the run so: one line without control characters; an empty one takes it back."""
        line = " ".join(title.split())
        kept = (each for each in line if unicodedata.category(each) not in ("Cc", "Cs"))
        self._change(title="".join(kept)[:MAX_TITLE].strip())

    def pin(self, pinned: bool) -> None:
        """Keep the run, or let it go as others do."""
        if pinned != self.pinned:
            self._change(pinned=pinned)

    def _change(self, **changes: Any) -> None:
        with self._lock:
            self._about = replace(self._about, **changes)
            self._write()

    def _write(self) -> None:
        new = self.path / "run.json.new"
        new.write_bytes(_ABOUT.dump_json(self._about))
        new.replace(self.path / "run.json")


def _check(about: _About) -> None:
    """Refuse what has the right names but cannot be a run's record."""
    if "/" in about.sandbox or about.sandbox in ("", ".", ".."):
        raise ValueError(f"{about.sandbox[:50]!r} is no sandbox")
