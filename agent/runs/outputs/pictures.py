"""The pictures that a run's model gets: files among the run's outputs, named after their bytes."""

import hashlib
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from agent.errors import RunError
from agent.events import Event, MessageDelivered, RunContinued, RunStarted, ToolEnded
from agent.models.base import Picture
from agent.runs import journal
from agent.util.state_files import open_record

MAX_BYTES = 8 * 1024**2
"""Maximum size of one picture."""

EVENT_KINDS = ("run_started", "run_continued", "message_delivered", "tool_ended")
"""The kinds of events that can have pictures."""

_EXTENSIONS = {"image/png": "png", "image/jpeg": "jpg"}
_NAME = re.compile(r"[0-9a-f]{64}\.(?:png|jpg)")
_MISSING = "The picture {source} is missing from the run's record, so it cannot be sent again."


def is_picture_name(name: str) -> bool:
    """Return whether a file of a run's outputs is a picture."""
    return _NAME.fullmatch(name) is not None


def pictures_of(event: Event) -> Sequence[Picture]:
    """Return the pictures that the model gets with an event."""
    if isinstance(event, RunStarted | RunContinued | MessageDelivered | ToolEnded):
        return event.pictures
    return ()


class PictureStore:
    """The pictures of one run in the folder of its outputs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, data: bytes, media_type: str) -> str:
        """Store a picture and return its file name; the same bytes are stored once."""
        name = f"{hashlib.sha256(data).hexdigest()}.{_EXTENSIONS[media_type]}"
        path = self._folder / name
        if not path.exists():
            new = path.with_suffix(".new")
            try:
                new.write_bytes(data)
                new.replace(path)
            except OSError:
                with suppress(OSError):
                    new.unlink()
                raise
        return name

    def read(self, picture: Picture) -> bytes:
        """Return a picture's bytes; ``RunError`` if they are not those that were stored."""
        if is_picture_name(picture.file):
            with suppress(OSError), open_record(self._folder / picture.file) as file:
                data = file.read(MAX_BYTES + 1)
                if hashlib.sha256(data).hexdigest() == picture.file.partition(".")[0]:
                    return data
        raise RunError(_MISSING.format(source=picture.source))


def pictures_in(path: Path, end: int | None = None) -> dict[str, Picture]:
    """Return the pictures of a journal up to a cursor, by file name, in order."""
    events = journal.read_kinds(path, EVENT_KINDS, end)
    return {each.file: each for event in events for each in pictures_of(event)}
