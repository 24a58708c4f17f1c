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
from agent.runs.disk_usage import free_workspace_bytes
from agent.settings import Settings
from agent.util import threads
from sandbox_ui import health
from sandbox_ui.auth.identity import Identities
from sandbox_ui.auth.middleware import AuthMiddleware
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.history.expiry import ExpiryJob
from sandbox_ui.limits.quota import Quota
from sandbox_ui.limits.studio_limits import studio_limits
from sandbox_ui.limits.usage import HasInventory, UsageReporter
from sandbox_ui.middleware.body_limit import BodyLimit
from sandbox_ui.middleware.gradio_requests import RequestValidation, parameters_of
from sandbox_ui.middleware.gradio_routes import RouteAllowlist
from sandbox_ui.middleware.html_head import HeadInjection
from sandbox_ui.middleware.path_prefix import PathPrefix
from sandbox_ui.middleware.security import SecurityHeaders
from sandbox_ui.page import build
from sandbox_ui.page.api import ApiFunctions
from sandbox_ui.page.gradio_queue import OwnedQueue
from sandbox_ui.page.gradio_results import GradioResultAccess
from sandbox_ui.page.handlers import ButtonHandlers
from sandbox_ui.preview.service import PreviewService
from sandbox_ui.routes.auth import AuthRoutes
from sandbox_ui.routes.history import HistoryRoutes
from sandbox_ui.routes.info import InfoRoutes
from sandbox_ui.routes.runs import RunRoutes
from sandbox_ui.routes.share_links import ShareLinkRoutes
from sandbox_ui.routes.usage import UsageRoutes
from sandbox_ui.routes.workspace.archives import ArchiveRoutes
from sandbox_ui.routes.workspace.changes import FileOperationRoutes
from sandbox_ui.routes.workspace.document_info import DocumentInfoRoutes
from sandbox_ui.routes.workspace.files import FileRoutes
from sandbox_ui.routes.workspace.html_frames import FrameRoutes
from sandbox_ui.routes.workspace.previews import PreviewRoutes
from sandbox_ui.routes.workspace.tree import TreeRoutes
from sandbox_ui.routes.workspace.uploads import UploadRoutes
from sandbox_ui.routes.workspace.versions import VersionRoutes
from sandbox_ui.runs.manager import RunManager, RunSandboxProvider
from sandbox_ui.scheduling.admission import Admission
from sandbox_ui.scheduling.queue import RunQueue

_THREADS = 2
"""Threads of the event loop's executor, for cleanup after followers disconnect."""


class StudioSandboxProvider(RunSandboxProvider, health.HasSetupStatus, HasInventory, Protocol):
    """Provider of sandboxes; opened and closed with the application."""

    def open(self) -> None:
        """Prepare engine and image in the background; return at once."""

    def close(self) -> None:
        """Remove the remaining sandboxes."""


@dataclass(frozen=True)
class _Services:
    """Services of the application, wired together."""

    settings: Settings
    provider: StudioSandboxProvider
    runs: RunManager
    identities: Identities
    catalog: Catalog
    quota: Quota
    expiry: ExpiryJob
    usage: UsageReporter
    previews: PreviewService = field(default_factory=PreviewService)
    closing: asyncio.Event = field(default_factory=asyncio.Event)

    @classmethod
    def from_settings(cls, settings: Settings, provider: StudioSandboxProvider) -> "_Services":
        limits = studio_limits(settings)
        queue = RunQueue(limits.max_runs, limits.max_runs_per_user)
        admission = Admission(queue, lambda owner: quota.check(owner), limits.max_sandboxes)
        runs = RunManager(settings.data, provider, admission, settings.idle_seconds)
        identities = Identities.from_settings(settings, runs.peek_folder)
        catalog = Catalog(settings.data, runs, provider)
        quota = Quota(catalog, limits.max_storage_per_user)
        expiry = ExpiryJob(catalog, Retention(limits.retention_days, limits.max_storage))
        usage = UsageReporter(catalog, queue, provider, settings, limits, expiry.rule.description)
        return cls(settings, provider, runs, identities, catalog, quota, expiry, usage)

    @asynccontextmanager
    async def lifespan(self, _app: FastAPI) -> AsyncIterator[None]:
        """Lifespan context: start all services, and stop them at shutdown."""
        threads.set_default_thread_pool(asyncio.get_running_loop(), "application", _THREADS)
        self.provider.open()
        self.catalog.open()
        self.runs.open()
        self.catalog.start_summaries()
        self.expiry.open()
        self.previews.open()
        yield
        self.closing.set()
        await asyncio.to_thread(self.expiry.close)
        await asyncio.to_thread(self.catalog.close)
        await asyncio.to_thread(self.runs.close)
        await asyncio.to_thread(self.provider.close)
        await asyncio.to_thread(process.close_engines)
        self.previews.close()

    def blocks(self) -> gr.Blocks:
        """Build the page."""
        handlers = ButtonHandlers(self.runs, self.settings)
        api_functions = ApiFunctions(self.runs, self.catalog, self.settings)
        return build.build(handlers, api_functions, self.settings)

    def routes(self) -> Iterator[BaseRoute]:
        """Yield all routes; those of a single run (stream, files, previews) come last."""
        runs, previews = self.runs, self.previews
        for group in (
            InfoRoutes(self._health, previews),
            HistoryRoutes(self.catalog, self.expiry.rule.description),
            UsageRoutes(self.usage),
            AuthRoutes(self.identities),
            ShareLinkRoutes(runs, self.identities),
            RunRoutes(runs, self.closing),
            TreeRoutes(runs),
            FileRoutes(runs, self._remaining_bytes),
            UploadRoutes(runs, self._remaining_bytes),
            FileOperationRoutes(runs),
            ArchiveRoutes(runs),
            DocumentInfoRoutes(runs),
            PreviewRoutes(runs, previews),
            VersionRoutes(runs, previews),
            FrameRoutes(runs),
        ):
            yield from group.routes

    def _health(self) -> dict[str, Any]:
        return health.report(self.provider, self.settings, self.catalog.unreadable())

    def _remaining_bytes(self, run: str) -> int:
        """Return the bytes that a run may still write, by its limit and its owner's."""
        folder = self.runs.folder(run)
        quota = self.quota.remaining(folder.owner)
        free = free_workspace_bytes(folder, self.settings.disk)
        return free if quota is None else min(free, quota)


def create_app(settings: Settings, provider: StudioSandboxProvider) -> FastAPI:
    """Create the ASGI application; serve it with a single worker.

    The server sets the event ``app.state.closing`` when it is asked to exit. This ends the
    pages' streams, so that the server does not wait for them.

    Args:
        settings: The operator's settings. This process holds the lock of their data folder.
        provider: Provider of sandboxes; opened and closed with the application.
    """
    services = _Services.from_settings(settings, provider)
    identities = services.identities
    app = FastAPI(lifespan=services.lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.closing = services.closing
    app.add_middleware(CORSMiddleware, allow_origins=[])
    app.add_middleware(
        HeadInjection,
        head=build.head(single_owner=identities.single_owner, builtin=settings.builtin),
    )
    app.add_middleware(BodyLimit)
    app.add_middleware(AuthMiddleware, identities=identities)
    app.add_middleware(SecurityHeaders, allowed_hosts=settings.hosts)
    app.add_middleware(PathPrefix, prefix=settings.root_path)
    app.router.routes.extend(services.routes())
    app.mount("/ui", StaticFiles(directory=build.STATIC))
    blocks = services.blocks()
    queue = OwnedQueue.install(blocks)
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
    gradio.app = RouteAllowlist(
        RequestValidation(GradioResultAccess(gradio.app, queue), parameters_of(blocks))
    )
    return app
