"""A worker with misbehaving renderers, which test_worker.py runs with ``python -m``."""

import ctypes
import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from sandbox_ui.preview.base import BinaryPreview, Preview, PreviewError, PreviewRequest, Renderer
from sandbox_ui.preview.data import hex as plain
from sandbox_ui.preview.worker import load_renderer, serve

_kept: list[str] = []


def _try_access(access: Callable[[], object]) -> str:
    try:
        return str(access())
    except OSError as error:
        return type(error).__name__


def _fail(error: Exception) -> Preview:
    raise error


def _sleep(_file: BinaryIO, _ask: PreviewRequest) -> Preview:
    time.sleep(3600)
    return {}


def _remember(_file: BinaryIO, ask: PreviewRequest) -> Preview:
    _kept.append(ask.name)
    return {"kept": _kept}


def _access_outside(_file: BinaryIO, ask: PreviewRequest) -> Preview:
    port, secret = ask.int_option("port", 0), ask.options["secret"]
    return {
        "user": os.geteuid(),
        "network": _try_access(lambda: socket.create_connection(("127.0.0.1", port), 2)),
        "file": _try_access(lambda: Path(secret).read_text()),
        "write": _try_access(lambda: Path("/tmp/a-preview-wrote-this").write_text("x")),
        "environment": sorted(os.environ),
    }


if __name__ == "__main__":
    RENDERERS: dict[str, Renderer] = {
        "crash": lambda *_: {"read": ctypes.string_at(0)},
        "sleep": _sleep,
        "eat": lambda *_: {"size": len(bytearray(8 * 1024**3))},
        "refuse": lambda *_: _fail(PreviewError("This one is refused.")),
        "fail": lambda *_: _fail(ValueError("a library's own words")),
        "flood": lambda *_: BinaryPreview(bytes(64 * 1024**2), "image/png"),
        "remember": _remember,
        "reach": _access_outside,
        "hex": plain.view,
        "missing": load_renderer("no_such_kind"),
    }
    serve(int(sys.argv[1]), RENDERERS)
