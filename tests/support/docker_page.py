"""The page over real sandboxes, for tests of what a sandbox tells its person."""

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser

from agent.data_folder import DataFolder
from agent.provisioning.provider import Computers
from agent.settings import Settings
from tests.support.server import create, served
from tests.support.tab import WIDE, Studio


@contextmanager
def contained(browser: Browser, settings: Settings) -> Iterator[Studio]:
    """A tab on an application that makes real sandboxes, in the settings' data folder."""
    with (
        DataFolder(settings.data) as data,
        served(create(settings, Computers(settings, data))) as at,
    ):
        context = browser.new_context(viewport={"width": WIDE[0], "height": WIDE[1]})
        studio = Studio(context.new_page())
        studio.open(at)
        yield studio
        context.close()
