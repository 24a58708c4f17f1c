"""Who is told when a group of runs changes: a comparison or an evaluation."""

import threading
from collections.abc import Callable

Listener = Callable[[], None]


class Followers:
    """The listeners of groups. Thread-safe."""

    def __init__(self) -> None:
        self._listeners: dict[str, list[Listener]] = {}
        self._lock = threading.Lock()

    @property
    def groups(self) -> list[str]:
        """The ids of the groups that have a listener."""
        with self._lock:
            return list(self._listeners)

    def follow(self, group: str, listener: Listener) -> Listener:
        """Call a function, from any thread, whenever a group changes; return what ends that."""
        with self._lock:
            self._listeners.setdefault(group, []).append(listener)

        def unfollow() -> None:
            with self._lock:
                listeners = self._listeners.get(group, [])
                if listener in listeners:
                    listeners.remove(listener)
                if not listeners:
                    self._listeners.pop(group, None)

        return unfollow

    def notify(self, group: str) -> None:
        """Call the listeners of a group."""
        with self._lock:
            listeners = list(self._listeners.get(group, ()))
        for listener in listeners:
            listener()
