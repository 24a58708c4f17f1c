"""Request bodies that cost a server much, and the most expensive ones that it accepts."""

import json
from dataclasses import dataclass
from typing import Any

from tests.support import httpx

_LONG_TASK = "\u4e2d" * 1_000_000


@dataclass(frozen=True)
class HostileBody:
    """A body, who sends it where, and the status of the answer."""

    path: str
    body: bytes
    status: int
    from_guest: bool = False

    def send(self, client: httpx.Client) -> httpx.Response:
        headers = {"Content-Type": "application/json"}
        return client.post(self.path, content=self.body, headers=headers)


def _encoded(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _message(content: list[Any]) -> bytes:
    return _encoded({"model": "none", "messages": [{"role": "user", "content": content}]})


ATTACKS = {
    "guest, 8 MB of arrays to Gradio": HostileBody(
        "/gradio_api/run/follow", b'{"data":[' + b"[]," * 2_796_000 + b"1]}", 413, from_guest=True
    ),
    "guest, the most that Gradio takes": HostileBody(
        "/gradio_api/run/follow", _encoded({"data": [0] * 90 + ["x" * 15_000]}), 400,
        from_guest=True,
    ),
    "user, the most that Gradio takes": HostileBody(
        "/gradio_api/run/start", _encoded({"data": [_LONG_TASK, *[[]] * 490]}), 400
    ),
    "user, 8 MB of floats to /v1": HostileBody(
        "/v1/chat/completions", _message([0.1234567890123] * 470_000), 400
    ),
    "user, the most that /v1 takes": HostileBody(
        "/v1/chat/completions", _message([0.1234567890123] * 49_000 + ["x" * 7_000_000]), 400
    ),
    "user, the most that /api takes": HostileBody(
        "/api/comparisons", _encoded({"task": "x" * 3_800_000, "members": [0] * 19_000}), 400
    ),
}  # fmt: skip
