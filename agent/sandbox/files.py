"""Files inside a sandbox, by path, in chunks, through its supervisor."""

import errno
import os
from collections.abc import Iterator

from agent.errors import ToolError
from agent.sandbox.base import Entry, FileKind
from agent.sandbox.link import Conversation, Link, LinkLost
from agent.sandbox.supervisor import frames

_PATIENCE = 30.0
_KINDS: dict[bytes, FileKind] = {
    b"file": "file",
    b"folder": "folder",
    b"other": "other",
    b"missing": "missing",
}
_WORDS = {
    errno.ENOENT: "{path} does not exist.",
    errno.EISDIR: "{path} is a folder, not a file.",
    errno.ENODEV: "{path} is not a regular file.",
    errno.ENOTDIR: "{path} is not a folder, or a part of it is not.",
    errno.EEXIST: "{path} already exists.",
    errno.EACCES: "No permission to use {path}.",
    errno.EPERM: "No permission to use {path}.",
    errno.EROFS: "{path} is on a part of the sandbox that cannot be written.",
    errno.ENOSPC: "The disk is full: {path} was left as it was.",
    errno.EDQUOT: "The disk is full: {path} was left as it was.",
    errno.EFBIG: "{path} is larger than what can be read here{limit}.",
    errno.ELOOP: "{path} is a link that leads back to itself.",
    errno.ENAMETOOLONG: "{path}: this name is too long.",
}


def encode(text: str) -> bytes:
    """Text as the sandbox's bytes; names that are not UTF-8 come back as they were."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _failure(payload: bytes, path: str, limit: int | None) -> ToolError:
    number = int.from_bytes(payload[: frames.FAILED_HEAD.size], "big")
    size = "" if limit is None else f" ({limit} bytes)"
    words = _WORDS.get(number)
    if words is None:
        words = "{path}: " + (os.strerror(number) if number < 4096 else "it can't be used")
    return ToolError(words.replace("{limit}", size).replace("{path}", path))


class _Operation:
    """One file operation under way."""

    def __init__(
        self, link: Link, conversation: Conversation, path: str, limit: int | None = None
    ) -> None:
        self._link = link
        self._conversation = conversation
        self._path = path
        self._limit = limit

    def begin(self, name: str, *arguments: bytes) -> bytes | None:
        """Open it; return the first answer, None where that was all."""
        self._conversation.send(frames.OPEN, b"\0".join([name.encode(), *arguments]))
        return self._answer()

    def on(self, chunk: bytes = b"") -> bytes | None:
        """Carry it on; return the next answer, None at the end."""
        self._conversation.send(frames.NEXT, chunk)
        return self._answer()

    def _answer(self) -> bytes | None:
        kind, payload = self._conversation.answer(_PATIENCE)
        if kind == frames.FAILED:
            raise _failure(payload, self._path, self._limit)
        if kind == frames.DONE:
            return None
        if kind != frames.DATA:
            self._link.fail("The sandbox sent an answer that cannot be read.")
            raise LinkLost(self._link.failure)
        return payload

    def cancel(self) -> None:
        """Have it forgotten inside."""
        self._conversation.send(frames.CANCEL)


def _answers(operation: _Operation, name: str, *arguments: bytes) -> Iterator[bytes]:
    answer = operation.begin(name, *arguments)
    while answer is not None:
        yield answer
        answer = operation.on()


def kind(link: Link, path: str) -> FileKind:
    """See ``Sandbox.kind``."""
    with link.conversation() as conversation:
        answers = b"".join(_answers(_Operation(link, conversation, path), "kind", encode(path)))
    return _KINDS.get(answers, "other")


def read(link: Link, path: str, limit: int) -> bytes:
    """See ``Sandbox.read``; the limit is held here, too, whatever the inside says."""
    content = bytearray()
    with link.conversation() as conversation:
        operation = _Operation(link, conversation, path, limit)
        for chunk in _answers(operation, "read", encode(path), str(limit).encode()):
            content += chunk
            if len(content) > limit:
                operation.cancel()
                raise _failure(frames.FAILED_HEAD.pack(errno.EFBIG), path, limit)
    return bytes(content)


def write(link: Link, path: str, data: bytes, exclusive: bool) -> None:
    """See ``Sandbox.write``."""
    with link.conversation() as conversation:
        operation = _Operation(link, conversation, path)
        operation.begin("write", encode(path), b"1" if exclusive else b"")
        for start in range(0, len(data), frames.CHUNK):
            operation.on(data[start : start + frames.CHUNK])
        operation.on(b"")


def entries(link: Link, path: str, depth: int, limit: int) -> list[Entry]:
    """See ``Sandbox.entries``."""
    found: list[Entry] = []
    arguments = encode(path), str(depth).encode(), str(limit).encode()
    with link.conversation() as conversation:
        operation = _Operation(link, conversation, path)
        for answer in _answers(operation, "entries", *arguments):
            found += map(_entry, answer.split(b"\0")[:-1])
            if len(found) >= limit:
                operation.cancel()
                break
    return found[:limit]


def _entry(record: bytes) -> Entry:
    what, _, rest = record.partition(b" ")
    size, _, path = rest.partition(b" ")
    number = int(size) if size.isdigit() and len(size) < 20 else 0
    return Entry(path.decode("utf-8", "surrogateescape"), _KINDS.get(what, "other"), number)


def remove(link: Link, path: str) -> None:
    """See ``Sandbox.remove``."""
    with link.conversation() as conversation:
        for _ in _answers(_Operation(link, conversation, path), "remove", encode(path)):
            continue


def peak_memory(link: Link) -> int | None:
    """See ``Sandbox.peak_memory``."""
    with link.conversation() as conversation:
        digits = b"".join(_answers(_Operation(link, conversation, "memory"), "peak"))
    return int(digits) if digits.isdigit() and len(digits) < 20 else None


def end_processes(link: Link) -> None:
    """See ``Sandbox.end_processes``."""
    with link.conversation() as conversation:
        conversation.send(frames.END)
        conversation.answer(_PATIENCE)
