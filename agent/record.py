"""What is kept of a run: its journal, what is folded from it, and the end of every round."""

import logging
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

from agent import journal, summary
from agent.conversation import Conversation
from agent.errors import RunError
from agent.events import Event, RunEnded, Status, ToolEnded, ToolOutput
from agent.fold import RunPicture
from agent.folder import RunFolder
from agent.journal import Journal
from agent.outputs import LongOutputs
from agent.reserve import Reserve
from agent.sandbox import disk
from agent.workspace.files import Workspace

UNRECORDED = (
    "The run's record cannot be written: {why}. Make room on the studio's disk, then send a "
    "message to go on."
)
INTERRUPTED = "The application was ended in the middle of the run. Send a message to go on."
_log = logging.getLogger(__name__)


def close_interrupted(data: Path) -> None:
    """Close, as interrupted, the runs that an earlier process left alive, and sweep after it.

    Args:
        data: The data folder, which this process holds.
    """
    for folder in RunFolder.all(data):
        if disk.attached(folder.sandbox_folder):
            with suppress(OSError):
                Workspace(folder.workspace).staging.tidy()
        try:
            if folder.journal.exists() and not journal.ends_in(folder.journal, RunEnded):
                Record(folder).close()
        except OSError:
            _log.exception("The record of run %s cannot be read", folder.id)


class Record:
    """The record of one run. One thread at a time writes it; any may look at ``picture``.

    Args:
        folder: The run's folder; a journal that is there already is taken up, and a round
            that was alive in it is closed as interrupted.
    """

    def __init__(self, folder: RunFolder) -> None:
        self.journal = Journal(folder.journal)
        self.picture = RunPicture(run=folder.id)
        self.conversation = Conversation()
        self.lock = threading.Lock()
        self._folder = folder
        self._outputs = LongOutputs(folder.outputs)
        self._reserve = Reserve(folder.path / "reserve")
        self._owed: RunEnded | None = None
        self._take_up()

    def make_room(self) -> None:
        """Have the room that a round needs at the least, the end of the last one in its place.

        Raises:
            RunError: there is none.
        """
        try:
            self._reserve.hold()
            self.settle()
        except OSError as error:
            raise RunError(UNRECORDED.format(why=error.strerror or error)) from error

    def kept(
        self, events: Generator[Event, None, None], along: Callable[[Event], Iterator[Event]]
    ) -> Iterator[Event]:
        """Write each event of a round to the journal, then hand it on.

        Args:
            events: The round; one that breaks off is ended as failed.
            along: What is written for an event: itself, and what goes along with it.

        Raises:
            RunError: there is no room for what begins the round; nothing of it is kept.
        """
        try:
            with closing(events):  # a command that goes on is ended first
                for event in events:
                    for each in along(event):
                        yield self._keep(each)
        except OSError as error:
            _log.error("Run %s cannot be recorded: %s", self._folder.id, error)
            why = UNRECORDED.format(why=error.strerror or error)
            if not self.picture.alive:  # no round has begun that could be ended
                raise RunError(why) from error
            yield self._failed(why)
        except Exception as error:  # the boundary: no run ends without a word
            if not self.picture.alive:
                raise
            _log.exception("Run %s failed", self._folder.id)
            yield self._failed(f"The studio itself failed ({error!r}); its log has the details.")
        finally:
            self._reserve.release()

    def ended(self, status: Status, reason: str) -> RunEnded:
        """The end of a round that ends so now, not written yet."""
        return RunEnded(status=status, reason=reason, answer="", totals=self.picture.used)

    @property
    def owing(self) -> bool:
        """Whether the end of a round is still to be kept."""
        return self._owed is not None

    def settle(self) -> None:
        """Keep the end of a round that could not be kept when it came.

        Raises:
            OSError: there is still no room.
        """
        with self.lock:
            if self._owed is not None:
                self.journal.append(self._owed)
                self._owed = None

    def close(self) -> None:
        """Close the journal."""
        self.journal.close()

    def _take_up(self) -> None:
        """Fold what the journal holds already, and close a round that nobody ended."""
        event = None
        for cursor, event in journal.read(self._folder.journal):
            self.picture.apply(event, cursor)
            self.conversation.apply(event)
        if self.picture.alive and event is not None:
            self._keep(replace(self.ended("failed", INTERRUPTED), at=event.at))

    def _failed(self, reason: str) -> Event:
        """The end of a round that broke off, kept as soon as it can be."""
        ended = self.ended("failed", reason)
        self._outputs.end_call()
        try:
            return self._keep(ended)
        except OSError:
            with self.lock:
                self.picture.apply(ended, self.journal.end)
                self._owed = ended
            return ended

    def _keep(self, event: Event) -> Event:
        if isinstance(event, ToolOutput):
            event = self._outputs.shorten(event)
        elif isinstance(event, ToolEnded):
            self._outputs.end_call()
        if isinstance(event, RunEnded):
            self._reserve.release()
        with self.lock:
            cursor = self.journal.append(event)
            self.picture.apply(event, cursor)
        if isinstance(event, RunEnded):
            with suppress(OSError):  # it is made again where it is missing
                summary.keep(self._folder, self.picture)
        return event
