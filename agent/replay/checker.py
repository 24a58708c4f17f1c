"""The checker of a replay: compares each step when it has ended, and records the verdict."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass

from agent.errors import JournalError, StudioError
from agent.events import (
    CheckedCall,
    Event,
    ReplayStarted,
    RunEnded,
    RunStarted,
    StepEnded,
    StepStarted,
    StepVerified,
    Verdict,
)
from agent.replay.calls import Sides, compare_call
from agent.replay.files import FileChecker, worst
from agent.replay.listed_files import ListedFileChecker
from agent.replay.placing import place
from agent.replay.recording import RecordedStep, Recording, read_step
from agent.replay.texts import Times
from agent.runs.recorded_run import RecordedRun
from agent.runs.transcript import Step
from agent.workspace.versions.blobs import StoredContents

_UNREADABLE = "A part of this step's record cannot be read."
_BY_USER = "The user changed files before or during this step."
_CUT = "The record lists only the first files that this step changed, without manifests."
_NOT_FINISHED = "The replay ended during this step."
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Preparation:
    """What a replay begins with."""

    notes: tuple[str, ...] = ()  # sentences on the record or what is missing
    missing: frozenset[str] = frozenset()  # paths
    complete: bool = True


class ReplayChecker:
    """Compares the steps of a replay with the recorded ones; ``expand`` records the verdicts."""

    def __init__(
        self,
        recording: Recording,
        run: RecordedRun,
        contents: StoredContents,
        preparation: Preparation,
    ) -> None:
        self._recording = recording
        self._run = run
        self._preparation = preparation
        both = (recording.contents, contents)
        self._files = FileChecker(recording.manifests, run.folder.manifests, both)
        self._files.ignored = set(preparation.missing)
        self._listed = ListedFileChecker(recording.results, run.folder.manifests, contents)
        self._steps = {step.number: step for step in recording.steps}
        self._last = {round_.steps[-1].number for round_ in recording.rounds if round_.steps}
        self._open: int | None = None

    def expand(self, event: Event) -> Iterator[Event]:
        """Yield an event, with a step's verdict before its end (after it for the last)."""
        match event:
            case RunStarted():
                yield event
                yield self._beginning()
            case StepStarted():
                self._open = event.step
                yield event
            case StepEnded() if event.step not in self._last:
                yield from self._verify(ended=True)
                yield event
                self._apply_user_changes(event.step + 1)
            case RunEnded():
                # A stop by the user leaves the step's result unknown.
                steps = self._run.state.steps
                yield from self._verify(ended=bool(steps) and steps[-1].ended)
                yield event
                if steps:
                    self._apply_user_changes(steps[-1].step + 1)
            case _:
                yield event

    def _beginning(self) -> ReplayStarted:
        folder = self._recording.folder
        return ReplayStarted(
            run=folder.id if folder is not None else "",
            steps=tuple(sorted(number for number, step in self._steps.items() if step.answered)),
            notes=self._preparation.notes,
            complete=self._preparation.complete,
        )

    def _verify(self, *, ended: bool) -> Iterator[StepVerified]:
        number, self._open = self._open, None
        recorded = self._steps.get(number or 0)
        if number is None or recorded is None or not recorded.answered:
            return
        try:
            yield self._compare(recorded, ended=ended)
        except (StudioError, OSError) as error:
            _log.warning("Step %d of a replay cannot be compared: %s", number, error)
            why = f"The step cannot be compared: {error}"
            yield StepVerified(step=number, verdict="unverified", notes=(why,))

    def _compare(self, recorded: RecordedStep, *, ended: bool) -> StepVerified:
        replayed = self._run.state.steps[-1]
        one = self._recording.read_step(recorded)
        other = read_step(self._run.folder.journal, replayed.begin)
        calls = self._compare_calls(one, other)
        times = Times(recorded.at, replayed.began)
        if self._recording.manifests.exists():
            files, by_user = self._files.check(recorded.number, times)
        else:
            files, by_user = self._listed.check(one.changes, recorded.number, times), False
        notes, verdicts = self._judge(recorded, one, ended=ended)
        if by_user and recorded.number > 0 and files.total:
            notes.append(_BY_USER)
        verdicts += [each.verdict for each in calls]
        verdicts += [each.verdict for each in files.files]
        return StepVerified(
            step=recorded.number, verdict=worst(verdicts), calls=calls, files=files.files,
            total=files.total, notes=tuple(notes),
        )  # fmt: skip

    def _judge(
        self, recorded: RecordedStep, record: Step, *, ended: bool
    ) -> tuple[list[str], list[Verdict]]:
        """Return what is to be said of a step besides its calls and files."""
        notes: list[str] = []
        verdicts: list[Verdict] = []
        if recorded.unreadable:
            notes.append(_UNREADABLE)
        if not ended:
            notes.append(_NOT_FINISHED)
        is_cut = any(each.total > len(each.changes) for each in record.changes)
        if is_cut and not self._recording.manifests.exists():
            notes.append(_CUT)
        if notes:
            verdicts.append("unverified")
        return notes, verdicts

    def _compare_calls(self, one: Step, other: Step) -> tuple[CheckedCall, ...]:
        sides = Sides(self._recording.outputs, self._run.folder.outputs)
        return tuple(
            compare_call(call_id, record, other.calls.get(call_id), sides)
            for call_id, record in one.calls.items()
        )

    def _apply_user_changes(self, step: int) -> None:
        """Make the changes that the user made before a step, as the user's."""
        if step not in self._steps:
            return
        try:
            deltas = self._files.recorded.user_changes(step)
            placed = place(self._run.workspace, deltas, self._recording.contents)
        except (JournalError, OSError) as error:
            _log.warning("The user's changes before step %d cannot be made: %s", step, error)
            return
        self._files.ignored.update(placed.missing)
        if placed.changes:
            self._run.record_user_changes(placed.changes)
