"""Where a run's journal is cut for a fork: after a step that has ended."""

from dataclasses import dataclass

from agent.errors import UsageError
from agent.events import (
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
from agent.runs.compatibility.unreadable_events import decode_line
from agent.runs.folder import RunFolder
from agent.runs.state import RunState
from agent.workspace.versions.log import ManifestLog
from agent.workspace.versions.manifest import Manifest

NOT_STARTED = "This run has not started yet. Start it before you fork it."
_KINDS = tuple(
    f'"kind":"{kind}"}}'.encode()
    for kind in (
        "run_started",
        "run_continued",
        "step_started",
        "step_ended",
        "observation_edited",
        "run_ended",
    )
)


@dataclass(frozen=True, slots=True)
class Cut:
    """A run up to and with a step (0 for the beginning), as of the journal's ``cursor``.

    ``state`` and ``conversation`` are those there; ``packages`` were installed up to there.
    """

    step: int
    cursor: int
    state: RunState
    conversation: Conversation
    started: RunStarted
    packages: tuple[str, ...]

    @property
    def message(self) -> str:
        """The message of the round that the next step belongs to, or that was the last."""
        return self.state.rounds[-1].text if self.state.rounds else self.started.task

    @property
    def needs_message(self) -> bool:
        """Whether the model can only go on after a message: it has answered."""
        messages = self.conversation.messages
        return not messages or isinstance(messages[-1], AssistantMessage)


def cut_run(folder: RunFolder, step: int) -> Cut:
    """Return a run up to and with a step; the run may be working on a later one.

    The step has ended, or was interrupted by the end of its round.
    """
    if not folder.journal.exists():
        raise UsageError(NOT_STARTED)
    cursor = _find_end(folder, step) if step else 0
    state, conversation = RunState(run=folder.id), Conversation()
    packages: dict[str, None] = {}
    started: RunStarted | None = None
    for position, event in journal.read(folder.journal, 0, cursor or None):
        if isinstance(event, RunStarted):
            started = started or event
        if not cursor:
            if started:
                break
            continue
        state.apply(event, position)
        conversation.apply(event)
        packages.update(dict.fromkeys(getattr(event, "packages", ())))
    if started is None:
        raise UsageError(NOT_STARTED)
    return Cut(step, cursor, state, conversation, started, tuple(packages))


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


def _find_end(folder: RunFolder, step: int) -> int:
    """Return the cursor after a step, with the end of its round if no other step follows."""
    found, begun, start = 0, False, 0
    for cursor, line in journal.read_lines(folder.journal):
        first, start = not start, cursor
        if not line.endswith(_KINDS):
            continue
        event = decode_line(line, first=first)[-1]
        match event:
            case StepStarted() if event.step > step:
                break
            case StepStarted():
                begun = begun or event.step == step
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
    if not found:
        detail = "has not ended yet. Wait for it, or stop the run" if begun else "does not exist"
        raise UsageError(f"Step {step} of this run {detail}.")
    return found
