"""Which runs of an experiment are carried out next: several at a time, in their order."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress

from agent.errors import StudioError
from agent.experiments.experiment import Member
from agent.experiments.folder import Key
from agent.experiments.scoring import JudgeWatch
from agent.grading.checks import Grade
from agent.models.base import Model
from agent.models.builtin.install import BUILTIN_ID
from agent.models.passport.ensure import ensure_tested
from agent.util.stop import Stop

_POLL_SECONDS = 0.2


class Schedule:
    """Planned runs; iterating yields each when it may be started, until all have ended.

    The built-in model answers one run at a time, and ``most`` returns how many may be in progress.
    After ``stop`` no more are started, and those in progress are stopped. ``problems`` say why
    members were given up, by index, and ``problem`` why all were. Thread-safe.
    """

    def __init__(
        self, members: Sequence[Member], planned: Iterable[Key], most: Callable[[], int], stop: Stop
    ) -> None:
        self.problems: dict[int, str] = {}
        self.problem = ""
        self._members = members
        self._pending = deque(planned)
        self._most = most
        self._stop = stop
        self._active: dict[Key, Callable[[], None] | None] = {}
        self._stopped: set[int] = set()
        self._watch = JudgeWatch()
        self._closed = False
        self._changed = threading.Condition()

    def __iter__(self) -> Iterator[Key]:
        while True:
            if self._stop.is_set:
                self.stop()
            with self._changed:
                if self._closed or not (self._pending or self._active):
                    return
                key = self._startable()
                if key is None:
                    self._changed.wait(_POLL_SECONDS)
                    continue
                self._pending.remove(key)
                self._active[key] = None
            yield key

    def started(self, key: Key, stop: Callable[[], None]) -> None:
        """Note what stops a run in progress; call it if that was stopped meanwhile."""
        with self._changed:
            if key in self._active:
                self._active[key] = stop
        if self.is_stopped(key):
            stop()

    def ended(self, key: Key) -> None:
        """Record that a run ended or could not be started."""
        with self._changed:
            self._active.pop(key, None)
            self._changed.notify_all()

    def is_stopped(self, key: Key) -> bool:
        """Return whether a run is not to be started any more."""
        return self._closed or self._stop.is_set or key[1] in self._stopped

    def give_up(self, reason: str, member: int | None = None) -> list[Key]:
        """Start no more runs of a member, or of all; return those that were planned."""
        with self._changed:
            if member is None:
                self.problem = reason
            else:
                self.problems[member] = reason
            return self._drop(member)

    def abandon(self, reason: str) -> None:
        """Start no more runs at all, and stop those in progress."""
        self.give_up(reason)
        self.stop()

    def graded(self, grade: Grade | None) -> None:
        """Record a grade; abandon all runs if the judge's replies cannot be read."""
        if problem := self._watch.problem(grade):
            self.abandon(problem)

    def test_models(
        self,
        model_of: Callable[[int], Model | None],
        stop: Stop,
        on_test: Callable[[Sequence[int]], None],
    ) -> dict[Key, str]:
        """Test the members' models that were not tested; return why runs are not started.

        ``model_of`` returns None for one that is not tested; ``on_test`` is called in any thread.
        """
        models = models_of(sorted({member for _, member, _ in self._pending}), model_of)
        given_up: dict[Key, str] = {}
        for member, problem in ensure_tested(models, stop, on_test).items():
            given_up |= dict.fromkeys(self.give_up(problem, member), problem)
        return given_up

    def stop(self, member: int | None = None) -> None:
        """Start no more runs of a member, or of all, and stop those in progress."""
        with self._changed:
            self._stopped.update(range(len(self._members)) if member is None else (member,))
            self._drop(member)
            active = [stop for key, stop in self._active.items() if key[1] in self._stopped]
        for stop in filter(None, active):
            stop()

    def close(self) -> None:
        """Start no more runs, and wait for none."""
        with self._changed:
            self._closed = True
            self._drop(None)

    def _startable(self) -> Key | None:
        """Return the first planned run that may be started now."""
        if len(self._active) >= self._most():
            return None
        busy = any(is_builtin(self._members[member]) for _, member, _ in self._active)
        return next(
            (key for key in self._pending if not (busy and is_builtin(self._members[key[1]]))), None
        )

    def _drop(self, member: int | None) -> list[Key]:
        dropped = [key for key in self._pending if member in (None, key[1])]
        self._pending = deque(key for key in self._pending if member not in (None, key[1]))
        self._changed.notify_all()
        return dropped


def models_of(members: Iterable[int], model_of: Callable[[int], Model | None]) -> dict[int, Model]:
    """Return the models to test; one that cannot be found is reported by its member's first run."""
    models: dict[int, Model] = {}
    for member in members:
        with suppress(StudioError):
            if (model := model_of(member)) is not None:
                models[member] = model
    return models


def is_builtin(member: Member) -> bool:
    """Whether the built-in model answers for a member: it runs one at a time."""
    return member.model == BUILTIN_ID
