"""File operations inside a sandbox, transferred in chunks through its supervisor."""

import errno
import os
import re
from collections.abc import Iterator
from typing import NoReturn

from agent.errors import ToolError
from agent.sandbox.base import Entry, FileKind
from agent.sandbox.client.link import UNREADABLE, Conversation, Link, LinkLost
from agent.sandbox.supervisor import frames

_PATIENCE = 30.0
_SHORT = 64  # maximum bytes of an answer that is one word or one number
_LARGEST = 2**53 - 1  # the largest integer that every JSON parser reads exactly
_RECORD = re.compile(rb"(file|folder|other) (\d{1,19}) (/.*)", re.DOTALL)
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
    """Encode text for the sandbox; names that are not UTF-8 survive the round trip."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def failure(payload: bytes, path: str, limit: int | None = None) -> ToolError:
    """Return the error of a FAILED answer about ``path``."""
    number = int.from_bytes(payload[: frames.FAILED_HEAD.size], "big")
    size = "" if limit is None else f" ({limit} bytes)"
    words = _WORDS.get(number)
    if words is None:
        words = "{path}: " + (os.strerror(number) if number < 4096 else "it can't be used")
    return ToolError(words.replace("{limit}", size).replace("{path}", path), number)


class _Operation:
    """A file operation in progress."""

    def __init__(
        self, link: Link, conversation: Conversation, path: str, limit: int | None = None
    ) -> None:
        self._link = link
        self._conversation = conversation
        self._path = path
        self._limit = limit

    def begin(self, name: str, *arguments: bytes) -> bytes | None:
        """Start the operation; return the first answer, or None if there is none."""
        self._conversation.send(frames.OPEN, b"\0".join([name.encode(), *arguments]))
        return self._answer()

    def on(self, chunk: bytes = b"") -> bytes | None:
        """Send the next chunk; return the next answer, or None at the end."""
        self._conversation.send(frames.NEXT, chunk)
        return self._answer()

    def _answer(self) -> bytes | None:
        kind, payload = self._conversation.answer(_PATIENCE)
        if kind == frames.FAILED and len(payload) >= frames.FAILED_HEAD.size:
            raise failure(payload, self._path, self._limit)
        if kind == frames.DONE and not payload:
            return None
        if kind != frames.DATA:
            self.refuse()
        return payload

    def refuse(self) -> NoReturn:
        """Break the link because an answer violates the protocol."""
        self._link.fail(UNREADABLE)
        raise LinkLost(self._link.failure)

    def cancel(self) -> None:
        """Cancel the operation in the supervisor."""
        self._conversation.send(frames.CANCEL)


def _answers(operation: _Operation, name: str, *arguments: bytes) -> Iterator[bytes]:
    answer = operation.begin(name, *arguments)
    while answer is not None:
        yield answer
        answer = operation.on()


def _word(operation: _Operation, name: str, *arguments: bytes) -> bytes:
    """Return the answer of an operation that answers with one short word."""
    words = []
    for answer in _answers(operation, name, *arguments):
        words.append(answer)
        if len(words) > 1 or len(answer) > _SHORT:
            operation.refuse()
    return b"".join(words)


def kind(link: Link, path: str) -> FileKind:
    """See ``Sandbox.kind``."""
    with link.conversation() as conversation:
        operation = _Operation(link, conversation, path)
        word = _word(operation, "kind", encode(path))
        if word not in _KINDS:
            operation.refuse()
    return _KINDS[word]


def read(link: Link, path: str, limit: int) -> bytes:
    """See ``Sandbox.read``; the host enforces the limit too, because the sandbox is untrusted."""
    content = bytearray()
    with link.conversation() as conversation:
        operation = _Operation(link, conversation, path, limit)
        for chunk in _answers(operation, "read", encode(path), str(limit).encode()):
            if not chunk:
                operation.refuse()  # empty chunks could go on forever
            content += chunk
            if len(content) > limit:
                operation.cancel()
                raise failure(frames.FAILED_HEAD.pack(errno.EFBIG), path, limit)
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
            try:
                found += _listed(answer)
            except ValueError:
                operation.refuse()
            if len(found) >= limit:
                operation.cancel()
                break
    return found[:limit]


def _listed(answer: bytes) -> Iterator[Entry]:
    """Decode the records of one answer; ``ValueError`` if one is malformed."""
    *records, rest = answer.split(b"\0")
    if rest or not records:
        raise ValueError("not a list of records")
    for record in records:
        match = _RECORD.fullmatch(record)
        if match is None or int(match[2]) > _LARGEST:
            raise ValueError("not a record")
        yield Entry(match[3].decode("utf-8", "surrogateescape"), _KINDS[match[1]], int(match[2]))


def remove(link: Link, path: str) -> None:
    """See ``Sandbox.remove``."""
    with link.conversation() as conversation:
        for _ in _answers(_Operation(link, conversation, path), "remove", encode(path)):
            continue


def peak_memory(link: Link) -> int | None:
    """See ``Sandbox.peak_memory``."""
    with link.conversation() as conversation:
        operation = _Operation(link, conversation, "memory")
        digits = _word(operation, "peak")
        if digits and (not digits.isdigit() or int(digits) > _LARGEST):
            operation.refuse()
    return int(digits) if digits else None


def end_processes(link: Link) -> None:
    """See ``Sandbox.end_processes``."""
    with link.conversation() as conversation:
        conversation.send(frames.END)
        kind, payload = conversation.answer(_PATIENCE)
        if kind != frames.DONE or payload:
            _Operation(link, conversation, "").refuse()
