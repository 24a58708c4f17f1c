"""Cache of the runs' file versions, for the most recently viewed runs."""

import threading
from collections import OrderedDict
from pathlib import Path

from agent.runs.folder import RunFolder
from agent.workspace.versions.blobs import BlobStore, StoredContents
from agent.workspace.versions.past_files import FileVersions

MAX_RUNS = 8
"""Maximum number of runs whose manifests are held in memory."""


class VersionCache:
    """File versions of runs, loaded on demand. Thread-safe."""

    def __init__(self, data: Path, blobs: BlobStore) -> None:
        self._data = data
        self._blobs = blobs
        self._cache: OrderedDict[Path, FileVersions] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, folder: RunFolder) -> FileVersions:
        """Return the file versions of a run."""
        with self._lock:
            own = folder.data == self._data
            blobs = self._blobs if own else StoredContents(folder.data / "blobs")
            versions = self._cache.setdefault(folder.path, FileVersions(folder.manifests, blobs))
            self._cache.move_to_end(folder.path)
            while len(self._cache) > MAX_RUNS:
                self._cache.popitem(last=False)
            return versions
