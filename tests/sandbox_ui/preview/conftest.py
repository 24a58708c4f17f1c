"""Fixtures of the tests of previews."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.sandbox_ui.preview.file_viewer import FileViewer, harmless
from tests.sandbox_ui.preview.served_files import ServedFiles
from tests.support.browser.page_pool import release_page, take_page
from tests.support.component.stage import Stage
from tests.support.tab import WIDE


def pytest_itemcollected(item: pytest.Item) -> None:
    """Leave the viewers of all kinds to the rest of the tests: they take as long as all others."""
    item.add_marker("thorough")


@pytest.fixture
def viewer(stage: Stage) -> Iterator[FileViewer]:
    """A view of files that must have no effect on the page, and reach no other host."""
    with harmless(FileViewer(stage)) as viewer:
        yield viewer


@pytest.fixture
def served_files(browser: Browser, studio_url: str) -> Iterator[ServedFiles]:
    """A tab of a real studio, for what only its server shows."""
    page = take_page(browser, viewport={"width": WIDE[0], "height": WIDE[1]})
    yield ServedFiles(page, studio_url)
    release_page(page)
