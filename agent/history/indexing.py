"""Keep the history's database up to date with a data folder's runs, the newest first."""

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from agent.errors import StudioError
from agent.history import records
from agent.history.database import Database, HistoryUnavailable
from agent.history.records import Record
from agent.runs.folder import RunFolder
from agent.util import clock

_WORK_SECONDS = 0.5
_LOCK_SECONDS = 2.0
_SLICE_SECONDS = 0.25
_IDLE_SECONDS = 60.0
_DEFERRED_SECONDS = 0.5
_LISTING_SHARE = 0.02  # of the time, unless the list is asked for
_JOIN_TIMEOUT_SECONDS = 10.0
_MAX_UNSAVED = 1_000
_LOOK_SECONDS = 60.0  # then the folder is listed even if only this process seems to have changed it
_MAX_TIMES = 100_000
_log = logging.getLogger(__name__)


class OwnChanges:
    """Knows by the time of the folder of runs whether others changed it. Thread-safe."""

    def __init__(self, data: Path) -> None:
        self._folder = data / "runs"
        self._lock = threading.Lock()
        self._times = set[int]()  # between which only this process changed it

    def time(self) -> int:
        """Return the time of the folder's last change, in ns; 0 if it does not exist."""
        try:
            return self._folder.stat().st_mtime_ns
        except FileNotFoundError:
            return 0

    @contextmanager
    def made(self) -> Iterator[None]:
        """Add or remove runs in the block, which others wait for; report them elsewhere."""
        with self._lock:
            before = self.time()
            if before not in self._times or len(self._times) > _MAX_TIMES:
                self._times = {before}
            try:
                yield
            finally:
                self._times.add(self.time())

    def explain(self, earlier: int, later: int) -> bool:
        """Return whether only this process changed the folder between two of its times."""
        with self._lock:
            return {earlier, later} <= self._times


class Listing:
    """Knows whether the folder of runs must be listed again; for one reader."""

    def __init__(self, own: OwnChanges) -> None:
        self._own = own
        self._listed = 0  # time of the folder when it was listed
        self._seen = 0  # the same, also if a change at that time may have been missed
        self._due = 0.0  # monotonic time

    def is_current(self, changed: int) -> bool:
        """Return whether all changes to the folder up to this modification time were reported."""
        if changed == self._listed:
            return True
        return time.monotonic() < self._due and self._own.explain(self._seen, changed)

    def done(self, changed: int) -> None:
        """Note that the folder was listed when this was its time."""
        self._listed, self._seen = changed if clock.is_settled(changed) else 0, changed
        self._due = time.monotonic() + _LOOK_SECONDS

    def forget(self) -> None:
        """Let the folder be listed again in any case."""
        self._listed, self._due = 0, 0.0


class Indexer:
    """Reads runs into the database, active ones at their ends. Thread-safe.

    ``own`` are the changes that this process makes and reports; ``end_round`` ends the round of a
    run that was indexed as running and is not active.
    """

    def __init__(
        self,
        data: Path,
        active: Callable[[], Collection[str]],
        own: OwnChanges | None = None,
        end_round: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._own = own or OwnChanges(data)
        self._listing = Listing(self._own)
        self.database = Database(data / "history.sqlite", self._start_over)
        self._data = data
        self._runs = data / "runs"
        self._active = active
        self._end_round = end_round
        self._running = list[str]()  # indexed as running
        self._deferred: frozenset[str] = frozenset()
        self._changed: set[str] = set()
        self._new: list[str] = []  # newest last
        self._drafts: set[str] = set()
        self._storing: list[str] = []  # changed runs of the transaction in progress
        self._unsaved: dict[str, Record] = {}
        self._complete = False  # whether all runs have been compared
        self._next_listing = 0.0  # monotonic time
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._work, name="history", daemon=True)

    @property
    def backlog(self) -> int:
        """The number of runs that are known and not yet indexed."""
        return len(self._new) + len(self._changed - self._deferred)

    def unsaved(self) -> list[Record]:
        """Return runs that could not be stored yet, for example because the disk was full."""
        return list(self._unsaved.values())

    def pending(self) -> set[str]:
        """Return the runs that may not be in the database as they are."""
        active = set(self._active())
        with self.database.lock:  # no run is being stored
            if not self._complete:
                return set(RunFolder.ids(self._data))
            return active.union(self._changed, self._new, self._drafts, self._unsaved)

    def changed(self, *runs: str) -> None:
        """Report that runs may have changed, begun or been deleted; return at once."""
        with self._lock:
            self._changed.update(runs)
        self._wake.set()

    def update(
        self, seconds: float = _WORK_SECONDS, runs: int = 1, *, at_once: bool = True
    ) -> bool:
        """Index changes for about ``seconds``, at least ``runs``; False if it cannot write now.

        Unless ``at_once``, runs that nobody reported may be found later.
        """
        active = frozenset(self._active())  # before the lock: it takes locks of its own
        if not self.database.lock.acquire(timeout=_LOCK_SECONDS):
            with self._lock:
                self._changed.update(self._storing)
                waiting = self._changed - active
            self._read_unsaved(waiting)  # another thread is indexing, on a slow disk
            return True
        try:
            self._deferred = active
            self._look_for_runs(at_once)
            self._index(seconds, runs)
        except HistoryUnavailable as error:
            _log.warning("%s", error)
            return False
        finally:
            self.database.lock.release()
        self._end_rounds()
        return True

    def open(self) -> None:
        """Index in the background, beside other work."""
        self._thread.start()

    def close(self) -> None:
        """End the work in the background, and close the database."""
        self._closing.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(_JOIN_TIMEOUT_SECONDS)
        self.database.close()

    def _work(self) -> None:
        while not self._closing.is_set():
            self._wake.clear()
            began = time.monotonic()
            more = False
            if self.update(_SLICE_SECONDS, at_once=False):
                with suppress(HistoryUnavailable):
                    more = self.database.erase_deleted() or bool(self.backlog)
            if more:
                self._closing.wait(time.monotonic() - began)  # leave time for other threads
            else:
                self._wake.wait(_DEFERRED_SECONDS if self._changed else _IDLE_SECONDS)

    def _end_rounds(self) -> None:
        """End the rounds that another process has left open."""
        running, self._running = self._running, []
        for run in running:
            try:
                self._end_round(run)
            except (StudioError, OSError):
                _log.exception("The round of run %s cannot be ended", run)
            else:
                self.changed(run)

    def _start_over(self) -> None:
        with self._lock:
            self._complete, self._next_listing = False, 0.0
            self._listing.forget()

    def _look_for_runs(self, at_once: bool) -> None:
        """Find the runs that were added or deleted; at first, those that changed, too."""
        changed = self._own.time()
        if not changed:
            return
        begun = {run for run in self._drafts if (self._runs / run / "journal.jsonl").exists()}
        self._drafts -= begun
        self._changed |= begun | set(self.database.read(self._unsettled))
        began = time.monotonic()
        if self._listing.is_current(changed) or not (at_once or began >= self._next_listing):
            return
        complete = self._complete
        known = self.database.read(_stamps if not complete else _ids)
        self._complete, self._drafts, found = True, set(), list[tuple[int, str]]()
        for run in RunFolder.ids(self._data):
            stored = known.pop(run, None)
            if complete and stored is not None:
                continue
            stamp = records.stamp(f"{self._runs}/{run}")  # pathlib would take a third of the time
            if stamp is None:
                self._drafts.add(run)
            elif stamp != stored:
                found.append((int(stamp[0].split()[1]), run))
        self._new = [run for _, run in sorted(found)]
        self._changed |= known.keys()
        self._listing.done(changed)
        now = time.monotonic()
        self._next_listing = now + (now - began) / _LISTING_SHARE

    def _unsettled(self, database: sqlite3.Connection) -> list[str]:
        """Return the runs that were indexed as running or unreadable and have changed since."""
        rows = database.execute(
            "SELECT run, journal_stamp, record_stamp FROM runs WHERE running OR problem != ''"
        )
        return [run for run, *stored in rows if records.stamp(self._runs / run) != (*stored,)]

    def _index(self, seconds: float, runs: int) -> None:
        end, erased, done = time.monotonic() + seconds, False, 0
        while self.backlog:
            taken, self._storing = list[str](), []
            try:
                with self.database.transaction() as writer:
                    while run := self._take():
                        taken.append(run)
                        erased |= self._index_run(writer, run)
                        done += 1
                        if done >= runs and time.monotonic() > end:
                            break
            except HistoryUnavailable:
                self._keep_unsaved(taken)
                raise
            finally:
                self._storing = []
            for each in taken:
                self._unsaved.pop(each, None)
            if done >= runs and time.monotonic() > end:
                break
        if erased:
            self.database.truncate_log()

    def _take(self) -> str:
        with self._lock:
            ready = self._changed - self._deferred
            if ready:
                self._changed.discard(run := ready.pop())
                self._storing.append(run)
                return run
            return self._new.pop() if self._new else ""

    def _index_run(self, writer: sqlite3.Connection, run: str) -> bool:
        """Store a run or delete it; return whether text was deleted."""
        known = records.load(writer, run)
        record = records.read(self._data, run, known)
        if record is not None:
            if known is None or record.stamp != known.stamp:
                records.store(writer, record)
                if record.summary and record.summary.running:
                    self._running.append(run)
            return False
        if known is not None:
            records.delete(writer, run)
            self.database.erase_later(writer)
        if (self._runs / run).is_dir():
            self._drafts.add(run)
        return known is not None

    def _keep_unsaved(self, runs: list[str]) -> None:
        """Keep the entries of some runs in memory, and try again with the next change."""
        self._read_unsaved(runs)
        self._new += runs

    def _read_unsaved(self, runs: Collection[str]) -> None:
        for run in list(runs)[: _MAX_UNSAVED - len(self._unsaved)]:
            record = records.read(self._data, run, None)
            if record is not None:
                self._unsaved[run] = Record(run, record.stamp, record.folder, record.summary)


def _ids(database: sqlite3.Connection) -> dict[str, records.Stamp]:
    return {run: ("", "") for (run,) in database.execute("SELECT run FROM runs")}


def _stamps(database: sqlite3.Connection) -> dict[str, records.Stamp]:
    rows = database.execute("SELECT run, journal_stamp, record_stamp FROM runs")
    return {run: (journal, record) for run, journal, record in rows}
