"""Fixtures of the page's tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.support.component.server import run_fixture_server
from tests.support.component.stage import Stage, Stages


@pytest.fixture(scope="session")
def stages(browser: Browser) -> Iterator[Stages]:
    """The worker's pages for component tests."""
    with run_fixture_server() as server:
        stages = Stages(browser, server)
        yield stages
        stages.close()


@pytest.fixture
def stage(stages: Stages, tmp_path: Path) -> Iterator[Stage]:
    """A bare page in which the test mounts components."""
    with stages.open(tmp_path) as stage:
        yield stage
