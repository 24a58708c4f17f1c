"""Cache of the runs' file versions, for the most recently viewed runs."""

import threading
from collections import OrderedDict

from agent.runs.folder import RunFolder
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.past_files import FileVersions

MAX_RUNS = 8
"""Maximum number of runs whose manifests are held in memory."""


class VersionCache:
    """File versions of runs, loaded on demand. Thread-safe.

    Args:
        blobs: The store of file versions.
    """

    def __init__(self, blobs: BlobStore) -> None:
        self._blobs = blobs
        self._cache: OrderedDict[str, FileVersions] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, folder: RunFolder) -> FileVersions:
        """Return the file versions of a run."""
        with self._lock:
            versions = self._cache.setdefault(
                folder.id, FileVersions(folder.manifests, self._blobs)
            )
            self._cache.move_to_end(folder.id)
            while len(self._cache) > MAX_RUNS:
                self._cache.popitem(last=False)
            return versions
