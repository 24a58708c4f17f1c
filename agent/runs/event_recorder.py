"""Recorder of a run's events: writes them to its journal and applies them to its state."""

import errno
import logging
import os
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

from agent.errors import RunError
from agent.events import Annotation, Event, RunEnded, Status, ToolEnded, ToolOutput
from agent.loop.conversation import Conversation
from agent.runs import journal
from agent.runs.folder import RunFolder
from agent.runs.journal import Journal
from agent.runs.outputs.long_outputs import LongOutputs
from agent.runs.outputs.pictures import PictureStore
from agent.runs.state import RunState
from agent.sandbox.disk import volume
from agent.util import clock
from agent.workspace.files import Workspace

RECORD_NOT_WRITABLE = (
    "The run's record cannot be written: {why}. Free some space on the studio's disk, then send a "
    "message to continue."
)
ABORTED = "The run was aborted before its end. Send a message to continue."
SYSTEM_ERROR = (
    "A system error stopped the run: {why}. The studio's log has the details. Send a message to "
    "try again."
)
_DISK_FULL_ERRNOS = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
INTERRUPTED = "The application stopped during the run. Send a message to continue."
_log = logging.getLogger(__name__)


def end_interrupted_rounds(data: Path) -> None:
    """End rounds that an earlier process left open, as interrupted."""
    marks = data / _MARKS
    marks.mkdir(mode=0o700, parents=True, exist_ok=True)
    all_marked = marks / _ALL_MARKED
    marked = [each.name for each in marks.glob("[!.]*")]
    for run in marked if all_marked.exists() else RunFolder.ids(data):
        try:
            _end_interrupted_round(RunFolder.open(data, run))
        except RunError:  # it was deleted, or its record cannot be read
            if not RunFolder.exists(data, run):
                OpenRound(data, run).end()
    all_marked.touch()


def _end_interrupted_round(folder: RunFolder) -> None:
    if volume.is_attached(folder.sandbox_folder):
        with suppress(OSError):
            Workspace(folder.workspace).staging.clean_up()
    try:
        if folder.journal.exists() and not journal.ends_with(folder.journal, RunEnded):
            EventRecorder(folder).close()
        OpenRound(folder.data, folder.id).end()
    except OSError:  # the mark stays for the next start
        _log.exception("The record of run %s cannot be read", folder.id)


class EventRecorder:
    """Records the events of one run; one thread at a time writes, any may read ``state``.

    An existing journal is loaded and continued; a round left open ends as interrupted.
    """

    def __init__(self, folder: RunFolder) -> None:
        self.journal = Journal(folder.journal)
        self.state = RunState(run=folder.id)
        self.pictures = PictureStore(folder.outputs)
        self.conversation = Conversation(read_picture=self.pictures.read)
        self.lock = threading.Lock()
        self._folder = folder
        self._outputs = LongOutputs(folder.outputs)
        self._round = OpenRound(folder.data, folder.id)
        self._pending_end: RunEnded | None = None
        self._load()

    def open_round(self) -> None:
        """Mark a round as open, reserve disk space for its end, and write a pending end."""
        try:
            self.write_pending_end()
            self._round.begin()
        except OSError as error:
            raise RunError(_error_message(error)) from error

    def record_events(
        self, events: Generator[Event, None, None], expand: Callable[[Event], Iterator[Event]]
    ) -> Generator[Event, None, None]:
        """Write each event of a round to the journal, then yield it.

        If the round raises, it ends as failed; if the caller stops iterating, as stopped.
        ``expand`` returns the events to write for one: itself and related ones. ``RunError`` if the
        first cannot be written: nothing is recorded.
        """
        try:
            with clock.EVENTS.round(), closing(events):  # ends a running command first
                for event in events:
                    for each in expand(event):
                        yield self._write(each)
        except OSError as error:
            _log.error("Run %s cannot continue", self._folder.id, exc_info=error)
            if not self.state.is_running:  # there is no round to end
                raise RunError(_error_message(error)) from error
            yield self._end_early("failed", _error_message(error))
        except (KeyboardInterrupt, GeneratorExit):  # or the caller stopped iterating
            if self.state.is_running:
                self._end_early("stopped", ABORTED)
            raise
        except Exception as error:  # boundary: every round ends in RunEnded
            if not self.state.is_running:
                raise
            _log.exception("Run %s failed", self._folder.id)
            yield self._end_early(
                "failed", f"Internal error ({error!r}); the studio's log has the details."
            )
        finally:
            if not self.state.is_running and not self.has_pending_end:
                self._round.end()

    def annotate(self, annotation: Annotation) -> None:
        """Write an annotation, from any thread and at any time."""
        self._write(annotation)

    def end_event(self, status: Status, reason: str) -> RunEnded:
        """Return the end of the current round, not yet written."""
        return RunEnded(status=status, reason=reason, answer="", totals=self.state.current_totals)

    @property
    def has_pending_end(self) -> bool:
        """Whether the end of a round is still to be written."""
        return self._pending_end is not None

    def write_pending_end(self) -> None:
        """Write the end of a round that could not be written earlier."""
        with self.lock:
            if self._pending_end is not None:
                self._round.release()
                self.journal.append(self._pending_end)
                self._round.end()
                self._pending_end = None

    def close(self) -> None:
        """Close the journal."""
        self.journal.close()

    def _load(self) -> None:
        """Apply the events of an existing journal; end an open round as interrupted."""
        at = 0.0
        for cursor, event in journal.read(self._folder.journal):
            self.state.apply(event, cursor)
            self.conversation.apply(event)
            at = max(at, event.at)  # 0 for an unreadable line without a time
        if self.state.unreadable:
            why = "%d lines of the record of run %s cannot be read; they are kept"
            _log.warning(why, self.state.unreadable, self._folder.id)
        if self.state.is_running:
            self._write(replace(self.end_event("failed", INTERRUPTED), at=at))

    def _end_early(self, status: Status, reason: str) -> Event:
        """End the round early; keep the end pending if the journal is not writable."""
        ended = self.end_event(status, reason)
        self._outputs.end_call()
        try:
            return self._write(ended)
        except OSError:
            with self.lock:
                self.state.apply(ended, self.journal.end)
                self._pending_end = ended
            return ended

    def _write(self, event: Event) -> Event:
        if isinstance(event, ToolOutput):
            event = self._outputs.truncate(event)
        elif isinstance(event, ToolEnded):
            self._outputs.end_call()
        if isinstance(event, RunEnded):
            self._round.release()
        with self.lock:
            cursor = self.journal.append(event)
            self.state.apply(event, cursor)
        if isinstance(event, RunEnded):
            self._round.end()
        return event


def _error_message(error: OSError) -> str:
    """Return the message for the user; only a full disk is reported as one."""
    template = RECORD_NOT_WRITABLE if error.errno in _DISK_FULL_ERRNOS else SYSTEM_ERROR
    return template.format(why=error.strerror or error)


_RESERVED_BYTES = 16 * 1024
_MARKS = "open-rounds"
_ALL_MARKED = ".all-marked"  # this version began all rounds that are open


class OpenRound:
    """The mark of a run whose round is open; its file reserves disk space for the end."""

    def __init__(self, data: Path, run: str) -> None:
        self._file = data / _MARKS / run

    def begin(self) -> None:
        """Mark the run and reserve the space. Raises ``OSError`` if there is none."""
        try:
            self._file.parent.mkdir(mode=0o700, exist_ok=True)
            self._file.write_bytes(bytes(_RESERVED_BYTES))
        except OSError:
            self.end()
            raise

    def release(self) -> None:
        """Release the space; the mark stays."""
        with suppress(OSError):
            os.truncate(self._file, 0)

    def end(self) -> None:
        """Remove the mark, if there is one."""
        with suppress(OSError):
            self._file.unlink(missing_ok=True)
