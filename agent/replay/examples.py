"""Saved examples: recorded runs whose turns play without a model, with real commands.

::

    <data>/examples/<id>/example.json     title, owner, duration
                         journal.jsonl    the recorded run
                         manifests.jsonl  the files that it began with
                         blobs/           their contents
"""

import json
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agent.errors import JournalError, ModelRefused, RunError, UsageError
from agent.models.base import (
    AssistantMessage,
    Message,
    ModelNotice,
    ModelRequest,
    Piece,
    ReasoningPiece,
    TextPiece,
    ToolResult,
    UserMessage,
)
from agent.replay.files import ManifestReader
from agent.replay.model import as_executed, pieces
from agent.replay.placing import Placed, place
from agent.replay.recording import NOTHING_TO_REPLAY, Recording
from agent.replay.replay import open_recording
from agent.replay.texts import Times, compare_lines
from agent.runs.disk_usage import bytes_on_disk
from agent.runs.transcript import Step
from agent.util.stop import Stop
from agent.util.text import format_size
from agent.workspace.files import Workspace
from agent.workspace.versions.manifest import ManifestLog

FOLDER = "examples"
NAME = "Example"
_MAX_BYTES = 64 * 1024**2
_CHARACTERS_PER_SECOND = 400.0
_DIFFERENT = (
    "The sandbox returned something else here than in the recorded run. What the model says next "
    "was written for the recorded result."
)
_OVER = "The example ends here. To continue, connect a model: endpoint, model and key in Settings."


@dataclass(frozen=True, slots=True)
class ExampleLimits:
    """What one user may save: a number of examples, and their bytes on disk together."""

    count: int = 100
    size: int = 1024**3


_DEFAULT_LIMITS = ExampleLimits()


@dataclass(frozen=True, slots=True)
class SavedExample:
    """A recorded run that plays as an example for its owner; ``inputs`` are file names as URLs."""

    id: str
    folder: Path
    title: str
    task: str
    owner: str
    seconds: int
    inputs: tuple[str, ...]

    def open(self) -> Recording:
        """Return the recorded run. Raises ``StudioError`` if it cannot be read."""
        return open_recording(self.folder / "journal.jsonl")

    def put_files(self, workspace: Workspace) -> Placed:
        """Put the files that the recorded run began with into a workspace."""
        recording = self.open()
        deltas = ManifestReader(recording.manifests).user_changes(1)
        return place(workspace, deltas, recording.contents)


class ExampleModel:
    """Plays the turns of a saved example's first round, ``pace`` characters a second."""

    name = NAME
    metered = False

    def __init__(self, recording: Recording, pace: float = _CHARACTERS_PER_SECOND) -> None:
        self._recording = recording
        self._steps = [step for step in recording.rounds[0].steps if step.answered]
        self._pace = pace

    def stream(self, request: ModelRequest, stop: Stop) -> Iterator[Piece]:
        """Stream the next turn; see ``Model.stream``."""
        index = sum(isinstance(each, AssistantMessage) for each in _from_task(request.messages))
        if index >= len(self._steps):
            raise ModelRefused(_OVER)
        if index and not self._is_as_recorded(request.messages, index - 1):
            yield ModelNotice(_DIFFERENT)
        record = as_executed(self._recording.read_step(self._steps[index]))
        for piece in pieces(record, size=48):
            if stop.wait(self._seconds_for(piece)):
                return
            yield piece

    def _seconds_for(self, piece: Piece) -> float:
        if not self._pace or not isinstance(piece, TextPiece | ReasoningPiece):
            return 0.0
        return len(piece.text) / self._pace

    def _is_as_recorded(self, messages: Sequence[Message], index: int) -> bool:
        """Whether the latest results are those of a recorded step, but for volatile parts."""
        record = self._recording.read_step(self._steps[index])
        results = {each.call_id: each.text for each in messages if isinstance(each, ToolResult)}
        return all(_is_alike(record, call_id, results) for call_id in record.calls)


def save(
    recording: Recording,
    data: Path,
    title: str,
    owner: str,
    limits: ExampleLimits = _DEFAULT_LIMITS,
) -> SavedExample:
    """Save a run of the data folder as an example; saving it again replaces it."""
    assert recording.folder is not None
    folder = data / FOLDER / recording.folder.id
    if any(each.id == folder.name and each.owner != owner for each in _read_all(data)):
        raise UsageError("Another user has saved this run as an example. Fork it to save your own.")
    others = [each for each in load_all(data, owner) if each.id != folder.name]
    _check_count(len(others), limits)
    began, steps = recording.started, recording.rounds[0].steps
    if not steps:
        raise UsageError(NOTHING_TO_REPLAY)
    seconds = max(1, round(steps[-1].at - began.at))
    about = {
        "title": title, "task": began.task.strip(), "owner": owner, "seconds": seconds,
        "inputs": began.inputs,
    }  # fmt: skip
    new = folder.with_name(f"new-{folder.name}")
    try:
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        shutil.copyfile(recording.journal, new / "journal.jsonl")
        _copy_files(recording, new)
        (new / "example.json").write_text(json.dumps(about))
        _check_size(new, others, limits)
        shutil.rmtree(folder, ignore_errors=True)
        new.rename(folder)
    except JournalError as error:
        raise UsageError(
            "This run cannot be an example: the files that it began with were not all kept, or it "
            f"takes more than {_MAX_BYTES // 1024**2} MB."
        ) from error
    except OSError as error:
        raise RunError(f"The example cannot be saved: {error.strerror}.") from error
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return _load(folder)


def _check_count(others: int, limits: ExampleLimits) -> None:
    if not limits.count:
        raise UsageError("Runs cannot be saved as examples here: the operator allows none.")
    if others >= limits.count:
        raise UsageError(
            f"You have as many saved examples as the operator allows: {limits.count}. Delete one "
            "under Examples, then save this one."
        )


def _check_size(new: Path, others: Sequence[SavedExample], limits: ExampleLimits) -> None:
    size, used = bytes_on_disk(new), sum(bytes_on_disk(each.folder) for each in others)
    if used + size > limits.size:
        raise UsageError(
            f"This example needs {format_size(size)}. Your saved examples take "
            f"{format_size(used)}, and the operator allows {format_size(limits.size)}. Delete some "
            "under Examples, then save this one."
        )


def load_all(data: Path, owner: str) -> list[SavedExample]:
    """Return a user's saved examples, latest first; a damaged one is left out."""
    return [example for example in _read_all(data) if example.owner == owner]


def _read_all(data: Path) -> list[SavedExample]:
    found = []
    for folder in (data / FOLDER).glob("*"):
        with suppress(OSError, ValueError, TypeError):
            if not folder.name.startswith("new-"):
                found.append((folder.stat().st_mtime, _load(folder)))
    found.sort(key=lambda each: -each[0])
    return [example for _, example in found]


def find(data: Path, owner: str, task: str) -> SavedExample | None:
    """Return a user's saved example with this task, or None."""
    wanted = task.replace("\r\n", "\n").strip()
    return next((each for each in load_all(data, owner) if each.task == wanted), None)


def delete(data: Path, owner: str, example: str) -> None:
    """Delete one of a user's saved examples."""
    if example not in {each.id for each in load_all(data, owner)}:
        raise RunError("There is no such example.")
    shutil.rmtree(data / FOLDER / example)


def _load(folder: Path) -> SavedExample:
    about = dict(json.loads((folder / "example.json").read_text()))
    inputs = tuple(about.pop("inputs", ()))
    return SavedExample(folder.name, folder, inputs=inputs, **about)


def _copy_files(recording: Recording, folder: Path) -> None:
    """Copy the manifest that a run began with, and its contents."""
    log = ManifestLog(folder / "manifests.jsonl")
    room = _MAX_BYTES - recording.journal.stat().st_size
    for delta in ManifestReader(recording.manifests).user_changes(1):
        log.append(0, delta)
        for node in delta.changed.values():
            if node.kind != "file":
                continue
            room -= node.size
            if node.hash is None or not node.stored or room < 0:
                raise JournalError("A content was not kept or is too large.")
            target = folder / "blobs" / node.hash[:2] / node.hash
            target.parent.mkdir(parents=True, exist_ok=True)
            with recording.contents.open(node.hash) as source, target.open("wb") as copy:
                shutil.copyfileobj(source, copy)


def _from_task(messages: Sequence[Message]) -> Sequence[Message]:
    """Return the messages from the task on."""
    first = next((at for at, each in enumerate(messages) if isinstance(each, UserMessage)), 0)
    return messages[first:]


def _is_alike(record: Step, call_id: str, results: dict[str, str]) -> bool:
    ended, text = record.calls[call_id].ended, results.get(call_id)
    if ended is None or text is None:
        return True
    recorded = ended.observation.splitlines()
    times = Times(ended.at, time.time())
    found = compare_lines(recorded, text.splitlines()[: len(recorded)], times)
    return found.verdict != "differs"
