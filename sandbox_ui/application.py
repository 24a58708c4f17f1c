"""The application: the page, its routes, and what lives behind them."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Protocol

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

import gradio as gr
from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute
from starlette.staticfiles import StaticFiles

from agent.settings import Settings
from sandbox_ui import health, page
from sandbox_ui import runs as running
from sandbox_ui.controls import Controls
from sandbox_ui.opening import Opening
from sandbox_ui.preview.workshop import Workshop
from sandbox_ui.programs import Programs
from sandbox_ui.routes.about import About
from sandbox_ui.routes.archives import Archives
from sandbox_ui.routes.changes import Changes
from sandbox_ui.routes.files import Files
from sandbox_ui.routes.frames import Frames
from sandbox_ui.routes.history import HistoryRoutes
from sandbox_ui.routes.runs import RunRoutes
from sandbox_ui.routes.studio import StudioRoutes
from sandbox_ui.routes.tree import Tree
from sandbox_ui.routes.uploads import Uploads
from sandbox_ui.routes.versions import VersionRoutes
from sandbox_ui.routes.views import Views
from sandbox_ui.runs import Runs
from sandbox_ui.security import Guard
from sandbox_ui.shelf import Shelf


class Machine(running.Computers, health.Ready, Protocol):
    """What gives the runs their sandboxes; opened and closed with the application."""

    def open(self) -> None:
        """Make ready in the background; returns at once."""

    def close(self) -> None:
        """Remove the sandboxes that are left."""


def create(settings: Settings, machine: Machine) -> FastAPI:
    """The application, to be served by one worker.

    ``app.state.closing`` is an event that ends the pages' streams. Whoever serves sets it
    when the server is told to end, so that the server need not wait for them.

    Args:
        settings: What the operator chose; their data folder is held by this process.
        machine: What makes the sandboxes; opened and closed with the application.
    """
    runs, workshop, closing = Runs(settings.data, machine), Workshop(), asyncio.Event()
    shelf = Shelf(settings.data, runs, machine)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        machine.open()
        shelf.open()
        runs.open()
        shelf.begin_summaries()
        workshop.open()
        yield
        closing.set()
        await asyncio.to_thread(shelf.close)
        await asyncio.to_thread(runs.close)
        await asyncio.to_thread(machine.close)
        workshop.close()

    app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.closing = closing
    app.add_middleware(CORSMiddleware, allow_origins=[])
    app.add_middleware(Opening, head=page.head())
    app.add_middleware(Guard, names=settings.hosts)
    app.router.routes.extend(
        StudioRoutes(lambda: health.report(machine, settings), workshop).routes
    )
    app.router.routes.extend(HistoryRoutes(shelf).routes)
    app.router.routes.extend(_of_a_run(runs, workshop, closing))
    app.mount("/studio", StaticFiles(directory=page.STATIC))
    gr.mount_gradio_app(
        app,
        page.build(Controls(runs, settings), Programs(runs, shelf, settings), settings),
        path="/",
        ssr_mode=False,
        run_history=False,
        footer_links=["api"],
        theme=page.theme(),
        max_file_size=0,
    )
    return app


def _of_a_run(runs: Runs, workshop: Workshop, closing: asyncio.Event) -> Iterator[BaseRoute]:
    """The routes of one run: its stream, its files, what is seen of them."""
    for room in (
        RunRoutes(runs, closing),
        Tree(runs),
        Files(runs),
        Uploads(runs),
        Changes(runs),
        Archives(runs),
        About(runs),
        Views(runs, workshop),
        VersionRoutes(runs, workshop),
        Frames(runs),
    ):
        yield from room.routes
