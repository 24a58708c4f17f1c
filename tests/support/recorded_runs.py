"""Recorded runs, written to the disk without executing anything."""

import hashlib
import json
import time
import uuid
from dataclasses import replace
from pathlib import Path

from agent.events import Event, SandboxReady, Status, StepEnded, StepStarted, Totals, encode
from agent.models.base import Usage
from agent.runs.folder import Parent, RunFolder
from agent.workspace.versions.manifest import Delta, ManifestLog, Node
from tests.support.component.events import answered, continued, ended, started


def write_ended_run(
    data: Path,
    task: str = "Do it.",
    *,
    answer: str = "It is done.",
    at: float | None = None,
    model: str = "test-model",
    status: Status = "submitted",
    files: dict[str, bytes] | None = None,
    messages: tuple[str, ...] = (),
    metered: bool = True,
    parent: Parent | None = None,
    owner: str = "",
) -> RunFolder:
    """Write an ended run to a data folder, which need not be locked."""
    sandbox = uuid.uuid4().hex
    for name in ("input", "output"):
        (data / "sandboxes" / sandbox / "workspace" / name).mkdir(parents=True)
    folder = RunFolder.create(data, sandbox, owner, parent=parent)
    folder.set_sandbox(sandbox)
    at = time.time() - 60 if at is None else at
    totals = Totals(
        steps=1, prompt_tokens=30_000 if metered else 0, generated_tokens=1_500 if metered else 0,
        estimated=metered, metered=metered, model_seconds=2.0,
    )  # fmt: skip
    usage = Usage(30_000, 1_500) if metered else None
    end = ended(status, answer, totals=totals)
    events: list[Event] = [
        started(task, run=folder.id, model=model, metered=metered, limits={}, at=at),
        SandboxReady(sandbox=sandbox, seconds=0.5, pooled=True, at=at + 0.5),
        StepStarted(step=1, note="", at=at + 1),
        answered(1, "I work.", usage=usage, estimated=metered, seconds=2.0, at=at + 3),
        StepEnded(step=1, totals=totals, at=at + 4),
        replace(end, at=at + 5),
    ]
    for number, message in enumerate(messages, 1):
        continued_at = at + 100 * number
        events += [
            continued(message, model=model, metered=metered, at=continued_at),
            replace(end, at=continued_at + 5),
        ]
    folder.journal.write_bytes(b"".join(encode(event) + b"\n" for event in events))
    _write_files(folder, files or {})
    return folder


def _write_files(folder: RunFolder, files: dict[str, bytes]) -> None:
    """Write files to the workspace, with their manifest and their contents in the blob store."""
    nodes = {}
    for name, content in files.items():
        path = folder.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        blob = folder.data / "blobs" / digest[:2] / digest
        blob.parent.mkdir(parents=True, exist_ok=True)
        blob.write_bytes(content)
        nodes[name] = Node("file", len(content), 0o644, digest)
    if nodes:
        ManifestLog(folder.manifests).append(1, Delta(nodes, (), frozenset(nodes)))


def remove_end(folder: RunFolder) -> None:
    """Remove the journal's last event, the end of the run, as if its process had died."""
    content = folder.journal.read_bytes()
    folder.journal.write_bytes(content[: content.rindex(b'{"at"')])


def stored_hashes(data: Path) -> set[str]:
    return {path.name for path in (data / "blobs").glob("??/*")}


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def read_run_json(folder: RunFolder) -> dict[str, object]:
    content: dict[str, object] = json.loads((folder.path / "run.json").read_text())
    return content
