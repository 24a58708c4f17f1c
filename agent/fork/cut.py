"""Where a run's journal is cut for a fork: after a step that has ended."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.errors import UsageError
from agent.events import (
    Event,
    ObservationEdited,
    RunContinued,
    RunEnded,
    RunStarted,
    StepEnded,
    StepStarted,
)
from agent.loop.conversation import Conversation
from agent.models.base import AssistantMessage
from agent.runs import journal
from agent.runs.compatibility import decode_line
from agent.runs.folder import RunFolder
from agent.runs.state import RunState
from agent.workspace.versions.manifest import Manifest, ManifestLog

NOT_STARTED = "This run has not started yet. Start it before you fork it."
_ROUNDS = tuple(
    f'"kind":"{kind}"}}'.encode()
    for kind in ("run_started", "run_continued", "forked", "run_ended")
)
_STEP_STARTED, _STEP_ENDED = b'"kind":"step_started"}', b'"kind":"step_ended"}'
_PACKAGES = b'"packages":["'


@dataclass(frozen=True, slots=True)
class Cut:
    """A run up to a step (0 for the beginning), as of the journal's ``cursor``."""

    step: int
    cursor: int
    state: RunState  # there, without what earlier steps did
    needs_message: bool  # the model has answered, or nothing was said yet
    started: RunStarted
    packages: tuple[str, ...]

    @property
    def message(self) -> str:
        """The message of the round that the next step belongs to, or that was the last."""
        return self.state.rounds[-1].text if self.state.rounds else self.started.task


def cut_run(folder: RunFolder, step: int) -> Cut:
    """Return a run up to and with a step that ended or was cut off; a later one may be running."""
    if not folder.journal.exists():
        raise UsageError(NOT_STARTED)
    events = _outline(folder.journal, step) if step else []
    cursor, state, packages = 0, RunState(run=folder.id), dict[str, None]()
    for cursor, event in events:
        state.apply(event, cursor)
        packages.update(dict.fromkeys(getattr(event, "packages", ())))
    all_events = (event for _, event in events or journal.read(folder.journal))
    started = next((event for event in all_events if isinstance(event, RunStarted)), None)
    if started is None:
        raise UsageError(NOT_STARTED)
    messages = Conversation(event for _, event in events).messages
    answered = not messages or isinstance(messages[-1], AssistantMessage)
    return Cut(step, cursor, state, answered, started, tuple(packages))


def manifest_after(folder: RunFolder, cut: Cut) -> Manifest:
    """Return the manifest of the workspace at a cut."""
    manifest, steps = ManifestLog(folder.manifests).manifest(cut.step), cut.state.steps
    changed = cut.step and steps[-1].total_changes and folder.manifests.exists()
    if changed and manifest.step < cut.step:
        raise UsageError(
            f"The files after step {cut.step} are not recorded. If the run is in progress, try "
            "again in a moment; otherwise fork it at an earlier step."
        )
    return manifest


def _outline(path: Path, step: int) -> list[tuple[int, Event]]:
    """Return the events up to the end of a step; of earlier steps only begin, end and packages."""
    events, begun = list[tuple[int, Event]](), False
    for number, lines in _by_step(path):
        if number > step:
            break
        begun = number == step
        for cursor, line in lines:
            kept = line.endswith((_STEP_STARTED, _STEP_ENDED, *_ROUNDS)) or _PACKAGES in line
            if kept or begun or not events:
                events += [(cursor, event) for event in decode_line(line, first=not events)]
    end = _end_of_step(events, step)
    if not end:
        detail = "has not ended yet. Wait for it, or stop the run" if begun else "does not exist"
        raise UsageError(f"Step {step} of this run {detail}.")
    return [each for each in events if each[0] <= end]


def _by_step(path: Path) -> Iterator[tuple[int, list[tuple[int, bytes]]]]:
    """Yield each step's number and its lines with their cursors; first those before any as 0."""
    number, lines = 0, list[tuple[int, bytes]]()
    for cursor, line in journal.read_lines(path):
        if line.endswith(_STEP_STARTED) and isinstance(event := decode_line(line)[-1], StepStarted):
            yield number, lines
            number, lines = event.step, []
        lines.append((cursor, line))
    yield number, lines


def _end_of_step(events: Iterable[tuple[int, Event]], step: int) -> int:
    """Return the cursor after a step, with the end of its round if no other step follows."""
    found, begun = 0, False
    for cursor, event in events:
        match event:
            case StepStarted():
                begun |= event.step == step
            case StepEnded() if event.step == step:
                found = cursor
            case ObservationEdited() if found:  # while the run was paused after the step
                found = cursor
            case RunEnded() if begun:
                return cursor
            case RunContinued() if found:
                break
            case _:
                pass
    return found
