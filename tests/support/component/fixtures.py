"""Fixtures of the component tests."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser

if TYPE_CHECKING:  # imported when used, which takes a second
    from tests.support.component.routes import LocalStudio
    from tests.support.component.stage import Stage, Stages


@pytest.fixture(scope="session")
def stages(browser: Browser) -> Iterator["Stages"]:
    """The worker's pages for component tests."""
    from tests.support.component.server import run_fixture_server
    from tests.support.component.stage import Stages

    with run_fixture_server() as server:
        stages = Stages(browser, server)
        yield stages
        stages.close()


@pytest.fixture
def stage(stages: "Stages", tmp_path: Path) -> Iterator["Stage"]:
    """A bare page in which the test mounts components."""
    with stages.open(tmp_path) as stage:
        yield stage


@pytest.fixture
def studio(stage: "Stage") -> "LocalStudio":
    """The page on the server's own routes, with a data folder without runs."""
    from tests.support.component.routes import LocalStudio

    return LocalStudio(stage)
