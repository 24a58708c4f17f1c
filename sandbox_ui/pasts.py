"""What is known of the runs' earlier files, held for the runs that were looked at last."""

import threading
from collections import OrderedDict

from agent.folder import RunFolder
from agent.workspace.blobs import BlobStore
from agent.workspace.past import Past

MOST = 8
"""Runs whose manifests are held in memory."""


class Pasts:
    """The pasts of runs, made as they are asked for. Safe to use from many threads.

    Args:
        blobs: Where versions of files are kept.
    """

    def __init__(self, blobs: BlobStore) -> None:
        self._blobs = blobs
        self._known: OrderedDict[str, Past] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, folder: RunFolder) -> Past:
        """The past of a run's files."""
        with self._lock:
            past = self._known.setdefault(folder.id, Past(folder.manifests, self._blobs))
            self._known.move_to_end(folder.id)
            while len(self._known) > MOST:
                self._known.popitem(last=False)
            return past
