"""A cluster of real nodes, and a provider that is connected to it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from agent.data_folder import DataFolder
from agent.runs.folder import RunFolder
from agent.sandbox.base import Sandbox
from agent.settings import Settings
from tests.contract.sandbox_helpers import acquire_sandbox
from tests.support.cluster.nodes import Nodes, ray_nodes

if TYPE_CHECKING:
    from agent.cluster.sandboxes.provider import ClusterSandboxProvider


@dataclass(frozen=True)
class Placement:
    """A cluster, and a provider that is connected to it."""

    nodes: Nodes
    provider: "ClusterSandboxProvider"

    def create_run(self) -> RunFolder:
        return RunFolder.create(self.provider.data.path, self.provider.create_workspace())

    def acquire(self, run: RunFolder) -> Sandbox:
        return acquire_sandbox(self.provider, run)


@pytest.fixture(scope="module")
def placement(image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Placement]:
    from agent.cluster.sandboxes.provider import ClusterSandboxProvider

    folder = tmp_path_factory.mktemp("cluster")
    with ray_nodes(folder, 2, 4, token=False) as nodes:
        settings = replace(Settings(data=folder / "data"), ray=nodes.address)
        with DataFolder(settings.data) as data:
            provider = ClusterSandboxProvider(settings, data)
            try:
                yield Placement(nodes, provider)
            finally:
                provider.close()


@pytest.fixture
def sandbox(placement: Placement) -> Iterator[Sandbox]:
    sandbox = placement.acquire(placement.create_run())
    yield sandbox
    sandbox.close()
