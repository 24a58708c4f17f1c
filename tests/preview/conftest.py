"""One studio and one browser for the previews' tests."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from agent.settings import Settings
from tests.preview.looking import Looker, looking
from tests.studio import LocalMachine, create, served
from tests.tab import chromium


@pytest.fixture(scope="package")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    data = tmp_path_factory.mktemp("data")
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
