"""Work that takes long: a few at once, and whoever waits takes no thread from others."""

from collections.abc import Callable
from typing import TypeVar
from weakref import WeakValueDictionary

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

Done = TypeVar("Done")


class Turns:
    """Lets a few works be done at once, fewer of them one person's, so that no crowd is in the way.

    Args:
        at_once: Works at once in all.
        each: Those of one person.
    """

    def __init__(self, at_once: int, each: int) -> None:
        self._all = CapacityLimiter(at_once)
        self._each = each
        self._people: WeakValueDictionary[str, CapacityLimiter] = WeakValueDictionary()

    async def take(self, who: str, work: Callable[[], Done]) -> Done:
        """Do the work in a thread, when it is its turn.

        Args:
            who: Whose it is.
            work: What takes long.
        """
        own = self._people.setdefault(who, CapacityLimiter(self._each))
        async with own:
            return await run_sync(work, limiter=self._all)
