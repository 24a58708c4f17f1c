"""File operations inside a sandbox, transferred in chunks through its supervisor."""

import errno
import os
import re
from collections.abc import Iterator
from typing import NoReturn

from agent.errors import ToolError
from agent.sandbox.base import FileKind, FolderEntry
from agent.sandbox.client.link import UNREADABLE_ANSWER, Exchange, Link, LinkLost
from agent.sandbox.supervisor import frames

_TIMEOUT_SECONDS = 30.0
_MAX_WORD_BYTES = 64  # maximum bytes of an answer that is one word or one number
_MAX_SAFE_INTEGER = 2**53 - 1  # the largest integer that every JSON parser reads exactly
_RECORD = re.compile(rb"(file|folder|other) (\d{1,19}) (/.*)", re.DOTALL)
_KINDS: dict[bytes, FileKind] = {
    b"file": "file",
    b"folder": "folder",
    b"other": "other",
    b"missing": "missing",
}
_ERROR_MESSAGES = {
    errno.ENOENT: "{path} does not exist.",
    errno.EISDIR: "{path} is a folder, not a file.",
    errno.ENODEV: "{path} is not a regular file.",
    errno.ENOTDIR: "{path} is not a folder, or a part of it is not.",
    errno.EEXIST: "{path} already exists.",
    errno.EACCES: "Permission denied: {path}.",
    errno.EPERM: "Permission denied: {path}.",
    errno.EROFS: "{path} is in a read-only part of the sandbox.",
    errno.ENOSPC: "The disk is full, or has too many files; {path} was not changed.",
    errno.EDQUOT: "The disk is full; {path} was not changed.",
    errno.EFBIG: "{path} is larger than can be read at once{limit}.",
    errno.ELOOP: "{path} is a link that leads back to itself.",
    errno.ENAMETOOLONG: "{path}: the name is too long.",
}


def encode(text: str) -> bytes:
    """Encode text for the sandbox; names that are not UTF-8 survive the round trip."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def tool_error(payload: bytes, path: str, limit: int | None = None) -> ToolError:
    """Return the error of a FAILED answer about ``path``."""
    number = int.from_bytes(payload[: frames.FAILED_HEADER.size], "big")
    size = "" if limit is None else f" ({limit} bytes)"
    message = _ERROR_MESSAGES.get(number)
    if message is None:
        message = "{path}: " + (os.strerror(number) if number < 4096 else "it cannot be used")
    return ToolError(message.replace("{limit}", size).replace("{path}", path), number)


class _Operation:
    """A file operation in progress."""

    def __init__(self, link: Link, exchange: Exchange, path: str, limit: int | None = None) -> None:
        self._link = link
        self._exchange = exchange
        self._path = path
        self._limit = limit

    def start(self, name: str, *arguments: bytes) -> bytes | None:
        """Start the operation; return the first answer, or None if there is none."""
        self._exchange.send(frames.OPEN, b"\0".join([name.encode(), *arguments]))
        return self._receive_answer()

    def send_chunk(self, chunk: bytes = b"") -> bytes | None:
        """Send the next chunk; return the next answer, or None at the end."""
        self._exchange.send(frames.NEXT, chunk)
        return self._receive_answer()

    def _receive_answer(self) -> bytes | None:
        kind, payload = self._exchange.receive_or_fail(_TIMEOUT_SECONDS)
        if kind == frames.FAILED and len(payload) >= frames.FAILED_HEADER.size:
            raise tool_error(payload, self._path, self._limit)
        if kind == frames.DONE and not payload:
            return None
        if kind != frames.DATA:
            self.fail_link()
        return payload

    def fail_link(self) -> NoReturn:
        """Break the link because an answer violates the protocol."""
        self._link.fail(UNREADABLE_ANSWER)
        raise LinkLost(self._link.failure)

    def cancel(self) -> None:
        """Cancel the operation in the supervisor."""
        self._exchange.send(frames.CANCEL)


def _iterate_answers(operation: _Operation, name: str, *arguments: bytes) -> Iterator[bytes]:
    answer = operation.start(name, *arguments)
    while answer is not None:
        yield answer
        answer = operation.send_chunk()


def _read_word(operation: _Operation, name: str, *arguments: bytes) -> bytes:
    """Return the answer of an operation that answers with one short word."""
    words = []
    for answer in _iterate_answers(operation, name, *arguments):
        words.append(answer)
        if len(words) > 1 or len(answer) > _MAX_WORD_BYTES:
            operation.fail_link()
    return b"".join(words)


def kind(link: Link, path: str) -> FileKind:
    """See ``Sandbox.kind``."""
    with link.open_exchange() as exchange:
        operation = _Operation(link, exchange, path)
        word = _read_word(operation, "kind", encode(path))
        if word not in _KINDS:
            operation.fail_link()
    return _KINDS[word]


def read(link: Link, path: str, limit: int) -> bytes:
    """See ``Sandbox.read``; the host enforces the limit too, because the sandbox is untrusted."""
    content = bytearray()
    with link.open_exchange() as exchange:
        operation = _Operation(link, exchange, path, limit)
        for chunk in _iterate_answers(operation, "read", encode(path), str(limit).encode()):
            if not chunk:
                operation.fail_link()  # empty chunks could go on forever
            content += chunk
            if len(content) > limit:
                operation.cancel()
                raise tool_error(frames.FAILED_HEADER.pack(errno.EFBIG), path, limit)
    return bytes(content)


def write(link: Link, path: str, data: bytes, exclusive: bool) -> None:
    """See ``Sandbox.write``."""
    with link.open_exchange() as exchange:
        operation = _Operation(link, exchange, path)
        operation.start("write", encode(path), b"1" if exclusive else b"")
        for start in range(0, len(data), frames.CHUNK_BYTES):
            operation.send_chunk(data[start : start + frames.CHUNK_BYTES])
        operation.send_chunk(b"")


def list_folder(link: Link, path: str, depth: int, limit: int) -> list[FolderEntry]:
    """See ``Sandbox.list_folder``."""
    found: list[FolderEntry] = []
    arguments = encode(path), str(depth).encode(), str(limit).encode()
    with link.open_exchange() as exchange:
        operation = _Operation(link, exchange, path)
        for answer in _iterate_answers(operation, "entries", *arguments):
            try:
                found += _parse_entries(answer)
            except ValueError:
                operation.fail_link()
            if len(found) >= limit:
                operation.cancel()
                break
    return found[:limit]


def _parse_entries(answer: bytes) -> Iterator[FolderEntry]:
    """Decode the records of one answer; ``ValueError`` if one is malformed."""
    *records, rest = answer.split(b"\0")
    if rest or not records:
        raise ValueError("not a list of records")
    for record in records:
        match = _RECORD.fullmatch(record)
        if match is None or int(match[2]) > _MAX_SAFE_INTEGER:
            raise ValueError("not a record")
        yield FolderEntry(
            match[3].decode("utf-8", "surrogateescape"), _KINDS[match[1]], int(match[2])
        )


def remove(link: Link, path: str) -> None:
    """See ``Sandbox.remove``."""
    with link.open_exchange() as exchange:
        for _ in _iterate_answers(_Operation(link, exchange, path), "remove", encode(path)):
            continue


def end_processes(link: Link) -> None:
    """See ``Sandbox.end_processes``."""
    with link.open_exchange() as exchange:
        exchange.send(frames.END_PROCESSES)
        kind, payload = exchange.receive_or_fail(_TIMEOUT_SECONDS)
        if kind != frames.DONE or payload:
            _Operation(link, exchange, "").fail_link()
