"""The application: the page, its routes, and what lives behind them."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

import gradio as gr
from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

from agent import threads
from agent.allowance import allowance
from agent.models.builtin import engine
from agent.retention import Retention
from agent.room import room as room_of
from agent.settings import Settings
from sandbox_ui import health, page
from sandbox_ui import runs as running
from sandbox_ui.admission import Admission
from sandbox_ui.budget import Budget
from sandbox_ui.controls import Controls
from sandbox_ui.keeping import Keeping
from sandbox_ui.line import Line
from sandbox_ui.offered import Offered
from sandbox_ui.opening import Opening
from sandbox_ui.people.door import Door
from sandbox_ui.people.house import House
from sandbox_ui.prefix import Prefix
from sandbox_ui.preview.workshop import Workshop
from sandbox_ui.programs import Programs
from sandbox_ui.routes.about import About
from sandbox_ui.routes.archives import Archives
from sandbox_ui.routes.changes import Changes
from sandbox_ui.routes.files import Files
from sandbox_ui.routes.frames import Frames
from sandbox_ui.routes.history import HistoryRoutes
from sandbox_ui.routes.links import LinkRoutes
from sandbox_ui.routes.people import PeopleRoutes
from sandbox_ui.routes.runs import RunRoutes
from sandbox_ui.routes.studio import StudioRoutes
from sandbox_ui.routes.tree import Tree
from sandbox_ui.routes.uploads import Uploads
from sandbox_ui.routes.usage import UsageRoutes
from sandbox_ui.routes.versions import VersionRoutes
from sandbox_ui.routes.views import Views
from sandbox_ui.runs import Runs
from sandbox_ui.security import Guard
from sandbox_ui.shelf import Shelf
from sandbox_ui.sizes import Sizes
from sandbox_ui.usage import Counting, Usage

_THREADS = 2
"""Of the loop that serves: for what is done after a follower has gone."""


class Machine(running.Computers, health.Ready, Counting, Protocol):
    """What gives the runs their sandboxes; opened and closed with the application."""

    def open(self) -> None:
        """Make ready in the background; returns at once."""

    def close(self) -> None:
        """Remove the sandboxes that are left."""


@dataclass(frozen=True)
class _Rooms:
    """What lives behind the page and its routes, tied together."""

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
        """All at work, for as long as the application is served."""
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
        await asyncio.to_thread(engine.close)
        self.workshop.close()

    def blocks(self) -> gr.Blocks:
        """The page."""
        programs = Programs(self.runs, self.shelf, self.settings)
        return page.build(Controls(self.runs, self.settings), programs, self.settings)

    def routes(self) -> Iterator[BaseRoute]:
        """The routes, those of one run last: its stream, its files, what is seen of them."""
        runs, workshop = self.runs, self.workshop
        for room in (
            StudioRoutes(lambda: health.report(self.machine, self.settings), workshop),
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

    def _left(self, run: str) -> int:
        """Bytes that a run may take still, by its own limit and by its owner's."""
        folder = self.runs.folder(run)
        owners = self.budget.left(folder.owner)
        own = room_of(folder, self.settings.disk)
        return own if owners is None else min(own, owners)


def create(settings: Settings, machine: Machine) -> FastAPI:
    """The application, to be served by one worker.

    ``app.state.closing`` is an event that ends the pages' streams. Whoever serves sets it
    when the server is told to end, so that the server need not wait for them.

    Args:
        settings: What the operator chose; their data folder is held by this process.
        machine: What makes the sandboxes; opened and closed with the application.
    """
    rooms = _Rooms.of(settings, machine)
    house = rooms.house
    app = FastAPI(lifespan=rooms.opened, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.closing = rooms.closing
    app.add_middleware(CORSMiddleware, allow_origins=[])
    app.add_middleware(Opening, head=page.head(alone=house.alone, builtin=settings.builtin))
    app.add_middleware(Sizes)
    app.add_middleware(Door, house=house)
    app.add_middleware(Guard, names=settings.hosts)
    app.add_middleware(Prefix, prefix=settings.root_path)
    app.router.routes.extend(rooms.routes())
    app.mount("/ui", StaticFiles(directory=page.STATIC))
    gr.mount_gradio_app(
        app,
        rooms.blocks(),
        path="/",
        root_path=settings.root_path or None,
        ssr_mode=False,
        run_history=False,
        footer_links=["api"],
        theme=page.theme(),
        max_file_size=0,
        show_error=False,  # what nobody foresaw is for the log; our own sentences are told
    )
    gradio = app.router.routes[-1]
    assert isinstance(gradio, Mount)
    gradio.app = Offered(gradio.app)
    return app
