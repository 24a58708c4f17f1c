"""Application factory: wires the page, the routes and the services behind them."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

import gradio as gr
from fastapi import FastAPI
from gradio.route_utils import BUILD_PATH_LIB
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute, Mount

from agent.history.retention import Retention
from agent.models.builtin import process
from agent.replay.examples import ExampleLimits
from agent.runs.disk_usage import free_workspace_bytes
from agent.settings import Settings
from agent.util import event_loops
from sandbox_ui import health
from sandbox_ui.auth.identity import Identities
from sandbox_ui.auth.middleware import AuthMiddleware
from sandbox_ui.experiments.inputs import delete_unrecorded_drafts
from sandbox_ui.experiments.listing import RunListing
from sandbox_ui.experiments.manager import ExperimentManager
from sandbox_ui.experiments.questions import Questions
from sandbox_ui.experiments.registry import ExperimentRegistry
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.history.expiry import ExpiryJob
from sandbox_ui.limits.body_limit import BodyLimit
from sandbox_ui.limits.quota import Quota
from sandbox_ui.limits.receiving import Receiver
from sandbox_ui.limits.studio_limits import studio_limits
from sandbox_ui.limits.usage import UsageReporter
from sandbox_ui.middleware.html_head import HeadInjection
from sandbox_ui.middleware.path_prefix import PathPrefix
from sandbox_ui.middleware.security import SecurityHeaders
from sandbox_ui.openai_api.errors import OpenAIErrors
from sandbox_ui.openai_api.routes import OpenAIRoutes
from sandbox_ui.page import build, modules
from sandbox_ui.page.api import ApiFunctions
from sandbox_ui.page.experiment_api import ExperimentFunctions
from sandbox_ui.page.gradio_files import GradioFiles
from sandbox_ui.page.gradio_filter import GradioGate, parameters_of
from sandbox_ui.page.gradio_queue import OwnedQueue
from sandbox_ui.page.handlers import ButtonHandlers
from sandbox_ui.preview.service import PreviewService
from sandbox_ui.routes.auth import AuthRoutes
from sandbox_ui.routes.experiments import ExperimentRoutes
from sandbox_ui.routes.history import HistoryRoutes
from sandbox_ui.routes.info import InfoRoutes
from sandbox_ui.routes.models import ModelRoutes
from sandbox_ui.routes.questions import QuestionRoutes
from sandbox_ui.routes.recorded_runs.examples import ExampleRoutes
from sandbox_ui.routes.recorded_runs.forks import ForkRoutes
from sandbox_ui.routes.recorded_runs.imports import ImportRoutes
from sandbox_ui.routes.recorded_runs.replays import ReplayRoutes
from sandbox_ui.routes.reports import ReportRoutes
from sandbox_ui.routes.requests import RequestRoutes
from sandbox_ui.routes.runs import RunRoutes
from sandbox_ui.routes.share_links import ShareLinkRoutes
from sandbox_ui.routes.steering import SteeringRoutes
from sandbox_ui.routes.workspace.archives import ArchiveRoutes
from sandbox_ui.routes.workspace.changes import FileOperationRoutes
from sandbox_ui.routes.workspace.document_info import DocumentInfoRoutes
from sandbox_ui.routes.workspace.files import FileRoutes
from sandbox_ui.routes.workspace.html_frames import FrameRoutes
from sandbox_ui.routes.workspace.previews import PreviewRoutes
from sandbox_ui.routes.workspace.tree import TreeRoutes
from sandbox_ui.routes.workspace.uploads import UploadRoutes
from sandbox_ui.routes.workspace.versions import VersionRoutes
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.runs.service import RunService
from sandbox_ui.sandbox_provider import StudioSandboxProvider
from sandbox_ui.scheduling.admission import Admission
from sandbox_ui.scheduling.queue import RunQueue

_THREADS = 2
"""Threads of the event loop's executor, for cleanup after followers disconnect."""


@dataclass(frozen=True)
class Services:
    """Services of the application, wired together."""

    settings: Settings
    provider: StudioSandboxProvider
    runs: RunManager
    identities: Identities
    catalog: Catalog
    quota: Quota
    expiry: ExpiryJob
    usage: UsageReporter
    experiments: ExperimentManager
    previews_at_start: bool
    previews: PreviewService = field(default_factory=PreviewService)
    closing: asyncio.Event = field(default_factory=asyncio.Event)

    @classmethod
    def from_settings(
        cls, settings: Settings, provider: StudioSandboxProvider, previews_at_start: bool = True
    ) -> "Services":
        """Create the services; see ``create_app`` for the arguments."""
        limits = studio_limits(settings, provider.capacity)
        queue = RunQueue(limits.max_runs, limits.max_runs_per_user)
        admission = Admission(
            queue,
            lambda owner, size: quota.check(owner, size),
            limits.max_sandboxes,
            settings.max_sandboxes_per_user,
        )
        runs = RunManager(settings.data, provider, admission, settings.idle_seconds)
        catalog = Catalog(settings.data, runs, provider)
        registry = ExperimentRegistry(settings.data, catalog.history)
        identities = Identities.from_settings(settings, runs.peek_folder, registry)
        quota = Quota(catalog, limits.max_storage_per_user, settings.data)
        expiry = ExpiryJob(catalog, Retention(limits.retention_days, limits.max_storage))
        usage = UsageReporter(
            catalog, admission, provider, settings, limits, expiry.rule.description
        )
        experiments = ExperimentManager(registry, runs, catalog, quota, settings)
        return cls(
            settings, provider, runs, identities, catalog, quota, expiry, usage, experiments,
            previews_at_start,
        )  # fmt: skip

    @asynccontextmanager
    async def lifespan(self, _app: FastAPI) -> AsyncIterator[None]:
        """Lifespan context: start all services, and stop them at shutdown."""
        event_loops.set_default_thread_pool(asyncio.get_running_loop(), "application", _THREADS)
        self.open()
        if self.previews_at_start:
            self.previews.open()
        yield
        self.closing.set()
        await asyncio.to_thread(self.close)
        self.previews.close()

    def open(self) -> None:
        """Take over the data folder: end the rounds that an earlier process left open."""
        self.provider.on_capacity(self._resize)
        self.provider.open()
        self.catalog.open()
        self.runs.open()
        delete_unrecorded_drafts(self.catalog, self.experiments.registry)
        self.catalog.start_indexing()
        self.expiry.open()

    def close(self) -> None:
        """Stop what is in progress; blocks."""
        self.expiry.close()
        self.experiments.close()
        self.runs.close()
        self.catalog.close()
        self.provider.close()
        process.close_engines()

    def blocks(self) -> gr.Blocks:
        """Build the page."""
        handlers = ButtonHandlers(self.runs, self.settings)
        api_functions = ApiFunctions(self.runs, self.catalog, self.settings)
        experiments = ExperimentFunctions(self.experiments)
        return build.build(handlers, [api_functions.register, experiments.register], self.settings)

    def routes(self) -> Iterator[BaseRoute]:
        """Yield all routes; those of a single run (stream, files, previews) come last."""
        runs, previews = self.runs, self.previews
        receiver = Receiver(self.settings.data, self.quota)
        listing = RunListing(self.catalog, self.experiments)
        for group in (
            InfoRoutes(self._health, self.usage, previews),
            HistoryRoutes(self.catalog, listing, self.expiry.rule.description),
            ModelRoutes(self.settings),
            AuthRoutes(self.identities),
            ShareLinkRoutes(runs, self.experiments, self.identities),
            ExperimentRoutes(self.experiments, runs, self.closing),
            QuestionRoutes(Questions(self.experiments, self.settings), self.experiments),
            RunRoutes(RunService(runs, self.settings), self.closing),
            RequestRoutes(runs),
            SteeringRoutes(runs),
            ForkRoutes(runs, self.catalog),
            ImportRoutes(runs, self.catalog, self.quota, receiver, self.settings.data),
            ReplayRoutes(runs, self.catalog, self.settings.limits()),
            ExampleRoutes(
                runs, self.catalog, self.settings.data, self.provider.blobs, self._example_limits()
            ),
            TreeRoutes(runs),
            FileRoutes(runs, self._remaining_bytes),
            UploadRoutes(runs, self._remaining_bytes),
            FileOperationRoutes(runs),
            ArchiveRoutes(runs),
            ReportRoutes(runs, self.settings.api_key),
            DocumentInfoRoutes(runs),
            PreviewRoutes(runs, previews),
            VersionRoutes(runs, previews),
            FrameRoutes(runs),
        ):
            yield from group.routes
        if self.settings.openai_api:
            endpoint = OpenAIRoutes(
                runs, self.catalog, self.quota, receiver, self.settings, self.closing
            )
            yield from endpoint.routes

    def _example_limits(self) -> ExampleLimits:
        settings = self.settings
        return ExampleLimits(settings.examples_per_user, settings.examples_bytes)

    def _resize(self, capacity: int) -> None:
        """Adapt the limits on concurrent runs to what the cluster's nodes have room for."""
        limits = studio_limits(self.settings, capacity)
        self.runs.admission.max_sandboxes = limits.max_sandboxes
        self.runs.admission.queue.resize(limits.max_runs, limits.max_runs_per_user)

    def _health(self) -> dict[str, Any]:
        return health.report(self.provider, self.settings, self.catalog.history.unreadable())

    def _remaining_bytes(self, run: str) -> int:
        """Return the bytes that a run may still write, by its limit and its owner's."""
        folder = self.runs.folder(run)
        quota = self.quota.remaining(folder.owner)
        free = free_workspace_bytes(folder, self.settings.disk)
        return free if quota is None else min(free, quota)


def create_app(
    settings: Settings, provider: StudioSandboxProvider, previews_at_start: bool = True
) -> FastAPI:
    """Create the ASGI application, for one worker; at exit, ``closing`` ends its streams."""
    services = Services.from_settings(settings, provider, previews_at_start)
    identities = services.identities
    app = FastAPI(lifespan=services.lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.closing = services.closing
    app.add_middleware(CORSMiddleware, allow_origins=[])
    head = build.head(single_owner=identities.single_owner, builtin=settings.builtin)
    gradio_files = GradioFiles(Path(BUILD_PATH_LIB))
    app.add_middleware(
        HeadInjection, head=lambda: f"{head}\n{modules.head()}", end=gradio_files.tags()
    )
    app.add_middleware(BodyLimit)
    app.add_middleware(AuthMiddleware, identities=identities)
    app.add_middleware(SecurityHeaders, allowed_hosts=settings.hosts)
    if settings.openai_api:
        app.add_middleware(OpenAIErrors)
    app.add_middleware(PathPrefix, prefix=settings.root_path)
    app.router.routes.extend(services.routes())
    app.mount("/ui", modules.PageFiles(directory=modules.STATIC))
    app.mount("/assets", gradio_files)
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
    gradio.app = GradioGate(gradio.app, queue, parameters_of(blocks))
    return app
