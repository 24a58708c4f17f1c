"""The Python API for runs without a page; docs/python-api.md shows its use."""

import json
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from agent.data_folder import DataFolder, places
from agent.errors import DataFolderBusy, WorkspaceError
from agent.history.trajectory import trajectory
from agent.output_folder import check_folder, clear
from agent.provisioning.provider import Computers
from agent.runs import journal, recorder
from agent.runs.folder import RunFolder
from agent.runs.inputs import INPUT
from agent.runs.record import close_interrupted
from agent.runs.recorder import RecordedRun
from agent.sandbox.disk import volume
from agent.settings import Settings, load
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.transfer.copy import Report, copy_in, copy_out

OUTPUT = RelPath("output")


class Source(recorder.Computers, Protocol):
    """A provider of sandboxes, such as ``agent.provisioning.provider.Computers``."""

    def draft(self) -> str:
        """Create a sandbox's folder with an empty workspace and return the sandbox's id."""

    def close(self) -> None:
        """Release all resources."""


class Studio:
    """A context manager that creates runs in a data folder locked by this process.

    On entry it locks the data folder or, if another process holds that, a subfolder of it. On
    exit it ends the sandboxes of all open runs. It connects to the container engine when the
    first run needs a sandbox.

    Args:
        settings: The settings; by default those of the environment, without warm sandboxes.
        source: Creates the sandbox provider for the locked data folder.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        source: Callable[[Settings, DataFolder], Source] = Computers,
    ) -> None:
        self.settings = settings or replace(load(), pool=0)
        self._source = source
        self._held = ExitStack()
        self._runs: list[RecordedRun] = []
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        """Lock a data folder. Raises ``DataFolderBusy`` if all candidates are locked."""
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
        """Close the open runs, then the sandbox provider and the data folder."""
        with self._held:
            for run in self.open_runs:
                self._held.callback(run.close)

    @property
    def open_runs(self) -> list[RecordedRun]:
        """The runs that this studio created and that are not closed."""
        with self._lock:
            self._runs = [each for each in self._runs if not each.closed]
            return list(self._runs)

    def new(self, inputs: Iterable[Path] = (), report: Report | None = None) -> RecordedRun:
        """Create a run without starting it.

        The caller closes the run; otherwise the studio does on exit.

        Args:
            inputs: Files and folders to copy into the run's ``input/``.
            report: Receives the names of the files copied and left out.

        Raises:
            WorkspaceError: An input is missing or cannot be read; no run is created.
        """
        folder = RunFolder.create(self._data, self._computers.draft())
        with ExitStack() as on_failure:
            on_failure.callback(shutil.rmtree, folder.path, ignore_errors=True)
            on_failure.callback(volume.discard, folder.sandbox_folder)
            for path in inputs:
                copied = copy_in(Workspace(folder.workspace), path, INPUT)
                if report is not None:
                    report.copied += copied.copied
                    report.left_out += copied.left_out
            on_failure.pop_all()
        run = RecordedRun(folder, self._computers)
        with self._lock:
            self._runs = [*(each for each in self._runs if not each.closed), run]
        return run


def hand_over(run: RecordedRun, destination: Path, *, overwrite: bool = False) -> Report:
    """Copy a run's results out: ``files/``, ``journal.jsonl``, ``trajectory.json``.

    If the model removed or replaced ``output/`` itself, the report says so and the other
    results are still copied.

    Args:
        run: The run.
        destination: The folder to copy into.
        overwrite: Whether to replace the results of another run.

    Raises:
        WorkspaceError: The destination cannot be written, or holds the results of another run.
    """
    check_folder(destination, overwrite=overwrite)
    made = trajectory(event for _, event in journal.read(run.folder.journal))
    try:
        clear(destination)
        shutil.copyfile(run.folder.journal, destination / "journal.jsonl")
        text = json.dumps(made, indent=2, ensure_ascii=False)
        # A lone surrogate in the model's text becomes a JSON escape.
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
