"""The server's own routes, called in this process: no socket, no worker process, no Gradio page."""

import asyncio
import shutil
import threading
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from playwright.sync_api import Locator
from starlette.applications import Starlette
from starlette.requests import Request as StarletteRequest
from starlette.types import Message, Receive, Scope, Send

from agent.errors import WorkspaceError
from agent.runs.folder import RunFolder
from agent.settings import Settings
from sandbox_ui.application import Services
from sandbox_ui.auth.access import Access
from sandbox_ui.auth.user import OPERATOR
from sandbox_ui.limits.body_limit import BodyLimit
from sandbox_ui.preview.base import BinaryPreview, PreviewError, PreviewRequest, Renderer
from sandbox_ui.preview.service import PreviewResult, PreviewService
from sandbox_ui.preview.worker import _UNREADABLE_MESSAGE, load_renderer
from tests.support.component.runs import PageRun
from tests.support.component.server import Answer, Request
from tests.support.component.stage import ALL, Look, Stage
from tests.support.local_provider import LocalSandboxProvider
from tests.support.recorded_runs import write_ended_run

_renderer = cache(load_renderer)
_rendering = threading.Lock()  # PDFium is not thread-safe


class LocalPreviews(PreviewService):
    """Previews rendered in this process; their worker process takes 2 s of CPU to start."""

    def render(self, kind: str, file: BinaryIO, request: PreviewRequest) -> PreviewResult:
        file.seek(0)
        try:
            with _rendering:
                renderer: Renderer = _renderer(kind)
                preview = renderer(file, request)
        except PreviewError as error:
            raise WorkspaceError(str(error)) from error
        except Exception as error:  # any library, any file, as in the worker
            raise WorkspaceError(_UNREADABLE_MESSAGE) from error
        if isinstance(preview, BinaryPreview):
            return PreviewResult(preview.content, preview.media_type)
        return PreviewResult(Answer.of(preview).content)


class LocalRoutes:
    """The routes of a studio with one owner, on a data folder; previews are rendered here."""

    def __init__(self, data: Path, previews: PreviewService | None = None, **settings: Any) -> None:
        provider = LocalSandboxProvider(data)
        services = Services.from_settings(Settings(data=data, **settings), provider)
        self.services = replace(services, previews=previews or LocalPreviews())
        self.services.catalog.open()
        self._app = BodyLimit(Starlette(routes=list(self.services.routes())))
        self._stop, self._ready = asyncio.Event(), threading.Event()
        self._open, self._submitting = True, threading.Lock()
        self._thread = threading.Thread(target=asyncio.run, args=(self._run(),))
        self._thread.start()
        self._ready.wait()

    async def _run(self) -> None:
        """Keep a loop for the routes: the thread of the tests has Playwright's."""
        self._loop = asyncio.get_running_loop()
        self._ready.set()
        await self._stop.wait()

    def close(self) -> None:
        """End the loop and close the history's database."""
        with self._submitting:
            self._open = False
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self.services.catalog.close()

    def respond(self, request: Request) -> Answer:
        """Return the answer to a request; thread-safe. A page that is left may still ask."""
        with self._submitting:
            if not self._open:
                return Answer(status=503)
            call = asyncio.run_coroutine_threadsafe(self._call(request), self._loop)
        return call.result()

    async def _call(self, request: Request) -> Answer:
        raw_path, _, query = request.raw.partition("?")
        scope: Scope = {
            "type": "http", "http_version": "1.1", "method": request.method, "scheme": "http",
            "path": f"/{request.path}", "raw_path": f"/{raw_path}".encode(), "root_path": "",
            "query_string": query.encode(), "server": ("127.0.0.1", 80),
            "headers": [(name.lower().encode(), value.encode("latin-1"))
                        for name, value in request.headers.items()],
        }  # fmt: skip
        identities = self.services.identities
        access = Access(OPERATOR, (), identities.get_folder, identities.groups, identities.data)
        StarletteRequest(scope).state.access = access
        collector = _Collector(request.body)
        receive: Receive = collector.receive
        send: Send = collector.send
        await self._app(scope, receive, send)
        return collector.answer


class _Collector:
    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self._parts: list[bytes] = []
        self.answer = Answer()

    async def receive(self) -> Message:
        if self._body is None:
            await asyncio.Event().wait()  # the client never disconnects
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.body":
            self._parts.append(message.get("body", b""))
            if not message.get("more_body"):
                self.answer.content = b"".join(self._parts)
            return
        self.answer.status = message["status"]
        headers: dict[str, Any] = {
            name.decode(): value.decode("latin-1") for name, value in message["headers"]
        }
        headers.pop("content-length", None)
        self.answer.kind = headers.pop("content-type", "application/octet-stream")
        self.answer.headers = headers


class LocalStudio:
    """A page, its routes, and the runs in its data folder; there are none at first."""

    def __init__(self, stage: Stage, **settings: Any) -> None:
        self.stage, self.page, self.data = stage, stage.page, stage.data
        self.history = stage.page.get_by_role("dialog", name="History")
        self.titles = self.history.locator(".entry .title")
        shutil.rmtree(stage.run.folder.sandbox_folder)
        shutil.rmtree(stage.run.folder.path)
        self.routes = LocalRoutes(self.data, **settings)
        stage.use_routes(self.routes)

    def write(self, task: str, **options: Any) -> RunFolder:
        """Write an ended run, as ``write_ended_run`` does."""
        return write_ended_run(self.data, task, **options)

    def show(self, run: RunFolder | None = None, look: Look | None = None) -> None:
        if run:
            self.stage.run = PageRun(self.data, run=run.id)
        self.stage.mount(*ALL, run=() if run else None, look=look)

    def show_history(self, run: RunFolder | None = None, look: Look | None = None) -> Locator:
        """Open the page and its history; returns the history."""
        self.show(run, look)
        return self.open_history()

    def open_history(self) -> Locator:
        self.stage.button("History").click()
        return self.history

    def entry(self, title: str) -> Locator:
        return self.history.get_by_role("listitem").filter(has_text=title)
