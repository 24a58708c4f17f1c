"""The page with Docker sandboxes, for tests of what the page shows about a sandbox."""

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser

from agent.data_folder import DataFolder
from agent.provisioning.provider import DockerSandboxProvider
from agent.settings import Settings
from tests.support.browser.page_pool import release_page, take_page
from tests.support.server import create_app, run_server
from tests.support.tab import WIDE, StudioTab


@contextmanager
def open_docker_studio(browser: Browser, settings: Settings) -> Iterator[StudioTab]:
    """Open a tab on an application with Docker sandboxes, in the settings' data folder."""
    with (
        DataFolder(settings.data) as data,
        run_server(create_app(settings, DockerSandboxProvider(settings, data))) as at,
    ):
        studio = StudioTab(take_page(browser, viewport={"width": WIDE[0], "height": WIDE[1]}))
        studio.open(at)
        yield studio
        release_page(studio.page)
