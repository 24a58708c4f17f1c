"""Evaluations on a real server: a client for their routes and streams."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.support import httpx
from tests.support.models.endpoint import Call, Turn
from tests.support.server import TIMEOUT_SECONDS, ServerSentEvent, parse_events, wait_until

MEMBERS: tuple[dict[str, Any], ...] = ({"mode": "plain"}, {"mode": "sandbox"})
DATA = "".join(
    json.dumps({"id": str(n), "problem": f"What is {n} + {n}?", "answer": str(2 * n)}) + "\n"
    for n in range(1, 5)
).encode()
"""Four tasks as the authors of AIME 2025 publish theirs."""


def respond(body: dict[str, Any]) -> Turn:
    """Guess 2 without tools; with tools, compute and submit."""
    if not body.get("tools"):
        return Turn(text="\\boxed{2}")
    if any(message["role"] == "tool" for message in body["messages"]):
        return Turn(text="Done.", calls=[Call("submit")])
    number = next(n for n in range(1, 5) if f"What is {n} + {n}?" in json.dumps(body["messages"]))
    command = f"echo $(({number} + {number})) > output/answer.txt"
    return Turn(text="", calls=[Call("execute_bash", {"command": command})])


class EvaluationClient:
    """A user's client of a studio.

    Args:
        http: The client, with the studio's base URL.
    """

    def __init__(self, http: httpx.Client) -> None:
        self.http = http

    def create(self, data: bytes = DATA, **fields: Any) -> str:
        """Start an evaluation of uploaded tasks; return its id."""
        run: str = self.http.post("/api/runs").json()["run"]
        url = f"/api/runs/{run}/files/input/aime/test.jsonl"
        self.http.put(url, content=data).raise_for_status()
        body = {
            "suites": [{"name": "aime", "upload": "aime/test.jsonl"}],
            "members": list(MEMBERS),
            "inputs": run,
            **fields,
        }
        answer = self.http.post("/api/evaluations", json=body)
        assert answer.status_code == 201, answer.text
        evaluation: str = answer.json()["id"]
        return evaluation

    def read(self, evaluation: str) -> dict[str, Any]:
        """Return an evaluation with its tasks and cells."""
        answer = self.http.get(f"/api/evaluations/{evaluation}")
        assert answer.status_code == 200, answer.text
        described: dict[str, Any] = answer.json()
        return described

    def wait(self, evaluation: str, state: str = "finished") -> dict[str, Any]:
        """Wait until an evaluation is in a state; return it."""
        wait_until(lambda: self.read(evaluation)["state"] == state)
        return self.read(evaluation)

    def post(self, evaluation: str, action: str, **body: Any) -> httpx.Response:
        """Ask for an action, such as ``stop`` or ``resume``."""
        return self.http.post(f"/api/evaluations/{evaluation}/{action}", json=body)

    @contextmanager
    def follow(self, evaluation: str, cursor: str) -> Iterator[Iterator[ServerSentEvent]]:
        """Open an evaluation's event stream."""
        url = f"/api/evaluations/{evaluation}/events"
        with self.http.stream(
            "GET", url, params={"cursor": cursor}, timeout=TIMEOUT_SECONDS
        ) as response:
            response.raise_for_status()
            yield parse_events(response.iter_lines())


def outcomes(described: dict[str, Any]) -> list[list[str]]:
    """Return the outcomes of an evaluation's cells, by task and member."""
    return [[cell["outcome"] for cell in row] for row in described["cells"]]


def run_ids(described: dict[str, Any]) -> set[str]:
    """Return the ids of an evaluation's runs."""
    return {run["run"] for row in described["cells"] for cell in row for run in cell["runs"]}
