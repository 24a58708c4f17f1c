"""A sandbox on a node: the contract of every sandbox, over a real cluster."""

import pytest

from tests.contract.sandbox_suite import SandboxSuite

pytest.importorskip("ray", reason="Ray is not installed (make .make/ray)")
pytestmark = [pytest.mark.engine, pytest.mark.nightly]


class TestRemoteSandbox(SandboxSuite):
    """The contract suite for a sandbox on a node."""
