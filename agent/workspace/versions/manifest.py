"""Manifests: a workspace's paths after a step, deltas between steps, and a run's log of deltas."""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import unquote_to_bytes

from agent.errors import JournalError
from agent.util.state_files import open_record, read_record
from agent.workspace.paths import RelPath

NodeKind = Literal["file", "folder", "link", "fifo", "socket", "device"]
_USER = "user"
_SIZES, _SHA256 = 2**63, re.compile(r"[0-9a-f]{64}")
_KINDS: tuple[NodeKind, ...] = ("file", "folder", "link", "fifo", "socket", "device")


@dataclass(frozen=True, slots=True)
class Node:
    """A file, folder, link or special file at a path."""

    kind: NodeKind  # links are not followed
    size: int = 0  # of a file; 0 for other kinds
    mode: int = 0  # with setuid, setgid and sticky
    hash: str | None = None  # SHA-256 of a file's content, if it was read
    stored: bool = True  # a file's content, or all of another node
    reason: str = ""  # for the user, if not ``stored``
    target: str = ""  # of a link; not UTF-8: surrogate-escaped

    @property
    def content_hash(self) -> str | None:
        """The SHA-256 in hex of a file's content or a link's target; None if it was not read."""
        if self.kind == "link" and self.stored:
            return hashlib.sha256(os.fsencode(self.target)).hexdigest()
        return self.hash

    def to_json(self) -> dict[str, Any]:
        """Return the node as JSON values, without default fields."""
        data: dict[str, Any] = {"kind": self.kind, "mode": self.mode}
        if self.kind == "file":
            data |= {"size": self.size, "hash": self.hash}
        if not self.stored:
            data |= {"kept": False, "why": self.reason}
        if self.kind == "link":
            data["target"] = RelPath.trusted(self.target).to_url()
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Parse the output of ``to_json``. Raises ``JournalError`` if it is invalid."""
        kind, size, mode = data.get("kind"), data.get("size", 0), data.get("mode")
        if kind not in _KINDS or not isinstance(size, int) or not isinstance(mode, int):
            raise JournalError(f"This is not a record of a file: {str(data)[:200]}")
        digest, target = data.get("hash"), _decode_path(str(data.get("target", "")))
        known = digest is None or (isinstance(digest, str) and _SHA256.fullmatch(digest))
        if not known or not 0 <= size < _SIZES or "\0" in target:
            raise JournalError(f"This is not a record of a file: {str(data)[:200]}")
        return cls(
            kind=kind,
            size=size,
            mode=mode,
            hash=digest,
            stored=bool(data.get("kept", True)),
            reason=str(data.get("why", "")),
            target=target,
        )


@dataclass(frozen=True, slots=True)
class Delta:
    """Changes to the workspace by one step or by the user."""

    changed: dict[str, Node] = field(default_factory=dict)  # added ones, too
    removed: tuple[str, ...] = ()  # with those inside removed folders
    added: frozenset[str] = frozenset()
    by_user: bool = False

    def __bool__(self) -> bool:
        return bool(self.changed or self.removed)

    def to_json(self) -> dict[str, Any]:
        """Return the delta as JSON values; plain ASCII, with percent-encoded paths."""
        return {
            "changed": {
                _encode_path(path): node.to_json() | ({"new": True} if path in self.added else {})
                for path, node in self.changed.items()
            },
            "removed": [_encode_path(path) for path in self.removed],
            **({"by": _USER} if self.by_user else {}),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Parse the output of ``to_json``. Raises ``JournalError`` if it is invalid."""
        try:
            changed = {_decode_path(path): node for path, node in data["changed"].items()}
            return cls(
                changed={path: Node.from_json(node) for path, node in changed.items()},
                removed=tuple(_decode_path(path) for path in data["removed"]),
                added=frozenset(path for path, node in changed.items() if node.get("new")),
                by_user=data.get("by") == _USER,
            )
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise JournalError("A record of the workspace's changes cannot be read.") from error


class Manifest:
    """All paths in the workspace with their nodes, as of ``step``; 0 without any."""

    def __init__(self, nodes: Mapping[str, Node] | None = None) -> None:
        self.nodes: dict[str, Node] = dict(nodes or {})
        self.step = 0

    @classmethod
    def from_deltas(cls, deltas: Iterable[Delta]) -> Self:
        """Return the manifest that results from applying ``deltas`` to an empty one."""
        manifest = cls()
        for delta in deltas:
            manifest.apply(delta)
        return manifest

    def digest(self) -> str:
        """Return a SHA-256 in hex that is equal for equal paths with equal nodes."""
        content = {_encode_path(path): node.to_json() for path, node in self.nodes.items()}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def apply(self, delta: Delta) -> None:
        """Apply a delta; the cost is proportional to its length."""
        for path in delta.removed:
            self.nodes.pop(path, None)
        self.nodes.update(delta.changed)

    def diff(self, current: Mapping[str, Node]) -> Delta:
        """Return the delta from this manifest to ``current``, with sorted paths."""
        before = self.nodes
        changed = {path: node for path, node in current.items() if _differs(before.get(path), node)}
        return Delta(
            changed=dict(sorted(changed.items())),
            removed=tuple(sorted(path for path in before if path not in current)),
            added=frozenset(path for path in changed if path not in before),
        )


def _differs(before: Node | None, node: Node) -> bool:
    return before is not node and before != node


def _encode_path(path: str) -> str:
    return RelPath.trusted(path).to_url()


def _decode_path(encoded: str) -> str:
    return os.fsdecode(unquote_to_bytes(encoded))


class ManifestLog:
    """A run's file of deltas; ``damage`` is a sentence on what reading found damaged."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._repaired = False
        self.damage = ""

    def append(self, step: int, delta: Delta) -> None:
        """Append the delta of a step."""
        if not self._repaired:
            self._repair()
        line = json.dumps({"step": step, **delta.to_json()}).encode() + b"\n"
        try:
            with self._path.open("ab") as file:
                file.write(line)
        except OSError:
            self._repaired = False  # the line may be partly written
            raise

    def read(self) -> Iterator[tuple[int, Delta]]:
        """Yield the deltas in order, each with its step, up to the first invalid line."""
        return ((step, delta) for _, step, delta in self.read_from(0))

    def read_from(self, offset: int) -> Iterator[tuple[int, int, Delta]]:
        """Like ``read``, from a file position on; yield (position after the delta, step, delta)."""
        if not self._path.exists():
            return
        with open_record(self._path) as file:
            file.seek(offset)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                offset += len(line)
                try:
                    step, delta = decode_delta(line)
                except JournalError:
                    self.damage = (
                        f"The run's record is damaged: {self._path.name} cannot be read from byte "
                        f"{offset - len(line):,} on. Later changes of files are not known."
                    )
                    return
                yield offset, step, delta

    def manifest(self, step: int | None = None) -> Manifest:
        """Return the manifest after ``step`` (0: before the first); the latest if None."""
        manifest = Manifest()
        for number, delta in self.read():
            if step is None or number <= step:
                manifest.apply(delta)
                manifest.step = manifest.step if delta.by_user else number
        return manifest

    def _repair(self) -> None:
        """Truncate the file after its last newline."""
        self._repaired = True
        if self._path.exists():
            complete_size = read_record(self._path).rfind(b"\n") + 1
            os.truncate(self._path, complete_size)


def decode_delta(line: bytes) -> tuple[int, Delta]:
    """Return the step and the delta of a line."""
    try:
        data = json.loads(line)
        return int(data["step"]), Delta.from_json(data)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise JournalError("A record of the workspace's changes cannot be read.") from error
