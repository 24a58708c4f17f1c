"""Cache of the runs' file versions, for the most recently viewed runs."""

import threading
from collections import OrderedDict

from agent.runs.folder import RunFolder
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.past_files import Past

MOST = 8
"""Maximum number of runs whose manifests are held in memory."""


class Pasts:
    """File versions of runs, loaded on demand. Thread-safe.

    Args:
        blobs: The store of file versions.
    """

    def __init__(self, blobs: BlobStore) -> None:
        self._blobs = blobs
        self._known: OrderedDict[str, Past] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, folder: RunFolder) -> Past:
        """Return the file versions of a run."""
        with self._lock:
            past = self._known.setdefault(folder.id, Past(folder.manifests, self._blobs))
            self._known.move_to_end(folder.id)
            while len(self._known) > MOST:
                self._known.popitem(last=False)
            return past
