"""Connects to a Ray cluster, if it is installed: for the commands' ``--ray`` and ``STUDIO_RAY``."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from typing import TYPE_CHECKING

from agent.api.placement import Placement
from agent.api.studio import Opener, containers
from agent.data_folder import DataFolder
from agent.errors import UsageError
from agent.installation import pip_install
from agent.provisioning.backend import SetupStatus
from agent.settings import Settings

if TYPE_CHECKING:
    from agent.cluster.sandboxes.provider import ClusterSandboxProvider

_FILE = "requirements-ray.txt"


def placement_on(
    address: str, report: Callable[[str], None], source: Opener = containers
) -> AbstractContextManager[Placement | None]:
    """Return a context with the placement on a cluster; with None if the address is empty."""
    if not address:
        return nullcontext()
    _require_ray("--ray")
    from agent.cluster.cluster import Cluster  # imports Ray

    return Cluster(address, source, report)


def sandboxes_on(
    settings: Settings, data: DataFolder, on_status: Callable[[SetupStatus], None]
) -> "ClusterSandboxProvider":
    """Return the provider of sandboxes on the nodes of the settings' cluster."""
    _require_ray("STUDIO_RAY")
    from agent.cluster.sandboxes.provider import ClusterSandboxProvider  # imports Ray

    return ClusterSandboxProvider(settings, data, on_status)


def opener_on(address: str, source: Opener) -> Opener:
    """Return what creates providers of sandboxes on the nodes of a cluster, or of ``local``."""
    _require_ray("--ray")
    from agent.cluster.sandboxes.provider import ClusterSandboxProvider  # imports Ray

    return lambda settings, data: ClusterSandboxProvider(
        settings, data, source=source, address=address
    )


def _require_ray(needed_by: str) -> None:
    if find_spec("ray") is None:
        raise UsageError(f"{needed_by} needs Ray. Install it: {pip_install(_FILE)}")
