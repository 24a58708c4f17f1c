"""The frames that the host and the supervisor exchange.

A frame is a header (payload length, kind, conversation id; network order, 4 + 1 + 4 bytes)
and a payload of at most ``MAX_PAYLOAD`` bytes. The host opens conversations with ids that
only grow; every answer carries the id of what it answers. Id 0 is the supervisor's own.

Host to supervisor:
    EXECUTE   ``!dQ`` seconds allowed, bytes to keep per stream; then the command
    END       end every process that commands started (a running command ends as ``stop``)
    OPEN      begin a file operation: its name and arguments, separated by NUL
    NEXT      the operation's next chunk, or the wish for one
    CANCEL    forget the operation

Supervisor to host:
    READY     id 0; the shell is up. Payload ``1`` where its state was restored
    OUTPUT    ``!BQ`` stream (0 stdout, 1 stderr), bytes left out before; then the bytes
    FINISHED  ``!iBd`` exit code (-1: none), index into ``ENDINGS``, seconds; then the note
    DATA      an operation's answer, more follows
    DONE      an operation's last answer
    FAILED    ``!I`` errno; then what was being used
"""

import struct
from collections.abc import Iterator

HEADER = struct.Struct("!IBI")
EXECUTE_HEAD = struct.Struct("!dQ")
OUTPUT_HEAD = struct.Struct("!BQ")
FINISHED_HEAD = struct.Struct("!iBd")
FAILED_HEAD = struct.Struct("!I")

MAX_PAYLOAD = 1 << 20
MAX_COMMAND = 32 << 20
CHUNK = 256 * 1024
TAIL = 64 * 1024

EXECUTE, END, OPEN, NEXT, CANCEL = range(1, 6)
READY, OUTPUT, FINISHED, DATA, DONE, FAILED = range(16, 22)
ENDINGS = ("exit", "timeout", "stop")

Frame = tuple[int, int, bytes]


class BadFrame(Exception):
    """What arrived is not a frame of this protocol."""


def pack(kind: int, ident: int, payload: bytes = b"") -> bytes:
    """One frame as bytes."""
    return HEADER.pack(len(payload), kind, ident) + payload


class Parser:
    """Cuts a stream of bytes into frames.

    Args:
        limit: The longest payload taken, in bytes.
    """

    def __init__(self, limit: int = MAX_PAYLOAD) -> None:
        self._limit = limit
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Take bytes; yield the frames that are whole as ``(kind, id, payload)``.

        Raises:
            BadFrame: a payload is announced that is longer than allowed.
        """
        self._buffer += data
        while len(self._buffer) >= HEADER.size:
            length, kind, ident = HEADER.unpack_from(self._buffer)
            if length > self._limit:
                raise BadFrame(f"a frame of {length} bytes was announced")
            end = HEADER.size + length
            if len(self._buffer) < end:
                return
            payload = bytes(self._buffer[HEADER.size : end])
            del self._buffer[:end]
            yield kind, ident, payload
