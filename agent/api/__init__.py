"""The Python API: runs and sandboxes in a few lines; docs/python-api.md shows its use.

Its names are imported from the top of the package.
"""

from typing import Any


def __getattr__(name: str) -> Any:
    """Return a name that programs written for earlier versions import from here."""
    if name not in ("Studio", "hand_over"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from agent.api.exports import find

    return find(name)
