"""Start the supervisor: ``SCOPE STATE FOLDER``.

SCOPE decides which processes belong to commands: ``container`` (every visible one) or
``descendants``. STATE is the shell's saved state, FOLDER its initial working directory.
"""

# pathlib would double the start-up time.
# ruff: noqa: PTH103, PTH120

import ctypes
import os
import sys

from .bash import BashProcess, ignore_termination_signals
from .processes import container_processes, descendant_processes, read_process_table, terminate
from .server import Supervisor

_PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    """Serve the host over standard input and output."""
    scope, state, folder = sys.argv[1:4]
    ignore_termination_signals()
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    os.umask(0o022)
    os.makedirs(os.path.dirname(state), mode=0o700, exist_ok=True)
    if scope == "container":
        ours = container_processes()
        for _ in terminate(lambda: ours(read_process_table()), 0.0):
            continue
    else:
        ours = descendant_processes()
    bash = BashProcess(state, folder)
    Supervisor(0, 1, bash, ours, observed=scope == "container").serve()


if __name__ == "__main__":
    main()
