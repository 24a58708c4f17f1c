"""Files of a run that a studio serves, in a tab."""

from urllib.parse import quote

from playwright.sync_api import Browser, FrameLocator, Locator, Page

from tests.support import httpx
from tests.support.tab import StudioTab


class ServedFiles:
    """A tab that shows the files of a run, by default of a new one."""

    def __init__(self, page: Page, studio_url: str, run: str = "") -> None:
        self.page, self.studio, self.studio_url = page, StudioTab(page), studio_url
        self.run = run or httpx.post(f"{studio_url}/api/runs").json()["run"]

    def upload(self, path: str, content: str | bytes) -> None:
        """Put a file into the workspace."""
        body = content.encode() if isinstance(content, str) else content
        url = f"{self.studio_url}/api/runs/{self.run}/files/{quote(path)}"
        httpx.put(url, content=body).raise_for_status()

    def show(self, name: str) -> Locator:
        """Open the page with the run and click on a file; returns the locator of its preview."""
        self.studio.open(f"{self.studio_url}/?run={self.run}")
        self.studio.file(name).click()
        return self.page.locator(".preview .canvas")

    def in_browser(self, browser: Browser) -> "ServedFiles":
        """Return a new tab, of any browser, for the same run."""
        return ServedFiles(browser.new_page(), self.studio_url, self.run)

    @property
    def frame(self) -> FrameLocator:
        return self.page.frame_locator(".preview iframe:not(.loading)")
