"""Files of a run looked at in the real browser, and what a hostile one may not do there."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast
from urllib.parse import quote

import httpx
from playwright.sync_api import Browser, Locator, Request, expect

from sandbox_ui.preview.base import JsonPreview, Preview, PreviewRequest, Renderer
from tests.support.tab import WIDE, StudioTab


def data_of(show: Renderer, path: Path, **options: str) -> dict[str, object]:
    """What a kind's ``view`` says of a file, asked directly."""
    with path.open("rb") as file:
        answer: Preview = show(
            cast(BinaryIO, file), PreviewRequest(path.name, path.stat().st_size, options)
        )
    assert isinstance(answer, JsonPreview)
    return answer.data


class FileViewer:
    """A tab with a run's files in it, and what its requests and its console said.

    Attributes:
        run: The run; a draft that files can be given to at any time.
        foreign: Requests that left for another host: there should be none.
    """

    def __init__(self, studio: StudioTab, studio_url: str) -> None:
        self.studio, self.page, self.studio_url = studio, studio.page, studio_url
        self.run = httpx.post(f"{studio_url}/api/runs").json()["run"]
        self.foreign: list[str] = []
        self.page.on("request", self._asked)

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((self.studio_url, "data:", "blob:")):
            self.foreign.append(request.url)

    def upload(self, name: str, content: bytes) -> None:
        """Put a file into ``output/``, as a person would."""
        file_url = f"{self.studio_url}/api/runs/{self.run}/files/output/{quote(name)}"
        httpx.put(file_url, content=content).raise_for_status()

    def replace(self, name: str, content: bytes) -> None:
        """Let a file of ``output/`` have another content, in one go."""
        file_url = f"{self.studio_url}/api/runs/{self.run}/files/output/{quote(name)}"
        etag = httpx.head(file_url).headers["etag"]
        httpx.put(file_url, content=content, headers={"If-Match": etag}).raise_for_status()

    def open(self) -> None:
        self.studio.open(f"{self.studio_url}/?run={self.run}")

    def show(self, name: str) -> Locator:
        """Click on a file of ``output/``; returns the place where it is shown."""
        self.studio.file(name).click()
        expect(self.preview.locator(".hd b")).to_have_text(name)
        return self.canvas

    @property
    def preview(self) -> Locator:
        return self.studio.workspace.locator(".preview")

    @property
    def canvas(self) -> Locator:
        return self.preview.locator(".canvas")


@contextmanager
def open_file_viewer(
    browser: Browser, studio_url: str, *, excused: tuple[str, ...] = ()
) -> Iterator[FileViewer]:
    """Open a file viewer; at its end, assert that nothing left the studio, failed, or ran.

    A hostile file marks its success by ``window.hacked`` of whatever page it reaches.
    """
    context = browser.new_context(viewport={"width": WIDE[0], "height": WIDE[1]})
    viewer = FileViewer(StudioTab(context.new_page()), studio_url)
    try:
        yield viewer
        assert viewer.page.evaluate("window.hacked") is None
        assert viewer.foreign == []
        complaints = viewer.studio.errors
        meant = [each for each in complaints if not any(word in each for word in excused)]
        assert not meant, meant
    finally:
        context.close()
        httpx.delete(f"{studio_url}/api/runs/{viewer.run}").raise_for_status()  # drafts are limited
