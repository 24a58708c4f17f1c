"""Answers of the real routes, the same in each recording."""

import base64
import json
import re
import sys
from contextlib import AbstractContextManager
from typing import Any

from agent.settings import Settings
from tests.support import httpx
from tests.support.component.recorded import NOW
from tests.support.component.runs import RUN
from tests.support.local_provider import LocalSandboxProvider
from tests.support.server import create_app, run_server

Recorded = dict[str, Any]
"""Answers by request, such as ``GET results``."""

_TIMES = ("now", "at", "modified", "created", "state_since", "updated")
_MEASURED = {
    "free": 10**11, "remaining": 10**11, "seconds": 0.5, "model_seconds": 0.5,
    "sandbox_seconds": 0.5,
}  # fmt: skip
_RANDOM = re.compile(
    r"""
    call_[0-9a-f]+(?=_\d+)
    | (?<=")(?:[0-9a-f]{32}|[0-9a-f]{12})(?=")
    | studio_[\w.-]+
    | (?<=shared/)[\w.-]+
    | (?<=127\.0\.0\.1:)\d+
    """,
    re.VERBOSE,
)


def serve(settings: Settings) -> AbstractContextManager[str]:
    return run_server(create_app(settings, LocalSandboxProvider(settings.data)))


def client(url: str) -> httpx.Client:
    return httpx.Client(base_url=f"{url}/api/", timeout=60)


def answer(response: httpx.Response) -> Any:
    """Return a response's JSON, or its other content as text or in base64."""
    response.raise_for_status()
    kind = response.headers["content-type"]
    if kind.startswith("application/json"):
        return response.json()
    if kind.startswith("text/"):
        return {"kind": kind, "text": response.text}
    return {"kind": kind, "base64": base64.b64encode(response.content).decode()}


def of_run(answers: Recorded, journal: str, run: str) -> Recorded:
    """Return the answers of a run and the events of its journal, with the id of a test's run."""
    answers["journal"] = [json.loads(line) for line in journal.splitlines()]
    recorded: Recorded = json.loads(
        json.dumps(answers).replace(run, RUN).replace(sys.executable, "python3")
    )
    return recorded


def as_fixture(answers: Recorded) -> str:
    """Return answers as a file, without what differs from one recording to the next."""
    ids: dict[str, str] = {}
    text = json.dumps(_without_measured(answers), indent=1, sort_keys=True)
    return _RANDOM.sub(lambda found: ids.setdefault(found[0], f"id-{len(ids) + 1}"), text) + "\n"


def _without_measured(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_measured(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: _fixed(key, each) for key, each in value.items()}


def _fixed(key: str, value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        fixed = NOW if key in _TIMES else _MEASURED.get(key, value)
        return type(value)(fixed)
    return _without_measured(value)
