"""Settings → application → serve; with a command (``run``, ``build``) without a page."""

import asyncio
import sys
from collections.abc import Sequence
from types import FrameType

import uvicorn

from agent import cli
from agent.computers import Computers
from agent.engine_room import Readiness
from agent.sandbox.instance import DataFolder
from agent.settings import Settings


class _Server(uvicorn.Server):
    """Ends the pages' event streams first, so that an end need not wait for them."""

    def __init__(self, config: uvicorn.Config, closing: asyncio.Event) -> None:
        super().__init__(config)
        self._closing = closing

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._closing.set()
        super().handle_exit(sig, frame)


def show(readiness: Readiness) -> None:
    """How far the sandboxes are, at the terminal."""
    share = "" if readiness.progress is None else f"{readiness.progress:4.0%} "
    print(f"{readiness.phase}: {share}{readiness.detail}".rstrip(": "), flush=True)


def serve(settings: Settings) -> None:
    """Serve the page until the process is told to end."""
    from sandbox_ui.application import create

    with DataFolder(settings.data) as data:
        app = create(settings, Computers(settings, data, show))
        config = uvicorn.Config(app, settings.host, settings.port, log_level="warning")
        print(f"The studio is at http://{settings.host}:{settings.port}", flush=True)
        _Server(config, app.state.closing).run()


def main(arguments: Sequence[str] | None = None) -> int:
    """The console script; see ``agent.cli`` for the commands and exit codes."""
    return cli.main(arguments, serve)


if __name__ == "__main__":
    sys.exit(main())
