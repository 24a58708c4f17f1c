"""Preview worker process: imports libraries once and forks for each request.

A child has no network, limits on time and memory and, where possible, an unprivileged user
id. A file that crashes it affects no other request, and no state survives to the next one.
A child may be unable to read even Python's own modules, so a kind imports what it needs with
its module or in an optional ``prepare(ask)``, which runs before the limits apply and sees
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

from agent.documents.isolation import become_nobody, know_encodings, leave_network
from sandbox_ui.preview.base import Answer, Ask, Picture, Show, Unreadable
from sandbox_ui.preview.kinds import COMPARED, KINDS, module_of

MEMORY = 1536 * 1024**2
"""Address space of one request in bytes, in addition to that of the libraries."""

SECONDS = 20
"""Wall-clock limit of one request, in seconds."""

REQUEST = 64 * 1024
LENGTH = struct.Struct("!I")
"""Length prefix of a response's header."""

_BROKEN = "This file cannot be read; it may be broken."
_MISSING = "Files of this kind cannot be shown here: a part of the application is missing."


def serve(control: int, shows: Mapping[str, Show]) -> None:
    """Serve requests from a socket.

    Each request carries the descriptors of the file, the reply and an optional second file.
    Returns when the peer closes the socket.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    know_encodings()
    leave_network()
    with socket.socket(fileno=control) as channel:
        while True:
            message, descriptors, _, _ = socket.recv_fds(channel, REQUEST, 3)
            if not message:
                return
            if os.fork() == 0:
                channel.close()
                _look(shows, message, *descriptors)
                os._exit(0)
            for descriptor in descriptors:
                os.close(descriptor)


def shower(kind: str) -> Show:
    """Return the ``view`` of a kind's module, or one that raises if the import fails."""
    try:
        show: Show = importlib.import_module(module_of(kind)).view
    except Exception as error:  # noqa: BLE001 - the boundary: one kind must not fell the others
        return _without(kind, _why(error))
    return show


def _without(kind: str, why: str) -> Show:
    def view(_file: BinaryIO, _ask: Ask) -> Answer:
        raise ImportError(f"the preview “{kind}” cannot be imported: {why}")

    return view


def _look(
    shows: Mapping[str, Show], message: bytes, file: int, reply: int, other: int | None = None
) -> None:
    request = json.loads(message)
    compared = None if other is None else os.fdopen(other, "rb")
    ask = Ask(request["name"], request["size"], request["options"], compared)
    with os.fdopen(reply, "wb") as answer, os.fdopen(file, "rb") as opened:
        try:
            show = shows[request["kind"]]
            getattr(sys.modules[show.__module__], "prepare", _nothing)(ask)
            _limit()
            head, content = _answer(show, opened, ask)
        except Unreadable as error:
            head, content = {"error": str(error)}, b""
        except MemoryError:
            head, content = {"error": "This file needs more memory to be shown than it may."}, b""
        except ImportError as error:
            head, content = {"error": _MISSING, "why": _why(error)}, b""
        except Exception as error:  # noqa: BLE001 - the boundary: any library, any file
            head, content = {"error": _BROKEN, "why": _why(error)}, b""
        written = json.dumps(head).encode()
        answer.write(LENGTH.pack(len(written)) + written + content)


def _why(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:300]


def _nothing(_ask: Ask) -> None:
    pass


def _answer(show: Show, file: BinaryIO, ask: Ask) -> tuple[dict[str, str], bytes]:
    answer: Answer = show(file, ask)
    if isinstance(answer, Picture):
        return {"media": answer.media}, answer.content
    return {}, json.dumps(answer.data).encode()


def _limit() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    own = int(_own_size())
    for which, most in (
        (resource.RLIMIT_AS, own + MEMORY),
        (resource.RLIMIT_CPU, SECONDS),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 64),
    ):
        resource.setrlimit(which, (most, most))
    become_nobody()


def _own_size() -> int:
    with open("/proc/self/statm") as file:  # noqa: PTH123 - a Path costs more than the read
        return int(file.read().split()[0]) * resource.getpagesize()


if __name__ == "__main__":
    serve(int(sys.argv[1]), {kind: shower(kind) for kind in sorted({*KINDS, COMPARED})})
