"""The frame protocol between host and supervisor.

A frame is a header (payload length, kind, exchange id; network order, 4 + 1 + 4 bytes) and a
payload of at most ``MAX_PAYLOAD_BYTES`` bytes. The host opens exchanges with strictly increasing
ids; every answer carries the id of its request. Id 0 belongs to the supervisor.

Host to supervisor:
    EXECUTE   ``!dQ`` time limit in seconds, bytes to keep per stream; then the command
    SPAWN     the same header, ``!I`` length of the options; then the options (folder, user, command
              and ``NAME=value`` of each variable, separated by NUL); then the standard input
    END_PROCESSES
              terminate every process that commands started (a running command ends as ``stop``)
    OPEN      begin a file operation: its name and arguments, separated by NUL
    NEXT      the operation's next chunk, or a request for one
    CANCEL    cancel the operation, or end the spawned command

Supervisor to host:
    READY     id 0; the shell is up. Payload ``1`` if its state was restored
    OUTPUT    ``!BQ`` stream (0 stdout, 1 stderr), bytes dropped before; then the bytes
    OBSERVED  ``!dq`` CPU seconds of the command, peak memory of the container in bytes (negative:
              unknown); then the names of the packages that the command installed, separated by NUL.
              Sent before FINISHED, if at all
    FINISHED  ``!iBd`` exit code (-1: none), index into ``END_REASONS``, seconds; then the note
    DATA      an operation's answer, more follows
    DONE      an operation's last answer
    FAILED    ``!I`` errno; then the path, or the user, that failed
"""

import struct
from collections.abc import Iterator

HEADER = struct.Struct("!IBI")
EXECUTE_HEADER = struct.Struct("!dQ")
OUTPUT_HEADER = struct.Struct("!BQ")
SPAWN_HEADER = struct.Struct("!dQI")
FINISHED_HEADER = struct.Struct("!iBd")
OBSERVED_HEADER = struct.Struct("!dq")
FAILED_HEADER = struct.Struct("!I")

MAX_PAYLOAD_BYTES = 1 << 20
MAX_COMMAND_BYTES = 32 << 20
CHUNK_BYTES = 256 * 1024
TAIL_BYTES = 64 * 1024

EXECUTE, END_PROCESSES, OPEN, NEXT, CANCEL, SPAWN = range(1, 7)
READY, OUTPUT, FINISHED, DATA, DONE, FAILED, OBSERVED = range(16, 23)
END_REASONS = ("exit", "timeout", "stop")

Frame = tuple[int, int, bytes]


class ProtocolError(Exception):
    """The received data violates the frame protocol."""


def pack(kind: int, ident: int, payload: bytes = b"") -> bytes:
    """Encode one frame."""
    return HEADER.pack(len(payload), kind, ident) + payload


class FrameParser:
    """Splits a byte stream into frames."""

    def __init__(self, limit: int = MAX_PAYLOAD_BYTES) -> None:
        self._limit = limit
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Add bytes; yield the frames now complete as ``(kind, id, payload)``."""
        self._buffer += data
        while len(self._buffer) >= HEADER.size:
            length, kind, ident = HEADER.unpack_from(self._buffer)
            if length > self._limit:
                raise ProtocolError(f"a frame of {length} bytes was announced")
            end = HEADER.size + length
            if len(self._buffer) < end:
                return
            payload = bytes(self._buffer[HEADER.size : end])
            del self._buffer[:end]
            yield kind, ident, payload
