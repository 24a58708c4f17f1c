"""Recorded runs for the first screen: ``python -m tests.pictures.recordings [NAME …]``.

Each demonstration is played on a real engine, without a network; its journal, its manifests and the
contents of its files are written to ``agent/examples/recordings``.
"""

import argparse
import json
import tempfile
import zipfile
from pathlib import Path

from agent.api.studio import Studio
from agent.events import RunEnded
from agent.examples import examples
from agent.history import recordings
from agent.runs import journal
from agent.runs.folder import RunFolder
from agent.runs.state import RunState
from agent.settings import Settings
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.manifest import ManifestLog

NAMES = ("journey", "physics", "poster")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES)
    options = parser.parse_args()
    recordings.FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as data:
        for name in options.names:
            folder = record(Path(data), name)
            path = recordings.FOLDER / f"{name}.zip"
            pack(folder, BlobStore(Path(data) / "blobs"), path)
            print(f"{path.name}: {path.stat().st_size:,} bytes", flush=True)


def record(data: Path, name: str) -> RunFolder:
    example = next(each for each in examples() if each.demonstration == name)
    with (
        Studio(Settings(data=data)) as studio,
        studio.run(example.task, model="demonstration", network="none") as run,
    ):
        ended = [event for event in run if isinstance(event, RunEnded)]
        folder = run.recorded.folder
    assert ended[-1].status == "submitted", ended[-1].reason
    return folder


def pack(folder: RunFolder, blobs: BlobStore, path: Path) -> None:
    state = RunState(run=folder.id)
    for cursor, event in journal.read(folder.journal):
        state.apply(event, cursor)
    hashes = {
        node.hash
        for _, delta in ManifestLog(folder.manifests).read()
        for node in delta.changed.values()
        if node.kind == "file" and node.hash and node.stored
    }
    totals = state.totals
    about = {
        "run": folder.id,
        "sandbox": state.sandbox,
        "steps": len(state.steps),
        "seconds": round(totals.model_seconds + totals.sandbox_seconds, 1),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr(recordings.ABOUT_FILE, json.dumps(about))
        archive.write(folder.journal, recordings.JOURNAL)
        archive.write(folder.manifests, recordings.MANIFESTS)
        for digest in sorted(hashes):
            archive.write(blobs.path(digest), recordings.CONTENTS + digest)


if __name__ == "__main__":
    main()
