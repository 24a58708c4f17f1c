"""Settings → application → serve; with a command (``run``, ``token``) without a page."""

import asyncio
import sys
from collections.abc import Sequence
from types import FrameType
from typing import TYPE_CHECKING

import uvicorn

from agent.cli import main as cli
from agent.data_folder import DataFolder
from agent.provisioning.backend import SetupStatus
from agent.provisioning.provider import DockerSandboxProvider
from agent.settings import Settings
from sandbox_ui.listen import bind_sockets, page_url

if TYPE_CHECKING:
    from sandbox_ui.sandbox_provider import StudioSandboxProvider


class _Server(uvicorn.Server):
    """Ends the pages' event streams first, so that an end need not wait for them."""

    def __init__(self, config: uvicorn.Config, closing: asyncio.Event) -> None:
        super().__init__(config)
        self._closing = closing

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._closing.set()
        super().handle_exit(sig, frame)


def print_status(status: SetupStatus) -> None:
    """Print the progress of the sandboxes' setup."""
    share = "" if status.progress is None else f"{status.progress:4.0%} "
    detail = status.detail or status.warning
    print(f"{status.phase}: {share}{detail}".rstrip(": "), flush=True)


def _create_provider(settings: Settings, data: DataFolder) -> "StudioSandboxProvider":
    """Return the provider of sandboxes on this machine, or on a cluster's nodes."""
    if not settings.ray:
        return DockerSandboxProvider(settings, data, print_status)
    from agent.cluster.connect import sandboxes_on  # imports what few need

    return sandboxes_on(settings, data, print_status)


def serve(settings: Settings) -> None:
    """Serve the page until the process is told to end."""
    with DataFolder(settings.data) as data, bind_sockets(settings.host, settings.port) as sockets:
        # Imported when nothing else can go wrong: Gradio takes seconds.
        from sandbox_ui.application import create_app

        app = create_app(settings, _create_provider(settings, data))
        config = uvicorn.Config(app, settings.host, settings.port, log_level="warning")
        print(f"The studio is at {page_url(settings.host, sockets)}", flush=True)
        _Server(config, app.state.closing).run(sockets)


def main(arguments: Sequence[str] | None = None) -> int:
    """The console script; see ``agent.cli.main`` for the commands and exit codes."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words and words[0] in cli.CREDENTIALS:
        from sandbox_ui import __main__ as credentials

        return credentials.main(words)
    return cli.main(words, serve)


if __name__ == "__main__":
    sys.exit(main())
