"""What the application needs of a provider of sandboxes."""

from collections.abc import Callable
from typing import Protocol

from agent.data_folder import DataFolder
from agent.provisioning.backend import SetupStatus
from agent.runs import recorded_run
from agent.sandbox.docker.inventory import Inventory


class StudioSandboxProvider(recorded_run.SandboxProvider, Protocol):
    """Provider of sandboxes and of the folders for new ones; opened and closed with the app."""

    @property
    def setup_status(self) -> SetupStatus:
        """Return the progress of engine and image."""

    @property
    def capacity(self) -> int | None:
        """How many sandboxes a cluster's nodes have room for; None if there is no cluster."""

    def on_capacity(self, listener: Callable[[int], None]) -> None:
        """Call a function with the capacity now and whenever it changes, if there is a cluster."""

    def open(self) -> None:
        """Prepare engine and image in the background; return at once."""

    def close(self) -> None:
        """Remove the remaining sandboxes."""

    def inventory(self) -> Inventory:
        """Return the engine's sandboxes and images. Raises ``StudioError``."""

    def create_workspace(self) -> str:
        """Create a sandbox's folder with an empty workspace; return the sandbox's id."""

    def empty_workspace(self, sandbox_id: str) -> None:
        """Remove files in a sandbox's workspace that this process's user may not remove."""

    def remove_container(self, sandbox_id: str) -> None:
        """Remove a stopped sandbox, but keep its workspace."""

    def remove_expired(self) -> None:
        """Remove sandboxes stopped longer than the retention period."""

    def remove_leftovers(self, folder: DataFolder) -> None:
        """Remove the sandboxes of a dead process, whose data folder this process has locked."""
