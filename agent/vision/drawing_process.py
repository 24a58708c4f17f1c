"""Have a file drawn for a model, in a process of its own that a hostile file can only crash."""

import json
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

from agent.documents.drawing_error import DrawingError
from agent.vision.request import Drawing, DrawingRequest, Drawn

MAX_CONCURRENT = 3
_TIMEOUT_SECONDS = 25.0
_ROOT = Path(__file__).resolve().parents[__name__.count(".")]
_SLOW = f"Drawing it takes longer than {_TIMEOUT_SECONDS:.0f} seconds."
_CRASHED = "It cannot be drawn: it takes too long or is damaged."
_log = logging.getLogger(__name__)
_free = threading.BoundedSemaphore(MAX_CONCURRENT)


def draw_in_process(data: bytes, request: DrawingRequest) -> Drawing:
    """Return what a model gets of a file; ``DrawingError`` says why it cannot be drawn."""
    if not data:
        raise DrawingError("The file is empty.")
    command = [sys.executable, "-P", "-m", f"{__package__}.worker"]
    environment = {"PYTHONPATH": str(_ROOT), "PATH": os.defpath, "LANG": "C.UTF-8"}
    head = request.to_json().encode() + b"\n"
    with _free:
        try:
            done = subprocess.run(
                command,
                input=head + data,
                capture_output=True,
                env=environment,
                cwd="/",
                timeout=_TIMEOUT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise DrawingError(_SLOW) from None
    return _parse(done.stdout, done.stderr)


def _parse(answer: bytes, errors: bytes) -> Drawing:
    written, end, content = answer.partition(b"\n")
    if not end:
        _log.warning("A file crashed the drawing process: %a", errors[-300:])
        raise DrawingError(_CRASHED)
    head = json.loads(written)
    if "error" in head:
        if "cause" in head:
            _log.warning("A file cannot be drawn: %a", head["cause"])
        raise DrawingError(head["error"])
    pictures, at = [], 0
    for each in head["pictures"]:
        size = each.pop("size")
        pictures.append(Drawn(data=content[at : at + size], **each))
        at += size
    return Drawing(head["remark"], head["text"], tuple(pictures), head["count"])
