"""Log of a run's requests to its model: what the journal does not contain of them.

::

    <run>/requests/log.jsonl          one line for a request, one for the end of its response
                   tools-<hash>.json  the tools described to the model, once
                   response-<n>.gz    the raw responses to request n and to later ones of its
                                      round, each compressed; earlier versions wrote one per file

Instead of messages, which would take space quadratic in the number of steps, the log has the
journal's cursor and the body's SHA-256: the body can be built again and compared
(``agent.runs.requests.body``). No key is ever written.
"""

import errno
import hashlib
import json
import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, BinaryIO

from agent.events import now
from agent.models.base import SentRequest, ToolSchema
from agent.runs.requests.records import (
    RecordedRequest,
    ResponseBuffer,
    ResponseEnded,
    log_path,
    read_log,
    response_path,
    tools_path,
)
from agent.util.state_files import read_record

MAX_STORED_BYTES = 64 * 1024**2
"""Compressed bytes of all responses of a run; further responses are not kept."""

_log = logging.getLogger(__name__)


class RequestLog:
    """Writer of the log of one run. It never raises: a run does not fail because of it."""

    def __init__(self, folder: Path, cursor: Callable[[], int]) -> None:
        self._folder = folder
        self._cursor = cursor
        self._lock = threading.Lock()
        self._last: int | None = None
        self._log_file: BinaryIO | None = None
        self._responses: BinaryIO | None = None
        self._first = 0  # the request whose file they are in
        self._stored = 0
        self._known_tools: set[str] = set()

    @contextmanager
    def record(
        self, step: int, tools: Sequence[ToolSchema], max_tokens: int | None
    ) -> Iterator["AttemptRecorder"]:
        """Return a context that records one attempt of a step's turn."""
        recorder = AttemptRecorder(self, step, tools, max_tokens)
        try:
            yield recorder
        finally:
            recorder.end()

    def begin(
        self,
        step: int,
        tools: Sequence[ToolSchema],
        max_tokens: int | None,
        sent: SentRequest | None,
    ) -> int:
        """Write the line of a request; return its number, 0 if it cannot be written."""
        try:
            with self._lock:
                request = RecordedRequest(
                    n=self._read_last() + 1,
                    step=step,
                    at=now(),
                    cursor=self._cursor(),
                    tools=self._store_tools(tools),
                    max_tokens=max_tokens,
                    sent=sent,
                )
                self._append(request)
                self._last = request.n
                return request.n
        except (OSError, ValueError, TypeError) as error:
            self._fail("request", error)
            return 0

    def end(self, ended: ResponseEnded, response: bytes) -> None:
        """Write a response and its line."""
        try:
            with self._lock:
                if ended.kept and self._stored + len(response) > MAX_STORED_BYTES:
                    why = f"the run's responses already take {MAX_STORED_BYTES // 1024**2} MB"
                    ended = replace(ended, kept=False, withheld=why)
                if ended.kept:
                    if self._responses is None:
                        self._first = ended.ended_n
                        path = response_path(self._folder, self._first)
                        self._responses = path.open("ab", buffering=0)
                    ended = replace(ended, file=self._first, offset=self._responses.tell())
                    _write(self._responses, response)
                    self._stored += len(response)
                self._append(ended)
        except OSError as error:
            self._fail("response", error)

    def close(self) -> None:
        """Close the files; the next request opens them, or others, again."""
        opened = self._log_file, self._responses
        self._log_file = self._responses = None
        for file in filter(None, opened):
            with suppress(OSError):
                file.close()

    def _fail(self, what: str, error: Exception) -> None:
        """Read again what the files have before the next request."""
        self.close()
        self._last = None
        _log.warning("A %s cannot be recorded: %s", what, error)

    def _read_last(self) -> int:
        """Return the number of the last request; read the folder once."""
        if self._last is None:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            self._stored = sum(path.stat().st_size for path in self._folder.glob("response-*.gz"))
            self._end_torn_line()
            self._last = max((request.n for request in read_log(self._folder)), default=0)
        return self._last

    def _end_torn_line(self) -> None:
        """End a line that was cut off when the process was killed, so that the next is readable."""
        path = log_path(self._folder)
        if path.exists() and not read_record(path).endswith(b"\n"):
            with path.open("ab") as file:
                file.write(b"\n")

    def _append(self, record: RecordedRequest | ResponseEnded) -> None:
        line = json.dumps(record, default=_fields, separators=(",", ":"))
        if self._log_file is None:
            self._log_file = log_path(self._folder).open("ab", buffering=0)
        _write(self._log_file, line.encode() + b"\n")

    def _store_tools(self, tools: Sequence[ToolSchema]) -> str:
        if not tools:
            return ""
        data = json.dumps([_tool_dict(tool) for tool in tools]).encode()
        name = hashlib.sha256(data).hexdigest()[:16]
        if name not in self._known_tools:
            path = tools_path(self._folder, name)
            if not path.exists():
                path.with_suffix(".new").write_bytes(data)
                path.with_suffix(".new").replace(path)
            self._known_tools.add(name)
        return name


class AttemptRecorder:
    """The ``RequestRecorder`` of one attempt; see ``RequestLog.record``."""

    def __init__(
        self, log: RequestLog, step: int, tools: Sequence[ToolSchema], max_tokens: int | None
    ) -> None:
        self._log = log
        self._given = (step, tools, max_tokens)
        self._lock = threading.Lock()
        self._response: ResponseBuffer | None = None
        self._ended = False

    def sent(self, request: SentRequest) -> None:
        """See ``RequestRecorder.sent``."""
        with self._lock:
            self._end_response()
            if not self._ended:
                self._response = ResponseBuffer(self._log.begin(*self._given, request))

    def responded(self, status: int, content_type: str) -> None:
        """See ``RequestRecorder.responded``."""
        with self._lock:
            if self._response is not None:
                self._response.status, self._response.content_type = status, content_type[:200]

    def received(self, data: bytes) -> None:
        """See ``RequestRecorder.received``."""
        with self._lock:
            if self._response is not None:
                self._response.add(data)

    def withhold(self) -> None:
        """See ``RequestRecorder.withhold``."""
        with self._lock:
            if self._response is not None:
                self._response.withheld = True

    def end(self) -> None:
        """End the attempt; what is still received of its response is ignored."""
        with self._lock:
            if self._response is None and not self._ended:
                self._response = ResponseBuffer(self._log.begin(*self._given, None))
            self._end_response()
            self._ended = True

    def _end_response(self) -> None:
        response, self._response = self._response, None
        if response is None or not response.n:
            return
        ended = ResponseEnded(
            ended_n=response.n,
            status=response.status,
            content_type=response.content_type,
            ended=now(),
            response_bytes=response.size,
            kept=response.status is not None and not response.withheld,
            withheld="it contained the key" if response.withheld else "",
        )
        self._log.end(ended, response.compressed())


def _write(file: BinaryIO, data: bytes) -> None:
    """Append to a file that is not buffered."""
    if file.write(data) < len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _fields(record: Any) -> dict[str, Any]:
    """Return the fields of a record, as ``json`` asks for them."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _tool_dict(tool: ToolSchema) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
    }
