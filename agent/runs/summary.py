"""Summaries of runs for lists, cached next to the journals.

The journal is the only source of truth. A summary stores the size of the journal it was derived
from; if the journal has grown since, the summary is invalid and derived again.
"""

import secrets
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from agent.events import Mode
from agent.runs import journal
from agent.runs.disk_usage import on_disk, sandbox_on_disk
from agent.runs.folder import RunFolder
from agent.runs.state import RoundHead, RunPicture
from agent.sandbox.disk import volume
from agent.workspace.paths import RelPath
from agent.workspace.versions.log import Versions
from agent.workspace.versions.manifest import Delta, Manifest

MAX_TEXT = 2_000
"""Maximum characters of a task, of an answer, and of all other messages together."""

MAX_NAMES = 200
"""Maximum number of file names."""

_PICTURES = 3
_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".bmp", ".svg")
_BLOCK = 4096
_FORM = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The summary of a run.

    Attributes:
        journal: The size in bytes of the journal that it was derived from.
        task: The beginning of the task.
        messages: The beginning of the later messages.
        answer: The beginning of the last round's answer.
        state: As in ``RunPicture``; ``reason`` says why it failed.
        began: When the last round began, in seconds since the epoch.
        at: When the last round ended, or began if it is running.
        seconds: Total duration of the ended rounds.
        prompt_tokens: Tokens read by the model; ``generated_tokens``: written by it.
        files: Files in the workspace, as URLs: outputs first, inputs last.
        pictures: Some image files that the run created, as URLs.
        workspace: Bytes on disk of its workspace, when the summary was written.
        versions: Bytes of the contents that its manifests name, each once and in whole blocks;
            contents that two runs name count in both.
        size: Bytes on disk when the summary was written: record, workspace and versions.
        unreadable: Number of unreadable journal lines.
        form: Version of the summary format.
    """

    journal: int
    task: str
    messages: str
    answer: str
    model: str
    metered: bool
    mode: Mode
    state: str
    reason: str
    alive: bool
    began: float
    at: float
    seconds: float
    steps: int
    prompt_tokens: int
    generated_tokens: int
    estimated: bool
    files: tuple[str, ...]
    pictures: tuple[str, ...]
    workspace: int
    versions: int
    size: int
    unreadable: int = 0
    form: int = _FORM


_adapter = TypeAdapter(Summary)


@dataclass(frozen=True, slots=True)
class Space:
    """Bytes on disk that a run uses; see ``Summary``."""

    record: int = 0
    workspace: int = 0
    versions: int = 0


_NOT_KNOWN = Space()


def summarize(picture: RunPicture, files: Iterable[str] = (), space: Space = _NOT_KNOWN) -> Summary:
    """Return the summary of a run that has begun.

    Args:
        picture: The run's state.
        files: Files in its workspace, as URLs; by default those that its steps changed.
        space: Its disk usage.
    """
    names = _in_order(list(files) or [*_changed(picture), *picture.inputs])
    made = [name for name in names if not name.startswith("input/")]
    first, last, totals = picture.rounds[0], picture.rounds[-1], picture.totals
    return Summary(
        journal=picture.cursor,
        task=first.text[:MAX_TEXT],
        messages="\n".join(each.text for each in picture.rounds[1:])[:MAX_TEXT],
        answer=last.answer[:MAX_TEXT],
        model=picture.model,
        metered=picture.metered,
        mode=picture.mode,
        state=picture.state,
        reason=last.reason[:MAX_TEXT],
        alive=picture.alive,
        began=last.began,
        at=last.began if last.ended is None else last.ended,
        seconds=sum(_seconds(each) for each in picture.rounds),
        steps=len(picture.steps),
        unreadable=picture.unreadable,
        prompt_tokens=totals.prompt_tokens,
        generated_tokens=totals.generated_tokens,
        estimated=totals.estimated,
        files=tuple(names[:MAX_NAMES]),
        pictures=tuple(name for name in made if name.lower().endswith(_IMAGES))[:_PICTURES],
        workspace=space.workspace,
        versions=space.versions,
        size=space.record + space.workspace + space.versions,
    )


def keep(folder: RunFolder, picture: RunPicture) -> Summary:
    """Write a run's summary next to its journal and return it; ignore write errors.

    Args:
        folder: The run's folder.
        picture: The run's state after its whole journal.
    """
    contents: dict[str, int] = {}
    manifest = Manifest.after(_deltas(folder, contents))
    files = (
        RelPath.trusted(path).to_url()
        for path, node in manifest.nodes.items()
        if node.kind == "file"
    )
    versions = sum(-(-size // _BLOCK) * _BLOCK for size in contents.values())
    space = Space(on_disk(folder.path), _in_sandbox(folder.sandbox_folder), versions)
    summary = summarize(picture, files, space)
    part = folder.summary.with_name(f"{folder.summary.name}.{secrets.token_hex(4)}")
    with suppress(OSError):
        try:
            part.write_bytes(_adapter.dump_json(summary))
            part.replace(folder.summary)
        finally:
            part.unlink(missing_ok=True)
    return summary


def _in_sandbox(folder: Path) -> int:
    """Return the bytes used on the host's disk, including those not yet written back."""
    written = sandbox_on_disk(folder)
    return max(written, on_disk(folder)) if volume.attached(folder) else written


def load(folder: RunFolder) -> Summary | None:
    """Return the stored summary if it still matches the journal, otherwise None."""
    try:
        summary = _adapter.validate_json(folder.summary.read_bytes())
        same = summary.journal == folder.journal.stat().st_size
    except (OSError, ValidationError):
        return None
    return summary if same and summary.form == _FORM else None


def derive(folder: RunFolder) -> Summary | None:
    """Derive the summary from the journal and store it; None if it has no round."""
    picture = RunPicture(run=folder.id)
    for cursor, event in journal.read(folder.journal):
        picture.apply(event, cursor)
    if not picture.rounds:
        return None
    picture.cursor = folder.journal.stat().st_size
    return keep(folder, picture)


def _deltas(folder: RunFolder, contents: dict[str, int]) -> Iterator[Delta]:
    """Yield a run's manifest deltas; record the sizes of the contents that they name."""
    for _, delta in Versions(folder.manifests).read():
        named = (node for node in delta.changed.values() if node.hash and node.kept)
        contents.update((str(node.hash), node.size) for node in named)
        yield delta


def _seconds(round_: RoundHead) -> float:
    return 0.0 if round_.ended is None else max(0.0, round_.ended - round_.began)


def _changed(picture: RunPicture) -> Iterator[str]:
    known: dict[str, None] = {}
    for step in picture.steps:
        for change in step.changes:
            if change.what == "removed":
                known.pop(change.path, None)
            else:
                known[change.path] = None
    yield from known


def _in_order(names: list[str]) -> list[str]:
    """Sort file names: outputs first, inputs last."""
    order = {"output": 0, "input": 2}
    return sorted(
        dict.fromkeys(names), key=lambda name: (order.get(name.partition("/")[0], 1), name)
    )
