"""The record of a run: its journal, and the state reduced from it."""

import errno
import logging
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

from agent.errors import RunError
from agent.events import Event, RunEnded, Status, ToolEnded, ToolOutput
from agent.loop.conversation import Conversation
from agent.runs import journal, summary
from agent.runs.folder import RunFolder
from agent.runs.journal import Journal
from agent.runs.long_outputs import LongOutputs
from agent.runs.state import RunPicture
from agent.sandbox.disk import volume
from agent.workspace.files import Workspace

UNRECORDED = (
    "The run's record cannot be written: {why}. Make room on the studio's disk, then send a "
    "message to go on."
)
BROKEN_OFF = "The run was broken off before it came to its end. Send a message to go on."
SYSTEM_ERROR = "The studio failed: {why}. Its log has the details. Send a message to try again."
_FULL = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
INTERRUPTED = "The application was ended in the middle of the run. Send a message to go on."
_log = logging.getLogger(__name__)


def close_interrupted(data: Path) -> None:
    """End rounds that an earlier process left open, as interrupted.

    Also clean the staging folders of their workspaces.

    Args:
        data: The data folder, locked by this process.
    """
    for folder in RunFolder.all(data):
        if volume.attached(folder.sandbox_folder):
            with suppress(OSError):
                Workspace(folder.workspace).staging.tidy()
        try:
            if folder.journal.exists() and not journal.ends_in(folder.journal, RunEnded):
                Record(folder).close()
        except OSError:
            _log.exception("The record of run %s cannot be read", folder.id)


class Record:
    """The record of one run; one thread at a time writes, any may read ``picture``.

    Args:
        folder: The run's folder; an existing journal is loaded and continued, and an open
            round in it is ended as interrupted.
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
        """Reserve disk space to end a round, and write the last end if still pending.

        Raises:
            RunError: There is no space.
        """
        try:
            self._reserve.hold()
            self.settle()
        except OSError as error:
            raise RunError(_told(error)) from error

    def kept(
        self, events: Generator[Event, None, None], along: Callable[[Event], Iterator[Event]]
    ) -> Generator[Event, None, None]:
        """Write each event of a round to the journal, then yield it.

        Args:
            events: The round. If it raises, it ends as failed; if the caller stops iterating,
                it ends as stopped.
            along: Maps an event to the events to write: the event itself and related ones.

        Raises:
            RunError: The first event of the round cannot be written; nothing is recorded.
        """
        try:
            with closing(events):  # ends a running command first
                for event in events:
                    for each in along(event):
                        yield self._keep(each)
        except OSError as error:
            _log.error("Run %s cannot go on", self._folder.id, exc_info=error)
            if not self.picture.alive:  # there is no round to end
                raise RunError(_told(error)) from error
            yield self._failed("failed", _told(error))
        except (KeyboardInterrupt, GeneratorExit):  # or the caller stopped iterating
            if self.picture.alive:
                self._failed("stopped", BROKEN_OFF)
            raise
        except Exception as error:  # boundary: every round ends in RunEnded
            if not self.picture.alive:
                raise
            _log.exception("Run %s failed", self._folder.id)
            yield self._failed(
                "failed", f"The studio itself failed ({error!r}); its log has the details."
            )
        finally:
            self._reserve.release()

    def ended(self, status: Status, reason: str) -> RunEnded:
        """Return the end of the current round, not yet written."""
        return RunEnded(status=status, reason=reason, answer="", totals=self.picture.used)

    @property
    def owing(self) -> bool:
        """Whether the end of a round is still to be written."""
        return self._owed is not None

    def settle(self) -> None:
        """Write the end of a round that could not be written earlier.

        Raises:
            OSError: There is still no space.
        """
        with self.lock:
            if self._owed is not None:
                self.journal.append(self._owed)
                self._owed = None

    def close(self) -> None:
        """Close the journal."""
        self.journal.close()

    def _take_up(self) -> None:
        """Apply the events of an existing journal; end an open round as interrupted."""
        at = 0.0
        for cursor, event in journal.read(self._folder.journal):
            self.picture.apply(event, cursor)
            self.conversation.apply(event)
            at = max(at, event.at)  # 0 for an unreadable line without a time
        if self.picture.unreadable:
            why = "%d lines of the record of run %s cannot be read; they are kept"
            _log.warning(why, self.picture.unreadable, self._folder.id)
        if self.picture.alive:
            self._keep(replace(self.ended("failed", INTERRUPTED), at=at))

    def _failed(self, status: Status, reason: str) -> Event:
        """End the round early; keep the end pending if the journal is not writable."""
        ended = self.ended(status, reason)
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
            with suppress(OSError):  # a missing summary is derived again
                summary.keep(self._folder, self.picture)
        return event


def _told(error: OSError) -> str:
    """Return the message for the user; only a full disk is reported as one."""
    template = UNRECORDED if error.errno in _FULL else SYSTEM_ERROR
    return template.format(why=error.strerror or error)


_BYTES = 16 * 1024


class Reserve:
    """A file of reserved disk space, deleted so that a round can end on a full disk.

    Args:
        file: Its path.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    def hold(self) -> None:
        """Reserve the space. Raises ``OSError`` if there is none, leaving no file."""
        try:
            self._file.write_bytes(bytes(_BYTES))
        except OSError:
            self.release()
            raise

    def release(self) -> None:
        """Release the space. May be called twice."""
        with suppress(OSError):
            self._file.unlink(missing_ok=True)
