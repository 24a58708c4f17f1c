"""Runs previews in a separate worker process."""

import json
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from agent.errors import UsageError, WorkspaceError
from agent.util.text import format_size
from sandbox_ui.preview.base import PreviewRequest
from sandbox_ui.preview.worker import MAX_REQUEST_BYTES, TIMEOUT_SECONDS
from sandbox_ui.scheduling.limiter import PerUserLimiter

MAX_CONCURRENT = 3
MAX_RESPONSE_BYTES = 48 * 1024**2
_ROOT = Path(__file__).resolve().parents[__name__.count(".")]
_GRACE_SECONDS = 5.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PreviewResult:
    """Preview result: JSON if ``media_type`` is empty, else bytes of that media type."""

    content: bytes
    media_type: str = ""


class PreviewService:
    """Thread-safe client of a restartable worker; users wait in ``limiter`` without a thread."""

    def __init__(self, worker: str = f"{__package__}.worker") -> None:
        self._worker = worker
        self._lock = threading.Lock()
        self.limiter = PerUserLimiter(MAX_CONCURRENT, MAX_CONCURRENT - 1)
        self._semaphore = threading.BoundedSemaphore(MAX_CONCURRENT)
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None

    def open(self) -> None:
        """Start the process without waiting until it is ready."""
        with self._lock:
            self._start()

    def close(self) -> None:
        """Kill the process."""
        with self._lock:
            self._kill()

    def render(self, kind: str, file: BinaryIO, request: PreviewRequest) -> PreviewResult:
        """Render a preview; raise WorkspaceError, for the user, if the file cannot be shown."""
        message = {"name": request.name, "size": request.size, "options": dict(request.options)}
        encoded = json.dumps({"kind": kind, **message}).encode()
        if len(encoded) > MAX_REQUEST_BYTES:
            raise UsageError(
                f"The options of a preview may have at most {format_size(MAX_REQUEST_BYTES)}."
            )
        with self._semaphore:
            began = time.monotonic()
            ours, theirs = socket.socketpair()
            with ours:
                with theirs:
                    self._send(encoded, file, theirs.fileno(), request.second_file)
                ours.settimeout(TIMEOUT_SECONDS + _GRACE_SECONDS)
                reply = _receive_all(ours)
        return _parse_response(reply, time.monotonic() - began, f"{request.name!a} as {kind}")

    def _send(
        self, request: bytes, file: BinaryIO, reply: int, second_file: BinaryIO | None = None
    ) -> None:
        opened = [_reopen(each) for each in (file, second_file) if each is not None]
        try:
            with self._lock:
                for last in (False, True):
                    try:
                        channel = self._start()
                        socket.send_fds(channel, [request], [opened[0], reply, *opened[1:]])
                        return
                    except (BrokenPipeError, ConnectionResetError):
                        self._kill()
                        if last:
                            raise WorkspaceError(
                                "Files cannot be shown at the moment. Try again later."
                            ) from None
        finally:
            for each in opened:
                os.close(each)

    def _start(self) -> socket.socket:
        if self._channel is None:
            self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                command = [sys.executable, "-P", "-m", self._worker]
                self._process = subprocess.Popen(
                    [*command, str(theirs.fileno())],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    env={"PYTHONPATH": str(_ROOT), "PATH": os.defpath, "LANG": "C.UTF-8"},
                    cwd="/",
                )
        return self._channel

    def _kill(self) -> None:
        if self._channel is not None:
            self._channel.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._channel = self._process = None


def _reopen(file: BinaryIO) -> int:
    """Return a new descriptor of the content at offset 0; the caller closes it."""
    try:
        return os.open(f"/proc/self/fd/{file.fileno()}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        copied = os.memfd_create("file")
        file.seek(0)
        while chunk := file.read(1024**2):
            os.write(copied, chunk)
        os.lseek(copied, 0, os.SEEK_SET)
        return copied


def _receive_all(reply: socket.socket) -> bytes:
    parts, size = [], 0
    try:
        while part := reply.recv(1024**2):
            parts.append(part)
            size += len(part)
            if size > MAX_RESPONSE_BYTES:
                raise WorkspaceError("This file is too large to be shown.")
    except TimeoutError:
        return b""
    return b"".join(parts)


def _parse_response(reply: bytes, seconds: float, what: str) -> PreviewResult:
    written, end, content = reply.partition(b"\n")
    if not end:
        late = seconds >= TIMEOUT_SECONDS
        _log.warning("The preview of %s ended %s.", what, "at its time limit" if late else "early")
        if late:
            raise WorkspaceError(
                f"The preview of this file took longer than {TIMEOUT_SECONDS} seconds."
            )
        raise WorkspaceError("This file cannot be read: it crashed the preview.")
    head = json.loads(written)
    if "error" in head:
        if "cause" in head:
            _log.warning("The preview of %s failed: %a", what, head["cause"])
        raise WorkspaceError(head["error"])
    return PreviewResult(content, head.get("media_type", ""))
