"""A preview worker whose children cannot read Python's modules.

So it is when the application runs as root from a folder that only root can read.
"""

import sys
from importlib.machinery import PathFinder

from sandbox_ui.preview import worker
from sandbox_ui.preview.kinds import KINDS


def forbid_imports() -> None:
    """Take the place of the switch of user."""
    sys.meta_path.remove(PathFinder)


if __name__ == "__main__":
    worker.__dict__["switch_to_nobody"] = forbid_imports
    worker.serve(int(sys.argv[1]), {kind: worker.load_renderer(kind) for kind in sorted(KINDS)})
