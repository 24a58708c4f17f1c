"""The records of a run's requests as ``agent.runs.requests.log`` writes them, and its responses."""

import json
import re
import zlib
from collections import deque
from collections.abc import Container
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from agent.models.base import SentRequest, ToolSchema
from agent.util.state_files import open_record, read_record

MAX_RESPONSE_BYTES = 4 * 1024**2
"""Bytes kept of the beginning of one response; a stream takes about 250 bytes per token."""

TAIL_BYTES = 64 * 1024
"""Bytes kept of the end of a longer response, which has the usage."""

_LEVEL = 1  # of compression: 100 MB/s, and streams shrink to a tenth
_ENDED = re.compile(rb'\{"ended_n":(\d+),')


@dataclass
class ResponseBuffer:
    """The response to request ``n``: its compressed beginning and its end; neither if withheld."""

    n: int
    status: int | None = None
    content_type: str = ""
    size: int = 0
    withheld: bool = False
    _compressor: Any = field(default_factory=lambda: zlib.compressobj(_LEVEL, wbits=31))
    _head: list[bytes] = field(default_factory=list)
    _tail: deque[bytes] = field(default_factory=deque)
    _tail_size: int = 0

    def add(self, data: bytes) -> None:
        """Add the next part."""
        room = max(0, MAX_RESPONSE_BYTES - self.size)
        self.size += len(data)
        if room:
            self._head.append(self._compressor.compress(data[:room]))
        if rest := data[room:]:
            self._tail.append(rest)
            self._tail_size += len(rest)
            while self._tail_size - len(self._tail[0]) >= TAIL_BYTES:
                self._tail_size -= len(self._tail.popleft())

    def compressed(self) -> bytes:
        """Return the beginning and the end in gzip's format; called once."""
        tail = b"".join(self._tail)[-TAIL_BYTES:]
        left_out = self.size - MAX_RESPONSE_BYTES - len(tail)
        if left_out > 0:
            tail = f"\n[{left_out:,} bytes left out]\n".encode() + tail
        return b"".join((*self._head, self._compressor.compress(tail), self._compressor.flush()))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRequest:
    """A request in the log."""

    n: int  # in the run, from 1
    step: int
    at: float
    cursor: int  # of the journal: its messages end there
    tools: str = ""  # hash; empty for none
    max_tokens: int | None = None
    sent: SentRequest | None = None  # None for a model on this machine
    status: int | None = None  # None without a response
    content_type: str = ""
    ended: float | None = None
    response_bytes: int = 0
    kept: bool = False  # else ``withheld`` says why not
    withheld: str = ""
    file: int | None = None  # number of the request that has it; None: own
    offset: int = 0  # in that file


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseEnded:
    """The line of a request's end; the fields are those of ``RecordedRequest``."""

    ended_n: int
    status: int | None
    content_type: str
    ended: float
    response_bytes: int
    kept: bool
    withheld: str
    file: int | None = None
    offset: int = 0


@cache
def _adapter() -> TypeAdapter[RecordedRequest | ResponseEnded]:
    return TypeAdapter(RecordedRequest | ResponseEnded)


def read_log(folder: Path, step: int | None = None) -> list[RecordedRequest]:
    """Return the requests of a log, or those of one step; unreadable lines are skipped."""
    path = log_path(folder)
    requests: dict[int, RecordedRequest] = {}
    if not path.exists():
        return []
    own = None if step is None else f'"step":{step},'.encode()
    for line in read_record(path).splitlines():
        if own and own not in line and not _ends_one_of(line, requests):
            continue
        try:
            entry = _adapter().validate_json(line)
        except ValidationError:
            continue
        if isinstance(entry, RecordedRequest):
            requests[entry.n] = entry
        elif entry.ended_n in requests:
            changes = {key: value for key, value in asdict(entry).items() if key != "ended_n"}
            requests[entry.ended_n] = replace(requests[entry.ended_n], **changes)
    return [each for each in requests.values() if step in (None, each.step)]


def _ends_one_of(line: bytes, requests: Container[int]) -> bool:
    """Return whether a line may be the end of one of these requests."""
    found = _ENDED.match(line)
    return found is not None and int(found[1]) in requests


def read_tools(folder: Path, name: str) -> tuple[ToolSchema, ...] | None:
    """Return the tools with this hash; None if they cannot be read."""
    if not name:
        return ()
    try:
        tools = json.loads(tools_path(folder, name).read_bytes())
        return tuple(ToolSchema(**tool) for tool in tools)
    except (OSError, ValueError, TypeError):
        return None


def read_response(folder: Path, request: RecordedRequest) -> bytes | None:
    """Return the raw response to a request as it was kept; None if it was not."""
    if not request.kept:
        return None
    limit = MAX_RESPONSE_BYTES + 2 * TAIL_BYTES
    try:
        with open_record(response_path(folder, request.file or request.n)) as file:
            file.seek(request.offset)
            return zlib.decompressobj(wbits=31).decompress(file.read(limit), limit)
    except (OSError, ValueError, zlib.error):
        return None


def response_path(folder: Path, n: int) -> Path:
    """Return the file of a response, which those of the same round may follow."""
    return folder / f"response-{n}.gz"


def log_path(folder: Path) -> Path:
    """Return the file of the log."""
    return folder / "log.jsonl"


def tools_path(folder: Path, name: str) -> Path:
    """Return the file of the tools with a hash."""
    return folder / f"tools-{name}.json"
