"""A studio with process sandboxes for replays."""

from tests.agent.api.conftest import settings, studio

__all__ = ["settings", "studio"]
