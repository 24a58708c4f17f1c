"""A client of comparisons or of evaluations on a real server: their routes and streams."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from tests.support import httpx
from tests.support.server import TIMEOUT_SECONDS, ServerSentEvent, parse_events, wait_until


class GroupClient:
    """A user's client of a studio, for one kind of groups."""

    routes: ClassVar[str]

    def __init__(self, http: httpx.Client) -> None:
        self.http = http

    def draft_with(self, files: dict[str, bytes]) -> str:
        """Create a draft with files in ``input/``; return its id."""
        run: str = self.http.post("/api/runs").json()["run"]
        for path, content in files.items():
            url = f"/api/runs/{run}/files/input/{path}"
            self.http.put(url, content=content).raise_for_status()
        return run

    def start(self, body: dict[str, Any]) -> str:
        answer = self.http.post(self.routes, json=body)
        assert answer.status_code == 201, answer.text
        created: str = answer.json()["id"]
        return created

    def read(self, group: str) -> dict[str, Any]:
        """Return a comparison, or an evaluation with its tasks and cells."""
        answer = self.http.get(f"{self.routes}/{group}")
        assert answer.status_code == 200, answer.text
        described: dict[str, Any] = answer.json()
        return described

    def wait(
        self, group: str, state: str = "finished", seconds: float = TIMEOUT_SECONDS
    ) -> dict[str, Any]:
        wait_until(lambda: self.read(group)["state"] == state, seconds)
        return self.read(group)

    @contextmanager
    def follow(self, group: str, **query: Any) -> Iterator[Iterator[ServerSentEvent]]:
        url = f"{self.routes}/{group}/events"
        with self.http.stream("GET", url, params=query, timeout=TIMEOUT_SECONDS) as response:
            response.raise_for_status()
            yield parse_events(response.iter_lines())
