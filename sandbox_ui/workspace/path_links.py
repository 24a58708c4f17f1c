"""Detection of words in a run's texts that are names of its files."""

import stat
from collections.abc import Iterator, Sequence

from agent.errors import WorkspaceError
from agent.workspace import paths
from agent.workspace.files import Workspace
from agent.workspace.paths import ROOT, RelPath

MAX_WORDS = 500
"""Maximum number of words per lookup."""

_WORKSPACE_PREFIX = "/workspace/"
_SEARCH_FOLDERS = ("", "output/", "input/")


def find_linked_files(workspace: Workspace, words: Sequence[str]) -> dict[str, str]:
    """Return the words that name an existing file, with percent-encoded paths."""
    links = {}
    with workspace.open_root(ROOT) as root:
        for word in words[:MAX_WORDS]:
            path = next((each for each in _candidate_paths(word) if _is_file(root, each)), None)
            if path is not None:
                links[word] = path.to_url()
    return links


def _candidate_paths(word: str) -> Iterator[RelPath]:
    absolute = word.startswith(_WORKSPACE_PREFIX)
    word = word.removeprefix(_WORKSPACE_PREFIX)
    while word.startswith("./"):
        word = word.removeprefix("./")
    for folder in _SEARCH_FOLDERS if not absolute and "/" not in word else _SEARCH_FOLDERS[:1]:
        try:
            yield RelPath(folder + word)
        except WorkspaceError:
            return


def _is_file(root: int, path: RelPath) -> bool:
    try:
        return stat.S_ISREG(paths.lstat_below(root, path).st_mode)
    except OSError:
        return False
