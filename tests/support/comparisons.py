"""Comparisons on a real server: a client for their routes and streams."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.support import httpx
from tests.support.models.endpoint import Call, Turn
from tests.support.server import TIMEOUT_SECONDS, ServerSentEvent, parse_events, wait_until

SUBMIT = Turn(text="Done.", calls=[Call("submit")])
PLAIN: dict[str, Any] = {"mode": "plain"}
SANDBOX: dict[str, Any] = {"mode": "sandbox"}


class ComparisonClient:
    """A user's client of a studio.

    Args:
        http: The client, with the studio's base URL.
    """

    def __init__(self, http: httpx.Client) -> None:
        self.http = http

    def draft(self, **files: bytes) -> str:
        """Create a draft with files in ``input/``; their names are the keywords with ``.txt``."""
        run: str = self.http.post("/api/runs").json()["run"]
        for name, content in files.items():
            url = f"/api/runs/{run}/files/input/{name}.txt"
            self.http.put(url, content=content).raise_for_status()
        return run

    def create(self, *members: dict[str, Any], task: str = "What is it?", **more: Any) -> str:
        """Start a comparison; return its id."""
        body = {"task": task, "members": list(members), **more}
        answer = self.http.post("/api/comparisons", json=body)
        assert answer.status_code == 201, answer.text
        comparison: str = answer.json()["id"]
        return comparison

    def read(self, comparison: str) -> dict[str, Any]:
        """Return a comparison."""
        answer = self.http.get(f"/api/comparisons/{comparison}")
        assert answer.status_code == 200, answer.text
        described: dict[str, Any] = answer.json()
        return described

    def wait(self, comparison: str, state: str = "finished") -> dict[str, Any]:
        """Wait until a comparison is in a state; return it."""
        wait_until(lambda: self.read(comparison)["state"] == state)
        return self.read(comparison)

    def run_to_end(self, *members: dict[str, Any], **more: Any) -> dict[str, Any]:
        """Start a comparison, and return it when it has finished."""
        return self.wait(self.create(*members, **more))

    @contextmanager
    def follow(self, comparison: str, **query: Any) -> Iterator[Iterator[ServerSentEvent]]:
        """Open a comparison's event stream."""
        url = f"/api/comparisons/{comparison}/events"
        with self.http.stream("GET", url, params=query, timeout=TIMEOUT_SECONDS) as response:
            response.raise_for_status()
            yield parse_events(response.iter_lines())


def run_ids(described: dict[str, Any]) -> list[str]:
    """Return the ids of a comparison's runs, by member and repetition."""
    return [each["run"] for member in described["members"] for each in member["runs"]]


def statuses(described: dict[str, Any]) -> list[list[str]]:
    """Return the statuses of each member's runs."""
    return [[run["status"] for run in member["runs"]] for member in described["members"]]


def bash(command: str) -> Turn:
    """Return a turn that runs one command."""
    return Turn(text="", calls=[Call("execute_bash", {"command": command})])


def answer_by_mode(body: dict[str, Any]) -> Turn:
    """Answer as a model that counts with tools and guesses without them."""
    if "tools" not in body:
        return Turn(text="It is 41.")
    if any(message["role"] == "tool" for message in body["messages"]):
        return SUBMIT
    return bash("cat input/* 2>/dev/null | wc -c > output/answer.txt")


def text_of(body: dict[str, Any]) -> str:
    """Return everything that a request sends to the model."""
    return json.dumps(body["messages"])
