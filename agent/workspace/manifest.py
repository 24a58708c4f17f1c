"""The workspace as it was after a step, and how it differs from the step before."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self
from urllib.parse import unquote_to_bytes

from agent.errors import JournalError
from agent.workspace.paths import RelPath

NodeKind = Literal["file", "folder", "link", "fifo", "socket", "device"]
_KINDS: tuple[NodeKind, ...] = ("file", "folder", "link", "fifo", "socket", "device")


@dataclass(frozen=True, slots=True)
class Node:
    """What a path named.

    Attributes:
        kind: What it is; a link is a link, wherever it leads.
        size: Bytes of a file; 0 for anything else.
        mode: Permission bits, setuid, setgid and sticky included.
        hash: SHA-256 of a file's content in hex, where it was read.
        kept: Whether the store holds the content (files), or the node says all there is.
        why: Where ``kept`` is False, why not, for a person.
        target: A link's text, bytes that are no UTF-8 surrogate-escaped.
    """

    kind: NodeKind
    size: int = 0
    mode: int = 0
    hash: str | None = None
    kept: bool = True
    why: str = ""
    target: str = ""

    def to_json(self) -> dict[str, Any]:
        """The node as JSON values, fields that say nothing left out."""
        found: dict[str, Any] = {"kind": self.kind, "mode": self.mode}
        if self.kind == "file":
            found |= {"size": self.size, "hash": self.hash}
        if not self.kept:
            found |= {"kept": False, "why": self.why}
        if self.kind == "link":
            found["target"] = RelPath.trusted(self.target).to_url()
        return found

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The node that ``to_json`` wrote. Raises ``JournalError`` for anything else."""
        kind, size, mode = data.get("kind"), data.get("size", 0), data.get("mode")
        if kind not in _KINDS or not isinstance(size, int) or not isinstance(mode, int):
            raise JournalError(f"This is no record of a file: {str(data)[:200]}")
        return cls(
            kind=kind,
            size=size,
            mode=mode,
            hash=data.get("hash"),
            kept=bool(data.get("kept", True)),
            why=str(data.get("why", "")),
            target=_unquoted(str(data.get("target", ""))),
        )


@dataclass(frozen=True, slots=True)
class Delta:
    """What one step did to the workspace.

    Attributes:
        changed: What was added or changed, as it is now, by path.
        removed: Paths that are gone, each named (a folder's content too).
        added: Those of ``changed`` that were not there before.
    """

    changed: dict[str, Node] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    added: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.changed or self.removed)

    def to_json(self) -> dict[str, Any]:
        """The delta as JSON values; plain ASCII, paths as percent-encoded bytes."""
        return {
            "changed": {
                _quoted(path): node.to_json() | ({"new": True} if path in self.added else {})
                for path, node in self.changed.items()
            },
            "removed": [_quoted(path) for path in self.removed],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The delta that ``to_json`` wrote. Raises ``JournalError`` for anything else."""
        try:
            changed = {_unquoted(path): node for path, node in data["changed"].items()}
            return cls(
                changed={path: Node.from_json(node) for path, node in changed.items()},
                removed=tuple(_unquoted(path) for path in data["removed"]),
                added=frozenset(path for path, node in changed.items() if node.get("new")),
            )
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise JournalError("A record of the workspace's changes cannot be read.") from error


class Manifest:
    """Every path of the workspace below its root, and what it named.

    Args:
        nodes: What to begin with; by default nothing.
    """

    def __init__(self, nodes: Mapping[str, Node] | None = None) -> None:
        self.nodes: dict[str, Node] = dict(nodes or {})

    @classmethod
    def after(cls, deltas: Iterable[Delta]) -> Self:
        """The workspace after all of ``deltas``, in order, from an empty one."""
        manifest = cls()
        for delta in deltas:
            manifest.apply(delta)
        return manifest

    def apply(self, delta: Delta) -> None:
        """Move on by one step; costs as much as the delta is long."""
        for path in delta.removed:
            self.nodes.pop(path, None)
        self.nodes.update(delta.changed)

    def to(self, now: Mapping[str, Node]) -> Delta:
        """The delta that leads from here to ``now``, paths in order."""
        before = self.nodes
        changed = {path: node for path, node in now.items() if _differs(before.get(path), node)}
        return Delta(
            changed=dict(sorted(changed.items())),
            removed=tuple(sorted(path for path in before if path not in now)),
            added=frozenset(path for path in changed if path not in before),
        )


def _differs(before: Node | None, node: Node) -> bool:
    return before is not node and before != node


def _quoted(path: str) -> str:
    return RelPath.trusted(path).to_url()


def _unquoted(quoted: str) -> str:
    return os.fsdecode(unquote_to_bytes(quoted))
