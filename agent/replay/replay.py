"""Verified replay: executes the recorded calls of a run in a fresh sandbox, without a model."""

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote_to_bytes

from agent import prompts
from agent.errors import RunError
from agent.events import Event, RunStarted
from agent.limits import Limits
from agent.prompts import Prompt
from agent.replay.checker import Preparation, ReplayChecker
from agent.replay.files import ManifestReader
from agent.replay.model import ReplayModel
from agent.replay.placing import is_file, place
from agent.replay.recording import RecordedRound, Recording
from agent.runs.folder import RunFolder
from agent.runs.inputs import INPUT_FOLDER
from agent.runs.recorded_run import RecordedRun, Task, Ticket
from agent.runs.requests.body import HASH_DIFFERS, rebuild_request
from agent.runs.requests.records import read_log
from agent.sandbox.network.policy import NetworkPolicy
from agent.util.stop import Stop
from agent.workspace.files import Workspace
from agent.workspace.paths import display_text
from agent.workspace.versions.blobs import StoredContents

_MAX_NOTES = 20
_NO_INPUTS = "The record holds no content of the inputs: {names}. Give them with the replay."
_EDITED = (
    "The requests that were sent to the model cannot be built again from the record: the journal "
    "was edited after the run, or another version wrote it."
)


@dataclass(frozen=True, slots=True)
class Replay:
    """A replay that can begin, perhaps with another network policy than the recorded run's."""

    recording: Recording
    preparation: Preparation
    network: NetworkPolicy | None = None

    def events(
        self,
        run: RecordedRun,
        contents: StoredContents,
        stop: Stop,
        ticket: Ticket | None = None,
        limits: Limits | None = None,
    ) -> Generator[Event, None, None]:
        """Carry out all rounds in a new run; ``limits`` are those of time."""
        checker = ReplayChecker(self.recording, run, contents, self.preparation)
        model = ReplayModel(self.recording, steering=run.steering)
        tokens = self.recording.started.limits.get("conversation_tokens")  # shown, never reached
        limits = replace(
            limits or Limits(), conversation_tokens=None if tokens is None else int(tokens),
            money=None, price=None, summarise=False,
        )  # fmt: skip
        for number, round_ in enumerate(self.recording.rounds):
            if stop.stops_after_step and number:
                return
            with _round_stop(stop) as ending:
                model.begin_round(round_, ending)
                steps = _step_limit(round_, self.recording.started)
                limits = replace(limits, steps=steps, reminders=round_.reminders)
                if number == 0:
                    task, place_ = self._task(), ticket
                    yield from run.start(task, model, limits, ending, place_, checker.expand)
                else:
                    text = round_.text
                    yield from run.follow_up(text, model, limits, ending, None, checker.expand)
            if run.state.rounds[-1].status == "failed":
                return

    def _task(self) -> Task:
        started = self.recording.started
        network = self.network or NetworkPolicy(started.network, started.hosts)
        return Task(
            started.task, _prompt(started.prompt, started.system), network=network,
            history=started.history,
        )  # fmt: skip


def prepare(
    recording: Recording,
    folder: RunFolder,
    network: NetworkPolicy | None = None,
) -> Replay:
    """Put the files that a recorded run began with into a new run; keep its ``input/``."""
    workspace = Workspace(folder.workspace)
    deltas = ManifestReader(recording.manifests).user_changes(1)
    placed = place(workspace, deltas, recording.contents)
    missing = {path: why for path, why in placed.missing.items() if not is_file(workspace, path)}
    notes = [*missing.values()]
    names = [os.fsdecode(unquote_to_bytes(name)) for name in recording.started.inputs]
    absent = [name for name in names if not is_file(workspace, f"{INPUT_FOLDER}/{name}")]
    if absent and not missing:
        notes.append(_NO_INPUTS.format(names=display_text(", ".join(absent[:_MAX_NOTES]))))
    complete = not notes
    if _is_edited(recording):
        notes.append(_EDITED)
    kept = frozenset(missing)
    return Replay(recording, Preparation(tuple(notes[:_MAX_NOTES]), kept, complete), network)


def open_recording(file: Path, folder: RunFolder | None = None) -> Recording:
    """Open a recorded run for a replay or an example."""
    try:
        return Recording(file, folder)
    except OSError as error:
        raise RunError(f"{file} cannot be read: {error.strerror}.") from error


def _step_limit(round_: RecordedRound, started: RunStarted) -> int:
    """Return a limit that is reached only if the recorded round reached it."""
    count = len(round_.steps)
    if round_.status == "step_limit":
        return max(count, 1)
    return max(count + 1, int(started.limits.get("steps") or 0))


def _is_edited(recording: Recording) -> bool:
    """Whether the last request to the model is not the one that was sent."""
    if recording.folder is None:
        return False
    sent = [each.step for each in read_log(recording.folder.requests) if each.sent is not None]
    if not sent:
        return False
    try:
        return rebuild_request(recording.folder, sent[-1]).note == HASH_DIFFERS
    except RunError:
        return True


def _prompt(name: str, system: str) -> Prompt:
    known = name if name in prompts.list_all_names() else "general"
    return replace(prompts.get_bundled(known), system=system, name=name)


@contextmanager
def _round_stop(stop: Stop) -> Iterator[Stop]:
    """Yield a stop for one round, which is set when ``stop`` is."""
    ending = Stop()

    def end() -> None:
        ending.reason = stop.reason
        ending.set()

    with stop.on_set(end):
        yield ending
