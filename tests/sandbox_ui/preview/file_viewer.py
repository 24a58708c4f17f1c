"""Previews in the page's workspace, with checks that hostile files have no effect."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from playwright.sync_api import FrameLocator, Locator, Request, expect

from sandbox_ui.preview.service import PreviewService
from tests.support.component.routes import LocalRoutes
from tests.support.component.stage import Stage


class FileViewer:
    """The workspace's view of a run's files, which the server's own routes list and preview.

    Attributes:
        folder: The run's ``output/``.
        foreign: URLs of requests to other hosts, which should not exist.
    """

    def __init__(self, stage: Stage, previews: PreviewService | None = None) -> None:
        self.stage, self.page = stage, stage.page
        self.folder = stage.run.folder.workspace / "output"
        self.foreign: list[str] = []
        stage.use_routes(LocalRoutes(stage.data, previews))

    def write(self, name: str, content: str | bytes) -> None:
        """Write a file atomically, as a program of the model would; the page learns of it."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        new = self.stage.data / "new"
        new.write_bytes(content.encode() if isinstance(content, str) else content)
        new.rename(path)
        self.stage.run.change_files()

    def read(self, name: str) -> bytes:
        """Return the bytes of a file."""
        return (self.folder / name).read_bytes()

    def open(self) -> None:
        """Mount the workspace."""
        self.stage.mount("timeline", "attachments", "workspace", run=())

    def remove(self, library: str) -> None:
        """Answer requests for a library of the page as if it were not installed."""
        self.stage.expected_errors.append(library)
        self.page.route(f"**/ui/vendor/{library}*", lambda route: route.fulfill(status=404))

    def show(self, name: str) -> Locator:
        """Click on a file; returns the locator of its preview."""
        self.stage.file(name).click()
        expect(self.preview.locator(".header b")).to_have_text(name)
        return self.canvas

    def view(self, name: str, content: str | bytes) -> Locator:
        """Write a file, mount the workspace and show the file."""
        self.write(name, content)
        self.open()
        return self.show(name)

    @property
    def preview(self) -> Locator:
        return self.stage.workspace.locator(".preview")

    @property
    def canvas(self) -> Locator:
        return self.preview.locator(".canvas")

    @property
    def frame(self) -> FrameLocator:
        """The framed page."""
        return self.preview.frame_locator("iframe:not(.loading)")

    @property
    def details(self) -> Locator:
        """What the preview says next to the file's name."""
        return self.preview.locator(".header small").first

    def button(self, name: str) -> Locator:
        """A button of the preview."""
        return self.preview.get_by_role("button", name=name, exact=True)


@contextmanager
def harmless(viewer: FileViewer) -> Iterator[FileViewer]:
    """Assert at the end that the page asked no other host for anything that was not blocked.

    Scripts of hostile files would set ``window.hacked``, which must stay unset.
    """
    ours = (viewer.stage.url.rsplit("/", 2)[0], "data:", "blob:")

    def note(request: Request) -> None:
        if not request.url.startswith(ours):
            viewer.foreign.append(request.url)

    def ignore_blocked(request: Request) -> None:
        if request.failure == "csp" and request.url in viewer.foreign:
            viewer.foreign.remove(request.url)

    viewer.page.on("request", note)
    viewer.page.on("requestfailed", ignore_blocked)
    yield viewer
    viewer.page.remove_listener("request", note)
    viewer.page.remove_listener("requestfailed", ignore_blocked)
    assert viewer.page.evaluate("window.hacked") is None
    assert viewer.foreign == []


def received_bytes(listener: socket.socket) -> bytes:
    """The bytes that a server received; connections opened ahead of time send none."""
    listener.setblocking(False)
    received = b""
    with suppress(BlockingIOError):
        while True:
            connection, _ = listener.accept()
            with connection, suppress(BlockingIOError):
                connection.setblocking(False)
                received += connection.recv(1000)
    return received
