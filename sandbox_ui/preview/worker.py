"""Preview worker process: imports libraries once and forks for each request.

A child has no network, limits on time and memory and, where possible, an unprivileged user
id. A file that crashes it affects no other request, and no state survives to the next one.
A child may be unable to read even Python's own modules, so a kind imports what it needs with
its module or in an optional ``prepare(request)``, which runs before the limits apply and sees
only the file's name.
"""

import importlib
import json
import os
import resource
import signal
import socket
import struct
import sys
from collections.abc import Mapping
from typing import BinaryIO

from agent.documents.isolation import import_encodings, leave_network, switch_to_nobody
from sandbox_ui.preview.base import BinaryPreview, Preview, PreviewError, PreviewRequest, Renderer
from sandbox_ui.preview.kinds import DIFFERENCE, KINDS, module_of

MAX_MEMORY_BYTES = 1536 * 1024**2
"""Address space of one request in bytes, in addition to that of the libraries.

A kind's module may set a lower limit by the same name.
"""

TIMEOUT_SECONDS = 20
"""Wall-clock limit of one request, in seconds."""

MAX_REQUEST_BYTES = 64 * 1024
LENGTH_PREFIX = struct.Struct("!I")
"""Length prefix of a response's header."""

_UNREADABLE_MESSAGE = "This file cannot be read; it may be damaged."
_MISSING_MODULE_MESSAGE = (
    "Files of this kind cannot be shown: a part of the application is missing."
)


def serve(control: int, renderers: Mapping[str, Renderer]) -> None:
    """Serve requests from a socket.

    Each request carries the descriptors of the file, the reply and an optional second file.
    Returns when the peer closes the socket.
    """
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
    """Return the ``view`` of a kind's module, or one that raises if the import fails."""
    try:
        show: Renderer = importlib.import_module(module_of(kind)).view
    except Exception as error:  # noqa: BLE001 - the boundary: one kind must not fell the others
        return _failing_renderer(kind, _describe_error(error))
    return show


def _failing_renderer(kind: str, cause: str) -> Renderer:
    def view(_file: BinaryIO, _ask: PreviewRequest) -> Preview:
        raise ImportError(f"the preview “{kind}” cannot be imported: {cause}")

    return view


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
        try:
            renderer = renderers[fields["kind"]]
            module = sys.modules[renderer.__module__]
            getattr(module, "prepare", _no_preparation)(request)
            _apply_limits(getattr(module, "MAX_MEMORY_BYTES", MAX_MEMORY_BYTES))
            head, content = _render(renderer, opened, request)
        except PreviewError as error:
            head, content = {"error": str(error)}, b""
        except MemoryError:
            head, content = {"error": "This file needs too much memory to be shown."}, b""
        except ImportError as error:
            head, content = {"error": _MISSING_MODULE_MESSAGE, "cause": _describe_error(error)}, b""
        except Exception as error:  # noqa: BLE001 - the boundary: any library, any file
            head, content = {"error": _UNREADABLE_MESSAGE, "cause": _describe_error(error)}, b""
        written = json.dumps(head).encode()
        response.write(LENGTH_PREFIX.pack(len(written)) + written + content)


def _describe_error(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:300]


def _no_preparation(_request: PreviewRequest) -> None:
    pass


def _render(
    renderer: Renderer, file: BinaryIO, request: PreviewRequest
) -> tuple[dict[str, str], bytes]:
    preview: Preview = renderer(file, request)
    if isinstance(preview, BinaryPreview):
        return {"media_type": preview.media_type}, preview.content
    return {}, json.dumps(preview.data).encode()


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
    serve(int(sys.argv[1]), {kind: load_renderer(kind) for kind in sorted({*KINDS, DIFFERENCE})})
