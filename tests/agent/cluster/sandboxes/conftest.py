"""Fixtures of the tests of sandboxes on nodes: a cluster per module, a sandbox per test."""

from collections.abc import Iterator

import pytest

from agent.sandbox.base import Sandbox
from tests.support.cluster.placement import Placement, open_placement


@pytest.fixture(scope="module")
def placement(image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Placement]:
    with open_placement(tmp_path_factory.mktemp("cluster")) as placement:
        yield placement


@pytest.fixture
def sandbox(placement: Placement) -> Iterator[Sandbox]:
    sandbox = placement.acquire(placement.create_run())
    yield sandbox
    sandbox.close()
