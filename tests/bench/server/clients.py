"""The application as a child process, and HTTP clients that start and follow runs."""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from tests.bench.context import TIMEOUT_SECONDS, BenchContext, free_port, run_program
from tests.support import httpx

_CLIENT_TIMEOUT_SECONDS = 1800.0
_POLL_SECONDS = 0.005


@dataclass(frozen=True)
class ObservedRun:
    """A run as one follower observed it; the delays are seconds from an event to its arrival."""

    status: str
    started_at: float
    ended_at: float
    delays: list[float]
    answer: str = ""


@dataclass(frozen=True)
class ServedApp:
    """The application as a child process."""

    address: str
    pid: int

    async def run(self, task: str) -> ObservedRun:
        async with self.client() as client:
            run = await self.draft(client)
            await self.start(client, run, task)
            return await self.follow(client, run)

    def client(self) -> httpx.AsyncClient:
        """Create an HTTP client, as a separate visitor."""
        return httpx.AsyncClient(base_url=self.address, timeout=_CLIENT_TIMEOUT_SECONDS)

    async def draft(self, client: httpx.AsyncClient) -> str:
        run: str = (await client.post("/api/runs")).raise_for_status().json()["run"]
        return run

    async def start(self, client: httpx.AsyncClient, run: str, task: str) -> None:
        body = {"data": [task, run, "general", "sandbox"]}
        answer = await client.post("/gradio_api/call/start", json=body)
        result = await client.get(f"/gradio_api/call/start/{answer.json()['event_id']}")
        if "event: complete" not in result.text:
            raise RuntimeError(f"No run could be started: {result.text[:300]}")

    async def follow(self, client: httpx.AsyncClient, run: str) -> ObservedRun:
        """Follow a run to its end; returns what was observed."""
        started_at, delays = 0.0, []
        async with client.stream("GET", f"/api/runs/{run}/events?cursor=0") as stream:
            async for line in stream.aiter_lines():
                now = time.time()
                if not line.startswith('data: {"status"'):
                    continue
                for event in json.loads(line.removeprefix("data: "))["events"]:
                    delays.append(now - event["at"])
                    if event["kind"] == "step_started" and not started_at:
                        started_at = event["at"]
                    if event["kind"] == "run_ended":
                        return ObservedRun(
                            event["status"], started_at, event["at"], delays, event["answer"]
                        )
        raise RuntimeError("The stream ended before the run.")


@contextmanager
def serve_app(
    context: BenchContext, url: str, max_runs: int, sandboxes: int = 200, **variables: str
) -> Iterator[ServedApp]:
    """Run the application until it is ready; without an endpoint the built-in model answers."""
    port = free_port()
    environment = context.environment(
        "load", OPENAI_BASE_URL=url, OPENAI_MODEL="test-model", GRADIO_SERVER_PORT=str(port),
        STUDIO_MAX_RUNS=str(max_runs), STUDIO_MAX_RUNS_PER_USER=str(max_runs),
        STUDIO_CONVERSATION_TOKENS="none", STUDIO_MAX_SANDBOXES=str(sandboxes), **variables,
    )  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    with run_program([sys.executable, "app.py"], environment) as process:
        wait_until_it_answers(f"{address}/healthz", '{"ok":true')
        yield ServedApp(address, process.pid)


def wait_until_it_answers(url: str, text: str = "") -> None:
    """Ask again until an answer starts with ``text``."""
    end = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < end:
        with suppress(httpx.HTTPError):
            answer = httpx.get(url, timeout=TIMEOUT_SECONDS)
            if answer.status_code == 200 and answer.text.startswith(text):
                return
        time.sleep(_POLL_SECONDS)
    raise RuntimeError(f"The application does not answer at {url}.")
