"""The folder for a run's results, checked before the run starts."""

import shutil
import tempfile
from pathlib import Path

from agent.errors import WorkspaceError

RESULT_NAMES = ("files", "journal.jsonl", "trajectory.json")
"""The names of a run's results; see ``agent.api.run.save_results``."""


def check_folder(folder: Path, *, overwrite: bool = False) -> None:
    """Create a folder if missing; check that results can be written, or ``WorkspaceError``."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        results = find_results(folder)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (FileExistsError, NotADirectoryError) as error:
        why = "it or one of its parents is a file"
        raise WorkspaceError(f"{folder} cannot be written: {why}. Choose another.") from error
    except OSError as error:
        why = error.strerror or str(error)
        raise WorkspaceError(f"{folder} cannot be written: {why}. Choose another.") from error
    if results and not overwrite:
        raise WorkspaceError(
            f"{folder} contains the results of another run "
            f"({', '.join(path.name for path in results)}). "
            "Choose another folder, or replace them with --overwrite."
        )


def check_file(file: Path) -> None:
    """Check that a file can be written, before its content is produced."""
    if file.is_dir():
        raise WorkspaceError(f"{file} is a folder. Give the path of a file.")
    try:
        with tempfile.TemporaryFile(dir=file.parent):
            pass
    except OSError as error:
        why = error.strerror or str(error)
        raise WorkspaceError(f"{file} cannot be written: {why}. Choose another.") from error


def find_results(folder: Path) -> list[Path]:
    """Return the paths of a run's results in a folder. Raises ``OSError``."""
    return [path for name in RESULT_NAMES if (path := folder / name).exists() or path.is_symlink()]


def delete_results(folder: Path) -> None:
    """Delete the results of another run; links are deleted, not followed."""
    for path in find_results(folder):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
