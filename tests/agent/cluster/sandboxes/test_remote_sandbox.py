"""A sandbox on a node: the contract of every sandbox, over a real cluster."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from agent.sandbox.base import Sandbox
from tests.contract.sandbox_suite import SandboxSuite
from tests.contract.shared_sandbox import SharedSandbox
from tests.support.cluster.placement import Placement

pytest.importorskip("ray", reason="Ray is not installed (make .make/ray)")
pytestmark = [pytest.mark.engine, pytest.mark.nightly]


@pytest.fixture(scope="module")
def shared(placement: Placement) -> Iterator[SharedSandbox]:
    with closing(SharedSandbox(lambda: placement.acquire(placement.create_run()))) as shared:
        yield shared


@pytest.fixture
def sandbox(shared: SharedSandbox) -> Sandbox:
    return shared.fresh()


class TestRemoteSandbox(SandboxSuite):
    """The contract suite for a sandbox on a node."""
