"""Log of a run's requests to its model: what the journal does not contain of them.

::

    <run>/requests/log.jsonl          one line for a request, one for the end of its response
                   tools-<hash>.json  the tools described to the model, once
                   response-<n>.gz    the raw response to request n

A request's messages are not stored: they would take space quadratic in the number of steps. The
log has the journal's cursor and the SHA-256 of the body's bytes instead, so that the body can be
built again and compared (``agent.runs.requests.body``). No key is ever written.
"""

import hashlib
import json
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from agent.events import now
from agent.models.base import SentRequest, ToolSchema
from agent.runs.requests.records import (
    RecordedRequest,
    ResponseEnded,
    log_path,
    read_log,
    response_path,
    tools_path,
)
from agent.runs.requests.response import ResponseBuffer
from agent.util.state_files import read_record

MAX_STORED_BYTES = 64 * 1024**2
"""Compressed bytes of all responses of a run; further responses are not kept."""

_log = logging.getLogger(__name__)


class RequestLog:
    """Writer of the log of one run. It never raises: a run does not fail because of it.

    Args:
        folder: The folder ``requests`` of the run; created with the first request.
        cursor: Returns the journal's current cursor.
    """

    def __init__(self, folder: Path, cursor: Callable[[], int]) -> None:
        self._folder = folder
        self._cursor = cursor
        self._lock = threading.Lock()
        self._last: int | None = None
        self._stored = 0
        self._known_tools: set[str] = set()

    @contextmanager
    def record(
        self, step: int, tools: Sequence[ToolSchema], max_tokens: int | None
    ) -> Iterator["AttemptRecorder"]:
        """Return a context that records one attempt of a step's turn.

        Args:
            step: The step.
            tools: The tools described to the model.
            max_tokens: The budget of the answer.
        """
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
                self._last = self._read_last() + 1
                request = RecordedRequest(
                    n=self._last,
                    step=step,
                    at=now(),
                    cursor=self._cursor(),
                    tools=self._store_tools(tools),
                    max_tokens=max_tokens,
                    sent=sent,
                )
                self._append(asdict(request))
                return request.n
        except (OSError, ValueError, TypeError) as error:
            _log.warning("A request cannot be recorded: %s", error)
            return 0

    def end(self, ended: ResponseEnded, response: bytes) -> None:
        """Write a response and its line."""
        try:
            with self._lock:
                if ended.kept and self._stored + len(response) > MAX_STORED_BYTES:
                    why = f"the run's responses already take {MAX_STORED_BYTES // 1024**2} MB"
                    ended = replace(ended, kept=False, withheld=why)
                if ended.kept:
                    path = response_path(self._folder, ended.ended_n)
                    path.write_bytes(response)
                    self._stored += len(response)
                self._append(asdict(ended))
        except OSError as error:
            _log.warning("A response cannot be recorded: %s", error)

    def _read_last(self) -> int:
        """Return the number of the last request; read the folder once."""
        if self._last is not None:
            return self._last
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._stored = sum(path.stat().st_size for path in self._folder.glob("response-*.gz"))
        self._end_torn_line()
        return max((request.n for request in read_log(self._folder)), default=0)

    def _end_torn_line(self) -> None:
        """End a line that was cut off when the process was killed, so that the next is readable."""
        path = log_path(self._folder)
        if path.exists() and not read_record(path).endswith(b"\n"):
            with path.open("ab") as file:
                file.write(b"\n")

    def _append(self, line: dict[str, Any]) -> None:
        with log_path(self._folder).open("ab") as file:
            file.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")

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


def _tool_dict(tool: ToolSchema) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
    }
