"""The studio that all preview tests share."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from agent.settings import Settings
from tests.sandbox_ui.preview.file_viewer import FileViewer, open_file_viewer
from tests.support.local_provider import LocalSandboxProvider
from tests.support.server import create_app, run_server


@pytest.fixture(scope="package")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The studio's data folder."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="package")
def studio_url(data: Path) -> Iterator[str]:
    with run_server(create_app(Settings(data=data), LocalSandboxProvider(data))) as studio_url:
        yield studio_url


@pytest.fixture
def viewer(browser: Browser, studio_url: str) -> Iterator[FileViewer]:
    with open_file_viewer(browser, studio_url) as viewer:
        yield viewer
