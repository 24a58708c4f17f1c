"""One studio and one browser for the previews' tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from agent.settings import Settings
from tests.preview.looking import Looker, looking
from tests.studio import LocalMachine, create, served
from tests.tab import chromium


@pytest.fixture(scope="package")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The studio's data folder."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="package")
def address(data: Path) -> Iterator[str]:
    with served(create(Settings(data=data), LocalMachine(data))) as address:
        yield address


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def looker(browser: Browser, address: str) -> Iterator[Looker]:
    with looking(browser, address) as looker:
        yield looker
