"""Application factory: wires the page, the routes and the services behind them."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

import gradio as gr
from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

from agent.history.retention import Retention
from agent.models.builtin import process
from agent.runs.disk_usage import room as room_of
from agent.settings import Settings
from agent.util import threads
from sandbox_ui import health
from sandbox_ui.auth.identity import House
from sandbox_ui.auth.middleware import Door
from sandbox_ui.history.catalog import Shelf
from sandbox_ui.history.expiry import Keeping
from sandbox_ui.history.limits import allowance
from sandbox_ui.history.quota import Budget
from sandbox_ui.history.usage import Counting, Usage
from sandbox_ui.middleware.body_limit import Sizes
from sandbox_ui.middleware.gradio_requests import Checked, parameters_of
from sandbox_ui.middleware.gradio_routes import Offered
from sandbox_ui.middleware.html_head import Opening
from sandbox_ui.middleware.path_prefix import Prefix
from sandbox_ui.middleware.security import Guard
from sandbox_ui.page import build
from sandbox_ui.page.api import Programs
from sandbox_ui.page.gradio_queue import OwnedQueue
from sandbox_ui.page.gradio_results import Owned
from sandbox_ui.page.handlers import Controls
from sandbox_ui.preview.service import Workshop
from sandbox_ui.routes.auth import PeopleRoutes
from sandbox_ui.routes.history import HistoryRoutes
from sandbox_ui.routes.info import StudioRoutes
from sandbox_ui.routes.runs import RunRoutes
from sandbox_ui.routes.share_links import LinkRoutes
from sandbox_ui.routes.usage import UsageRoutes
from sandbox_ui.routes.workspace.archives import Archives
from sandbox_ui.routes.workspace.changes import Changes
from sandbox_ui.routes.workspace.document_info import About
from sandbox_ui.routes.workspace.files import Files
from sandbox_ui.routes.workspace.html_frames import Frames
from sandbox_ui.routes.workspace.previews import Views
from sandbox_ui.routes.workspace.tree import Tree
from sandbox_ui.routes.workspace.uploads import Uploads
from sandbox_ui.routes.workspace.versions import VersionRoutes
from sandbox_ui.runs import manager as running
from sandbox_ui.runs.manager import Runs
from sandbox_ui.scheduling.admission import Admission
from sandbox_ui.scheduling.queue import Line

_THREADS = 2
"""Threads of the event loop's executor, for cleanup after followers disconnect."""


class Machine(running.Computers, health.Ready, Counting, Protocol):
    """Provider of sandboxes; opened and closed with the application."""

    def open(self) -> None:
        """Prepare engine and image in the background; return at once."""

    def close(self) -> None:
        """Remove the remaining sandboxes."""


@dataclass(frozen=True)
class _Rooms:
    """Services of the application, wired together."""

    settings: Settings
    machine: Machine
    runs: Runs
    house: House
    shelf: Shelf
    budget: Budget
    keeping: Keeping
    usage: Usage
    workshop: Workshop = field(default_factory=Workshop)
    closing: asyncio.Event = field(default_factory=asyncio.Event)

    @classmethod
    def of(cls, settings: Settings, machine: Machine) -> "_Rooms":
        allowed = allowance(settings)
        line = Line(allowed.runs, allowed.runs_each)
        admission = Admission(line, lambda owner: budget.check(owner), allowed.sandboxes)
        runs = Runs(settings.data, machine, admission, settings.idle)
        house = House.of(settings, runs.record)
        shelf = Shelf(settings.data, runs, machine)
        budget = Budget(shelf, allowed.keep_each)
        keeping = Keeping(shelf, Retention(allowed.keep_days, allowed.keep))
        usage = Usage(shelf, line, machine, settings, allowed, keeping.rule.words)
        return cls(settings, machine, runs, house, shelf, budget, keeping, usage)

    @asynccontextmanager
    async def opened(self, _app: FastAPI) -> AsyncIterator[None]:
        """Lifespan context: start all services, and stop them at shutdown."""
        threads.lend(asyncio.get_running_loop(), "application", _THREADS)
        self.machine.open()
        self.shelf.open()
        self.runs.open()
        self.shelf.begin_summaries()
        self.keeping.open()
        self.workshop.open()
        yield
        self.closing.set()
        await asyncio.to_thread(self.keeping.close)
        await asyncio.to_thread(self.shelf.close)
        await asyncio.to_thread(self.runs.close)
        await asyncio.to_thread(self.machine.close)
        await asyncio.to_thread(process.close)
        self.workshop.close()

    def blocks(self) -> gr.Blocks:
        """Build the page."""
        programs = Programs(self.runs, self.shelf, self.settings)
        return build.build(Controls(self.runs, self.settings), programs, self.settings)

    def routes(self) -> Iterator[BaseRoute]:
        """Yield all routes; those of a single run (stream, files, previews) come last."""
        runs, workshop = self.runs, self.workshop
        for room in (
            StudioRoutes(self._health, workshop),
            HistoryRoutes(self.shelf, self.keeping.rule.words),
            UsageRoutes(self.usage),
            PeopleRoutes(self.house),
            LinkRoutes(runs, self.house),
            RunRoutes(runs, self.closing),
            Tree(runs),
            Files(runs, self._left),
            Uploads(runs, self._left),
            Changes(runs),
            Archives(runs),
            About(runs),
            Views(runs, workshop),
            VersionRoutes(runs, workshop),
            Frames(runs),
        ):
            yield from room.routes

    def _health(self) -> dict[str, Any]:
        return health.report(self.machine, self.settings, self.shelf.unreadable())

    def _left(self, run: str) -> int:
        """Return the bytes that a run may still write, by its limit and its owner's."""
        folder = self.runs.folder(run)
        owners = self.budget.left(folder.owner)
        own = room_of(folder, self.settings.disk)
        return own if owners is None else min(own, owners)


def create(settings: Settings, machine: Machine) -> FastAPI:
    """Create the ASGI application; serve it with a single worker.

    The server sets the event ``app.state.closing`` when it is asked to exit. This ends the
    pages' streams, so that the server does not wait for them.

    Args:
        settings: The operator's settings. This process holds the lock of their data folder.
        machine: Provider of sandboxes; opened and closed with the application.
    """
    rooms = _Rooms.of(settings, machine)
    house = rooms.house
    app = FastAPI(lifespan=rooms.opened, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.closing = rooms.closing
    app.add_middleware(CORSMiddleware, allow_origins=[])
    app.add_middleware(Opening, head=build.head(alone=house.alone, builtin=settings.builtin))
    app.add_middleware(Sizes)
    app.add_middleware(Door, house=house)
    app.add_middleware(Guard, names=settings.hosts)
    app.add_middleware(Prefix, prefix=settings.root_path)
    app.router.routes.extend(rooms.routes())
    app.mount("/ui", StaticFiles(directory=build.STATIC))
    blocks = rooms.blocks()
    queue = OwnedQueue.replace(blocks)
    gr.mount_gradio_app(
        app,
        blocks,
        path="/",
        root_path=settings.root_path or None,
        ssr_mode=False,
        run_history=False,
        footer_links=["api"],
        theme=build.theme(),
        max_file_size=0,
        show_error=False,  # unexpected errors go to the log; expected ones carry a message
    )
    gradio = app.router.routes[-1]
    assert isinstance(gradio, Mount)
    gradio.app = Offered(Checked(Owned(gradio.app, queue), parameters_of(blocks)))
    return app
