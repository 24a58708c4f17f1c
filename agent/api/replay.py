"""The run that ``Studio.replay`` is given."""

import os
from pathlib import Path

from agent.api import arguments
from agent.api.run import Run
from agent.errors import RunError
from agent.replay.recording import IN_PROGRESS, Recording
from agent.replay.replay import open_recording
from agent.runs import journal
from agent.runs.folder import RunFolder


def open_recording_of(run: "Run | str | os.PathLike[str]", data: Path) -> Recording:
    """Return the recording of a run, of its id, or of its exported folder or journal.

    Args:
        run: The run.
        data: The data folder with the ids.

    Raises:
        UsageError: There is nothing to replay.
        RunError: There is no such run, or it is in progress.
    """
    if isinstance(run, Run):
        if run.recorded.state.is_running:
            raise RunError(IN_PROGRESS)
        return open_recording(run.recorded.folder.journal, run.recorded.folder)
    if isinstance(run, str) and run in RunFolder.ids(data):
        folder = RunFolder.open(data, run)
        return open_recording(folder.journal, folder)
    path = arguments.path("run", run)
    file = path / journal.FILE if path.is_dir() else path
    if not file.is_file():
        raise RunError(f"There is no run and no journal “{str(run)[:200]}”.")
    return open_recording(file)
