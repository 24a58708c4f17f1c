"""Recorded demonstrations that ship with the studio; they play without an engine or a model."""

import json
import threading
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

from agent.errors import RunError
from agent.models import demonstration
from agent.runs.folder import RunFolder
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.manifest import ManifestLog

FOLDER = Path(__file__).parents[1] / "examples" / "recordings"
ABOUT_FILE, JOURNAL, MANIFESTS, CONTENTS = (
    "recording.json", "journal.jsonl", "manifests.jsonl", "contents/",
)  # fmt: skip
_OPENED_FILE = "recordings.json"
_FIRST = ("journey", "physics", "poster")
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Recording:
    """A recorded run that ships with the studio."""

    name: str  # of the demonstration
    title: str  # a few words for a button
    about: str  # one line: what to watch for
    steps: int
    seconds: float
    path: Path  # of its zip file


@cache
def recordings() -> Sequence[Recording]:
    """Return the recordings in the order in which the page offers them."""
    found = [_read_about(path) for path in sorted(FOLDER.glob("*.zip"))]
    rank = {name: at for at, name in enumerate(_FIRST)}
    return sorted(found, key=lambda each: rank.get(each.name, len(rank)))


def find(name: str) -> Recording:
    """Return the recording with this name."""
    recording = next((each for each in recordings() if each.name == name), None)
    if recording is None:
        raise RunError("There is no such recorded run.")
    return recording


def open_recording(
    data: Path, owner: str, recording: Recording, create: Callable[[], str], blobs: BlobStore
) -> tuple[str, bool]:
    """Return the owner's run of a recording, and whether it was just copied."""
    with _lock:
        opened = _read_opened(data)
        key = f"{recording.name}:{owner}"
        if key in opened and _is_whole(data, opened[key], owner):
            return opened[key], False
        run = create()
        _copy(recording, RunFolder.open(data, run), blobs)
        opened[key] = run
        part = data / f"{_OPENED_FILE}.new"
        part.write_text(json.dumps(opened), encoding="utf-8")
        part.replace(data / _OPENED_FILE)
        return run, True


def _copy(recording: Recording, folder: RunFolder, blobs: BlobStore) -> None:
    """Copy a recording into a run's folder; the journal last, which makes it a run."""
    with zipfile.ZipFile(recording.path) as archive, blobs.protected():
        about = json.loads(archive.read(ABOUT_FILE))
        for name in archive.namelist():
            if name.startswith(CONTENTS):
                content = archive.read(name)
                blobs.put(BytesIO(content), limit=len(content))
        folder.manifests.write_bytes(archive.read(MANIFESTS))
        _write_files(folder, blobs)
        folder.set_sandbox(folder.sandbox)
        journal = archive.read(JOURNAL)
        for old, new in ((about["run"], folder.id), (about["sandbox"], folder.sandbox)):
            journal = journal.replace(str(old).encode(), new.encode())
        part = folder.path / "journal.new"
        part.write_bytes(journal)
        part.replace(folder.journal)


def _write_files(folder: RunFolder, blobs: BlobStore) -> None:
    """Write the files as they were at the end of the run."""
    workspace = Workspace(folder.workspace)
    for path, node in ManifestLog(folder.manifests).manifest().nodes.items():
        if node.kind == "file" and node.hash:
            with blobs.open(node.hash) as content:
                workspace.write(RelPath(path), _chunks(content.read))


def _chunks(read: Callable[[int], bytes]) -> Iterator[bytes]:
    while chunk := read(256 * 1024):
        yield chunk


def _is_whole(data: Path, run: str, owner: str) -> bool:
    try:
        folder = RunFolder.open(data, run)
    except RunError:
        return False
    return folder.owner == owner and folder.journal.is_file()


def _read_opened(data: Path) -> dict[str, str]:
    """Return which run was copied from which recording; unreadable data counts as none."""
    try:
        opened: Any = json.loads((data / _OPENED_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(opened, dict):
        return {}
    return {key: run for key, run in opened.items() if isinstance(run, str)}


def _read_about(path: Path) -> Recording:
    with zipfile.ZipFile(path) as archive:
        about = json.loads(archive.read(ABOUT_FILE))
    script = demonstration.load(path.stem)
    return Recording(
        path.stem, script.title, script.watch, int(about["steps"]), float(about["seconds"]), path
    )
