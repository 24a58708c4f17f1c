"""Preview worker process: imports libraries once and forks for each request.

A child has no network, limits on time and memory and, where possible, an unprivileged user id. It
may be unable to read even Python's own modules, so a kind imports what it needs with its module or
in ``prepare(request)``, which runs before the limits apply and sees only the file's name.
"""

import json
import os
import resource
import signal
import socket
import sys
from collections.abc import Mapping
from typing import BinaryIO

from agent.documents.isolation import import_encodings, leave_network, switch_to_nobody
from sandbox_ui.preview import kinds
from sandbox_ui.preview.base import BinaryPreview, Preview, PreviewError, PreviewRequest, Renderer

MAX_MEMORY_BYTES = 1536 * 1024**2
"""Address space of a request beyond the libraries'; a kind's module may set a lower limit."""

TIMEOUT_SECONDS = 20
MAX_REQUEST_BYTES = 64 * 1024
_UNREADABLE_MESSAGE = "This file cannot be read; it may be damaged."
_MISSING_MODULE_MESSAGE = (
    "Files of this kind cannot be shown: a part of the application is missing."
)


def serve(control: int, renderers: Mapping[str, Renderer]) -> None:
    """Serve requests, with descriptors of file, reply and second file, until the socket closes."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    import_encodings()
    leave_network()
    with socket.socket(fileno=control) as channel:
        while True:
            message, descriptors, _, _ = socket.recv_fds(channel, MAX_REQUEST_BYTES, 3)
            if not message:
                return
            if os.fork() == 0:
                channel.close()
                _handle_request(renderers, message, *descriptors)
                os._exit(0)
            for descriptor in descriptors:
                os.close(descriptor)


def load_renderer(kind: str) -> Renderer:
    """Return what renders a kind, or a renderer that raises if the import fails."""
    try:
        return kinds.load_renderer(kind)
    except Exception as error:  # noqa: BLE001 - the boundary: one kind must not fell the others
        cause = _describe_error(error)

    def fail(_file: BinaryIO, _request: PreviewRequest) -> Preview:
        raise ImportError(f"the preview “{kind}” cannot be imported: {cause}")

    return fail


def _handle_request(
    renderers: Mapping[str, Renderer],
    message: bytes,
    file: int,
    reply: int,
    other: int | None = None,
) -> None:
    fields = json.loads(message)
    second_file = None if other is None else os.fdopen(other, "rb")
    request = PreviewRequest(fields["name"], fields["size"], fields["options"], second_file)
    with os.fdopen(reply, "wb") as response, os.fdopen(file, "rb") as opened:
        content = b""
        try:
            renderer = renderers[fields["kind"]]
            module = sys.modules[renderer.__module__]
            getattr(module, "prepare", lambda _request: None)(request)
            _apply_limits(getattr(module, "MAX_MEMORY_BYTES", MAX_MEMORY_BYTES))
            head, content = _render(renderer, opened, request)
        except PreviewError as error:
            head = _failure(str(error), error.__cause__)
        except MemoryError:
            head = _failure("This file needs too much memory to be shown.")
        except ImportError as error:
            head = _failure(_MISSING_MODULE_MESSAGE, error)
        except Exception as error:  # noqa: BLE001 - the boundary: any library, any file
            head = _failure(_UNREADABLE_MESSAGE, error)
        response.write(json.dumps(head).encode() + b"\n" + content)


def _failure(message: str, cause: BaseException | None = None) -> dict[str, str]:
    return {"error": message} | ({"cause": _describe_error(cause)} if cause else {})


def _describe_error(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:300]


def _render(
    renderer: Renderer, file: BinaryIO, request: PreviewRequest
) -> tuple[dict[str, str], bytes]:
    preview = renderer(file, request)
    if isinstance(preview, BinaryPreview):
        return {"media_type": preview.media_type}, preview.content
    return {}, json.dumps(preview).encode()


def _apply_limits(max_memory_bytes: int) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, TIMEOUT_SECONDS)
    current_size = int(_address_space_size())
    for limit, maximum in (
        (resource.RLIMIT_AS, current_size + max_memory_bytes),
        (resource.RLIMIT_CPU, TIMEOUT_SECONDS),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 64),
    ):
        resource.setrlimit(limit, (maximum, maximum))
    switch_to_nobody()


def _address_space_size() -> int:
    with open("/proc/self/statm") as file:  # noqa: PTH123 - a Path costs more than the read
        return int(file.read().split()[0]) * resource.getpagesize()


if __name__ == "__main__":
    serve(int(sys.argv[1]), {kind: load_renderer(kind) for kind in sorted(kinds.RENDERED)})
