"""Find the recorded run that an argument of a command names."""

from dataclasses import dataclass
from pathlib import Path

from agent.data_folder import candidate_folders
from agent.errors import RunError
from agent.events import RunStarted
from agent.runs import journal
from agent.runs.folder import RunFolder


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A recorded run; ``folder`` is None for an exported folder or a single journal."""

    journal: Path
    folder: RunFolder | None = None

    @property
    def files(self) -> Path | None:
        """The folder of its output files beside an exported journal; None if there is none."""
        files = self.journal.parent / "files"
        return files if self.folder is None and files.is_dir() else None


def find_run(text: str, data: Path) -> FoundRun:
    """Return the run with this id or journal; an existing path goes before an id."""
    path = Path(text)
    found = _in_folder(path) if path.exists() else _with_id(text, data)
    if found is None:
        raise RunError(
            f"There is no run “{text[:200]}”. Give the id of a run in {data}, the folder of an "
            f"exported run, or a {journal.FILE}."
        )
    _check(found.journal)
    return found


def _in_folder(path: Path) -> FoundRun | None:
    file = path / journal.FILE if path.is_dir() else path
    if not file.is_file():
        return None
    folder = file.resolve().parent
    if (
        file.name == journal.FILE
        and folder.parent.name == "runs"
        and (folder / "run.json").is_file()
    ):
        return FoundRun(file, RunFolder.open(folder.parents[1], folder.name))
    return FoundRun(file)


def _with_id(text: str, data: Path) -> FoundRun | None:
    for place in candidate_folders(data):
        if text in RunFolder.ids(place):
            folder = RunFolder.open(place, text)
            return FoundRun(folder.journal, folder)
    return None


def _check(file: Path) -> None:
    """Refuse a file that is not a journal, and a run that has not begun."""
    try:
        _, first = next(journal.read(file), (0, None))
    except OSError as error:
        raise RunError(f"{file} cannot be read: {error.strerror}.") from error
    if not isinstance(first, RunStarted):
        raise RunError(f"{file} is not the journal of a run that has begun.")
