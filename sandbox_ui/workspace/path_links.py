"""Detection of words in a run's texts that are names of its files."""

import stat
from collections.abc import Iterator, Sequence

from agent.errors import WorkspaceError
from agent.workspace import paths
from agent.workspace.files import Workspace
from agent.workspace.paths import ROOT, RelPath

MOST = 500
"""Maximum number of words per lookup."""

_HOME = "/workspace/"
_WHERE = ("", "output/", "input/")


def named(workspace: Workspace, words: Sequence[str]) -> dict[str, str]:
    """Return the words that name an existing file, with percent-encoded paths.

    Args:
        workspace: The run's files.
        words: Paths as users and programs write them: relative to the workspace, or starting
            with ``/workspace``. A bare name may also refer to a file in ``output/`` or
            ``input/``. Only the first ``MOST`` words are used.
    """
    found = {}
    with workspace.opened(ROOT) as root:
        for word in words[:MOST]:
            path = next((each for each in _meant(word) if _is_file(root, each)), None)
            if path is not None:
                found[word] = path.to_url()
    return found


def _meant(word: str) -> Iterator[RelPath]:
    below_home = word.startswith(_HOME)
    word = word.removeprefix(_HOME)
    while word.startswith("./"):
        word = word.removeprefix("./")
    for folder in _WHERE if not below_home and "/" not in word else _WHERE[:1]:
        try:
            yield RelPath(folder + word)
        except WorkspaceError:
            return


def _is_file(root: int, path: RelPath) -> bool:
    try:
        return stat.S_ISREG(paths.lstat_below(root, path).st_mode)
    except OSError:
        return False
