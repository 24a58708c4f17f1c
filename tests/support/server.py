"""The application on a real server, and clients for its streams."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp

from agent.errors import AddressUnusable
from agent.settings import Settings
from sandbox_ui import application
from sandbox_ui.listen import bind_sockets, page_url
from sandbox_ui.sandbox_provider import StudioSandboxProvider
from tests.support import httpx
from tests.support.local_provider import LocalSandboxProvider

TIMEOUT_SECONDS = 60.0
T = TypeVar("T")


def run_coroutine(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in another thread: Playwright's event loop may be running in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


def call_app(app: ASGIApp, method: str, url: str, **options: Any) -> httpx.Response:
    """Send a request to an ASGI application without a server."""

    async def call() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://studio") as client:
            return await client.request(method, url, **options)

    return run_coroutine(call())


def create_app(
    settings: Settings, provider: StudioSandboxProvider, previews_at_start: bool = False
) -> FastAPI:
    """Create the application in a running event loop: without one, Gradio leaves some unclosed.

    Most tests preview nothing, and the worker process of previews takes 2 s of CPU to start.
    """

    async def create() -> FastAPI:
        return application.create_app(settings, provider, previews_at_start)

    return run_coroutine(create())


_released_ports: list[int] = []
"""Ports of stopped servers, to be reused: the browser caches scripts by address."""


def _bind_socket(stack: ExitStack) -> socket.socket:
    """Bind a socket until the stack is closed: to the last released port if it is still free."""
    port = _released_ports.pop() if _released_ports else 0
    try:
        (listener,) = stack.enter_context(bind_sockets("127.0.0.1", port))
    except AddressUnusable:
        (listener,) = stack.enter_context(bind_sockets("127.0.0.1", 0))
    stack.callback(_released_ports.append, listener.getsockname()[1])
    return listener


@contextmanager
def run_server(app: FastAPI) -> Iterator[str]:
    """Serve the application on a local port; yields its base URL."""
    with ExitStack() as stack:
        yield from _serve(app, _bind_socket(stack))


@contextmanager
def serve_studio(
    data: Path, provider: StudioSandboxProvider | None = None, **settings: Any
) -> Iterator[str]:
    """Serve a studio with these settings, with process sandboxes unless given; yields its URL."""
    app = create_app(Settings(data=data, **settings), provider or LocalSandboxProvider(data))
    with run_server(app) as url:
        yield url


def _serve(app: FastAPI, listener: socket.socket) -> Iterator[str]:
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    loop = asyncio.new_event_loop()

    def serve() -> None:
        loop.run_until_complete(server.serve([listener]))
        remaining_tasks = asyncio.all_tasks(loop)  # Gradio's queue does not end its tasks
        for task in remaining_tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*remaining_tasks, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()

    thread = threading.Thread(target=serve)
    thread.start()
    wait_until(lambda: server.started or not thread.is_alive())
    try:
        yield page_url("127.0.0.1", [listener])
    finally:
        loop.call_soon_threadsafe(app.state.closing.set)
        server.should_exit = True
        thread.join(TIMEOUT_SECONDS)


def wait_until(condition: Callable[[], bool], seconds: float = TIMEOUT_SECONDS) -> None:
    """Wait for a condition; fails if it does not come true in time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition did not come true in time"
        time.sleep(0.01)


class ServerSentEvent:
    def __init__(self, name: str, cursor: str, data: Any) -> None:
        self.name, self.cursor, self.data = name, cursor, data


@contextmanager
def follow_run(
    client: httpx.Client, run: str, cursor: str = ""
) -> Iterator[Iterator[ServerSentEvent]]:
    """Open a run's event stream, optionally from a cursor."""
    headers = {"Last-Event-ID": cursor} if cursor else {}
    url = f"/api/runs/{run}/events"
    with client.stream("GET", url, headers=headers, timeout=TIMEOUT_SECONDS) as response:
        response.raise_for_status()
        yield parse_events(response.iter_lines())


def parse_events(lines: Iterator[str]) -> Iterator[ServerSentEvent]:
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "data" in fields:
            yield ServerSentEvent(fields["event"], fields.get("id", ""), json.loads(fields["data"]))
            fields = {}
