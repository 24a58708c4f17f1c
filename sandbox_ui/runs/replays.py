"""Start of a replay: a run of its own that executes the calls of a recorded run."""

from typing import Protocol

from agent.errors import RunActive
from agent.limits import Limits
from agent.replay.recording import IN_PROGRESS
from agent.replay.replay import open_recording, prepare
from agent.runs.parent import Parent
from sandbox_ui.runs.manager import RunManager


class DraftRemover(Protocol):
    """What deletes runs."""

    def delete(self, run_ids: list[str], /) -> int:
        """Delete runs; return the bytes freed."""


def start_replay(
    run_id: str, owner: str, runs: RunManager, drafts: DraftRemover, limits: Limits
) -> str:
    """Start a replay of a run that has ended; return the new run's id.

    Args:
        run_id: The recorded run.
        owner: The new run's owner.
        runs: The live runs.
        drafts: Deletes the new run if it cannot be started.
        limits: The operator's limits of a round.

    Raises:
        RunActive: if the run is in progress.
        UsageError: if there is nothing to replay.
        QuotaExceeded: if the owner may start no more runs.
        RunError: if the run does not exist.
    """
    folder = runs.folder(run_id)
    if run_id in runs.active_ids():
        raise RunActive(IN_PROGRESS)
    recording = open_recording(folder.journal, folder)
    task = recording.started.task
    runs.admission.check_start(owner, task)
    new = runs.create_draft(owner, parent=Parent(run_id, 0, kind="replay"))
    try:
        replay = prepare(recording, runs.folder(new))
        runs.start_events(
            new,
            task,
            lambda run, stop, ticket: replay.events(run, runs.contents, stop, ticket, limits),
        )
    except BaseException:
        drafts.delete([new])
        raise
    return new
