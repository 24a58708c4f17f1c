"""A queue from many writers to one reader that merges items in quick succession.

A model's tokens and a shell's output arrive in far more fragments than a reader needs.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")

_MOST = 256


class Channel(Generic[Item]):
    """A closable queue; iterating it takes items until it is closed.

    After a mergeable item the reader waits up to ``window`` seconds for more of its kind. An
    item of another kind, or the end, makes it yield the merged items immediately.

    Args:
        same: Returns whether the second item may be merged into the first.
        join: Merges a list of at least two such items into one.
        window: Seconds; 0 merges only items already queued.
    """

    def __init__(
        self,
        same: Callable[[Item, Item], bool],
        join: Callable[[list[Item]], Item],
        window: float = 0.025,
    ) -> None:
        self._same = same
        self._join = join
        self._window = window
        self._items: deque[Item] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._error: BaseException | None = None

    def __len__(self) -> int:
        """Return the number of queued items, so that writers can wait for a slow reader."""
        return len(self._items)

    def put(self, item: Item) -> None:
        """Add an item, from any thread; it is dropped if the channel is closed."""
        with self._changed:
            if not self._closed:
                self._items.append(item)
                self._changed.notify()

    def close(self, error: BaseException | None = None) -> None:
        """End the iteration once all items are taken, by raising ``error`` if given."""
        with self._changed:
            if not self._closed:
                self._closed, self._error = True, error
                self._changed.notify()

    def abandon(self) -> None:
        """End the iteration now; drop the queued items and any error."""
        with self._changed:
            self._closed, self._error = True, None
            self._items.clear()
            self._changed.notify()

    def __iter__(self) -> Iterator[Item]:
        while group := self._take():
            yield group[0] if len(group) == 1 else self._join(group)
        if self._error is not None:
            raise self._error

    def _take(self) -> list[Item]:
        """Return the next item and those to merge with it; an empty list at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._items or self._closed)
            group = [self._items.popleft()] if self._items else []
            until = time.monotonic() + self._window
            while group and len(group) < _MOST and self._follows(group[-1], until):
                group.append(self._items.popleft())
            return group

    def _follows(self, last: Item, until: float) -> bool:
        """Wait until ``until`` for an item; return whether it merges with ``last``."""
        if not self._same(last, last):
            return False
        left = max(0.0, until - time.monotonic())
        self._changed.wait_for(lambda: self._items or self._closed, left)
        return bool(self._items) and self._same(last, self._items[0])
