"""Previews in the browser, with checks that hostile files have no effect."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast
from urllib.parse import quote

from playwright.sync_api import Browser, Locator, Request, expect

from sandbox_ui.preview.base import JsonPreview, Preview, PreviewRequest, Renderer
from tests.support import httpx
from tests.support.browser.page_pool import listen, release_page, take_page
from tests.support.tab import WIDE, StudioTab


def preview_data(render: Renderer, path: Path, **options: str) -> dict[str, object]:
    """The JSON data that a renderer returns for a file."""
    with path.open("rb") as file:
        answer: Preview = render(
            cast(BinaryIO, file), PreviewRequest(path.name, path.stat().st_size, options)
        )
    assert isinstance(answer, JsonPreview)
    return answer.data


class FileViewer:
    """A tab that previews the files of a run, and records its requests and errors.

    Attributes:
        run: The id of the run, which is a draft.
        foreign: URLs of requests to other hosts, which should not exist.
    """

    def __init__(self, studio: StudioTab, studio_url: str) -> None:
        self.studio, self.page, self.studio_url = studio, studio.page, studio_url
        self.run = httpx.post(f"{studio_url}/api/runs").json()["run"]
        self.foreign: list[str] = []
        listen(self.page, "request", self._record_request)

    def _record_request(self, request: Request) -> None:
        if not request.url.startswith((self.studio_url, "data:", "blob:")):
            self.foreign.append(request.url)

    def upload(self, name: str, content: bytes) -> None:
        """Upload a file to ``output/``."""
        file_url = f"{self.studio_url}/api/runs/{self.run}/files/output/{quote(name)}"
        httpx.put(file_url, content=content).raise_for_status()

    def replace(self, name: str, content: bytes) -> None:
        """Replace the content of a file in ``output/`` atomically."""
        file_url = f"{self.studio_url}/api/runs/{self.run}/files/output/{quote(name)}"
        etag = httpx.head(file_url).headers["etag"]
        httpx.put(file_url, content=content, headers={"If-Match": etag}).raise_for_status()

    def open(self) -> None:
        self.studio.open(f"{self.studio_url}/?run={self.run}")

    def show(self, name: str) -> Locator:
        """Click on a file of ``output/``; returns the locator of its preview."""
        self.studio.file(name).click()
        expect(self.preview.locator(".header b")).to_have_text(name)
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
    """Open a file viewer; at the end, assert that there were no external requests and no errors.

    Scripts of hostile files would set ``window.hacked``, which must stay unset.
    """
    page = take_page(browser, viewport={"width": WIDE[0], "height": WIDE[1]})
    viewer = FileViewer(StudioTab(page), studio_url)
    try:
        yield viewer
        assert viewer.page.evaluate("window.hacked") is None
        assert viewer.foreign == []
        errors = viewer.studio.errors
        unexpected = [each for each in errors if not any(word in each for word in excused)]
        assert not unexpected, unexpected
    finally:
        release_page(page)
        httpx.delete(f"{studio_url}/api/runs/{viewer.run}").raise_for_status()  # drafts are limited
