"""A queue from many writers to one reader that merges items in quick succession."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")

_MAX_MERGED_ITEMS = 256


class Channel(Generic[Item]):
    """A closable queue; iterating it takes items until it is closed.

    After a mergeable item the reader waits up to ``window`` seconds for more of its kind; another
    kind, or the end, makes it yield at once. With 0, only queued items are merged.
    """

    def __init__(
        self,
        can_merge: Callable[[Item, Item], bool],
        merge: Callable[[list[Item]], Item],
        window: float = 0.025,
    ) -> None:
        self._can_merge = can_merge
        self._merge = merge
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
            yield group[0] if len(group) == 1 else self._merge(group)
        if self._error is not None:
            raise self._error

    def _take(self) -> list[Item]:
        """Return the next item and those to merge with it; an empty list at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._items or self._closed)
            group = [self._items.popleft()] if self._items else []
            until = time.monotonic() + self._window
            while (
                group
                and len(group) < _MAX_MERGED_ITEMS
                and self._next_is_mergeable(group[-1], until)
            ):
                group.append(self._items.popleft())
            return group

    def _next_is_mergeable(self, last: Item, until: float) -> bool:
        """Wait until ``until`` for an item; return whether it merges with ``last``."""
        if not self._can_merge(last, last):
            return False
        left = max(0.0, until - time.monotonic())
        self._changed.wait_for(lambda: self._items or self._closed, left)
        return bool(self._items) and self._can_merge(last, self._items[0])
