"""One lock for each key."""

import threading
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

_Key = TypeVar("_Key")


class KeyedLocks(Generic[_Key]):
    """Locks by key, each kept only while somebody has it. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._locks: WeakValueDictionary[_Key, threading.Lock] = WeakValueDictionary()

    def of(self, key: _Key) -> threading.Lock:
        """Return the lock of a key."""
        with self._lock:
            lock = self._locks.get(key) or threading.Lock()
            self._locks[key] = lock
            return lock
