"""A cluster of real nodes, and a provider of sandboxes that is connected to it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent.data_folder import DataFolder
from agent.runs.folder import RunFolder
from agent.sandbox.base import Sandbox
from agent.sandbox.network.policy import NetworkPolicy
from agent.settings import Settings
from tests.contract.sandbox_helpers import acquire_sandbox
from tests.support.cluster import nodes as cluster

if TYPE_CHECKING:
    from agent.cluster.sandboxes.provider import ClusterSandboxProvider


@dataclass(frozen=True)
class Placement:
    """The nodes, and the provider that is connected to them."""

    nodes: cluster.Nodes
    provider: "ClusterSandboxProvider"

    def create_run(self) -> RunFolder:
        """Create a run without network access, since creating a network takes a second."""
        run = RunFolder.create(self.provider.data.path, self.provider.create_workspace())
        run.set_network(NetworkPolicy("none"))
        return run

    def kill_node(self, name: str) -> None:
        """End all processes of a node, by the name that the page shows."""
        (actor,) = [each.id for each in self.provider.nodes if each.name == name]
        self.nodes.kill(self.nodes.ids.index(actor))

    def acquire(self, run: RunFolder) -> Sandbox:
        return acquire_sandbox(self.provider, run)


@contextmanager
def open_placement(folder: Path) -> Iterator[Placement]:
    """Start two nodes and connect a provider, whose data are in ``folder / "data"``."""
    from agent.cluster.sandboxes.provider import ClusterSandboxProvider

    with cluster.ray_nodes(folder, 2, 4, token=False) as nodes:
        settings = Settings(data=folder / "data", ray=nodes.address)
        with DataFolder(settings.data) as data:
            provider = ClusterSandboxProvider(settings, data)
            try:
                yield Placement(nodes, provider)
            finally:
                provider.close()
