"""Runs without a page, in a few lines; the README shows them."""

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from agent import journal, recorder
from agent.computers import Computers
from agent.errors import DataFolderBusy, WorkspaceError
from agent.folder import RunFolder
from agent.inputs import INPUT
from agent.record import close_interrupted
from agent.recorder import RecordedRun
from agent.sandbox import disk
from agent.sandbox.instance import DataFolder, places
from agent.settings import Settings, load
from agent.trajectory import trajectory
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.transfer import Report, copy_in, copy_out

OUTPUT = RelPath("output")


class Source(recorder.Computers, Protocol):
    """Where a studio's sandboxes come from; ``agent.computers.Computers`` is one."""

    def draft(self) -> str:
        """Make a sandbox's folder with an empty workspace; its id."""

    def close(self) -> None:
        """Let go of what is held."""


class Studio:
    """Sandboxes for runs, on a data folder that this process holds.

    Entering it takes the data folder; where a page or another command holds that, a place
    within it. The engine is only connected for the first run in a sandbox.

    Args:
        settings: What to use; by default the environment's, with no sandboxes kept warm.
        source: Makes what gives the sandboxes, for the data folder that is held.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        source: Callable[[Settings, DataFolder], Source] = Computers,
    ) -> None:
        self.settings = settings or replace(load(), pool=0)
        self._source = source
        self._held = ExitStack()

    def __enter__(self) -> Self:
        """Hold the data folder. Raises ``DataFolderBusy`` where every place is taken."""
        data = self._held.enter_context(_data_folder(self.settings.data))
        self._data = data.path
        self._computers = self._held.enter_context(closing(self._source(self.settings, data)))
        close_interrupted(self._data)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._held.close()

    def new(self, inputs: Iterable[Path] = (), report: Report | None = None) -> RecordedRun:
        """A run that has not begun, to be started and closed by the caller.

        Args:
            inputs: Files and folders to be copied into its ``input/``.
            report: Told what was copied and what was left out.

        Raises:
            WorkspaceError: an input is not there or cannot be read; no run is left.
        """
        folder = RunFolder.create(self._data, self._computers.draft())
        with ExitStack() as on_failure:
            on_failure.callback(shutil.rmtree, folder.path, ignore_errors=True)
            on_failure.callback(disk.discard, folder.sandbox_folder)
            for path in inputs:
                copied = copy_in(Workspace(folder.workspace), path, INPUT)
                if report is not None:
                    report.copied += copied.copied
                    report.left_out += copied.left_out
            on_failure.pop_all()
        return RecordedRun(folder, self._computers)


def hand_over(run: RecordedRun, destination: Path) -> Report:
    """Copy out what a run made: ``files/``, ``journal.jsonl``, ``trajectory.json``.

    Where the model removed or replaced ``output/`` itself, the report says so and the rest
    is handed over.

    Raises:
        WorkspaceError: the destination cannot be written.
    """
    made = trajectory(event for _, event in journal.read(run.folder.journal))
    try:
        destination.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(run.folder.journal, destination / "journal.jsonl")
        text = json.dumps(made, indent=2, ensure_ascii=False)
        # Half a character that a model wrote becomes an escape of JSON's own.
        data = text.encode("utf-8", "backslashreplace")
        (destination / "trajectory.json").write_bytes(data)
    except OSError as error:
        raise WorkspaceError(f"{destination} cannot be written: {error.strerror}.") from error
    try:
        run.workspace.list(OUTPUT)
    except WorkspaceError as error:
        (destination / "files").mkdir(exist_ok=True)
        return Report(left_out=[str(error)])
    return copy_out(run.workspace, OUTPUT, destination / "files")


@contextmanager
def _data_folder(path: Path) -> Iterator[DataFolder]:
    for place in places(path):
        try:
            folder = DataFolder(place)
        except DataFolderBusy:
            continue
        with folder:
            yield folder
        return
    raise DataFolderBusy(f"{path} and all places beside it are in use. Wait for a run to end.")
