"""The option ``--ray``: where the commands ``eval`` and ``rollout`` carry out their runs."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec

from agent.api.placement import Placement
from agent.api.studio import Opener, containers
from agent.errors import UsageError
from agent.installation import pip_install

_FILE = "requirements-ray.txt"


def placement_on(
    address: str, report: Callable[[str], None], source: Opener = containers
) -> AbstractContextManager[Placement | None]:
    """Return a context with the placement on a cluster; with None if no address is given.

    Args:
        address: The cluster's address, ``local``, or empty.
        report: Called with sentences for people about the nodes, from any thread.
        source: Creates the provider of sandboxes on a node.

    Raises:
        UsageError: Ray is not installed.
    """
    if not address:
        return nullcontext()
    if find_spec("ray") is None:
        raise UsageError(f"--ray needs Ray. Install it: {pip_install(_FILE)}")
    from agent.cluster.cluster import Cluster  # imports Ray

    return Cluster(address, source, report)
