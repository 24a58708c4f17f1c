"""What a list says of a run: small, kept beside its journal, made again from that where missing.

The journal stays the only record. A summary knows the size of the journal that it was made
from; where that has grown, it does not count any more.
"""

import secrets
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from agent import journal
from agent.events import Mode
from agent.fold import RoundHead, RunPicture
from agent.folder import RunFolder
from agent.removal import on_disk, sandbox_on_disk
from agent.sandbox import disk
from agent.workspace.manifest import Delta, Manifest
from agent.workspace.paths import RelPath
from agent.workspace.versions import Versions

MAX_TEXT = 2_000
"""Characters that are kept of a task, of an answer, and of all other messages together."""

MAX_NAMES = 200
"""Names of files that are kept."""

_PICTURES = 3
_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".bmp", ".svg")
_BLOCK = 4096
_FORM = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A run in a few lines.

    Attributes:
        journal: The size of the journal that it was made from, bytes.
        task: The beginning of the task; ``messages`` of what was said after it.
        answer: The beginning of the last round's answer.
        state: As in ``RunPicture``; ``reason`` says why it failed.
        began: When the last round began, seconds since the epoch.
        at: When it ended; when it began, where it goes on.
        seconds: How long the rounds that have ended took together.
        prompt_tokens: Tokens read by the model, and ``generated_tokens`` written by it.
        files: What is in the workspace, as URLs: what was made first, what was given last.
        pictures: Images that were made, as URLs; a few.
        workspace: Bytes on disk of its workspace, when it was made.
        versions: Bytes of the contents that its manifests name, each once and in whole blocks;
            what another run names, too, is counted in both.
        size: Bytes on disk when it was made: record, workspace and versions together.
        form: Which form of summary this is.
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
    form: int = _FORM


_adapter = TypeAdapter(Summary)


@dataclass(frozen=True, slots=True)
class Space:
    """Bytes on disk that a run takes; see ``Summary``."""

    record: int = 0
    workspace: int = 0
    versions: int = 0


_NOT_KNOWN = Space()


def summarize(picture: RunPicture, files: Iterable[str] = (), space: Space = _NOT_KNOWN) -> Summary:
    """The summary of a run that has begun.

    Args:
        picture: The run.
        files: What is in its workspace, as URLs; by default what its steps changed.
        space: What it takes on the disk.
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
    """Write the summary of a run beside its journal; where it cannot be written, it is made anew.

    Args:
        folder: The run's folder.
        picture: The run, all of its journal folded.
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
    """What its files take at this moment; of a disk that is not mounted, what its file does."""
    return on_disk(folder) if disk.attached(folder) else sandbox_on_disk(folder)


def load(folder: RunFolder) -> Summary | None:
    """The summary that was kept, where it still says what the journal does."""
    try:
        summary = _adapter.validate_json(folder.summary.read_bytes())
        same = summary.journal == folder.journal.stat().st_size
    except (OSError, ValidationError):
        return None
    return summary if same and summary.form == _FORM else None


def derive(folder: RunFolder) -> Summary | None:
    """The summary made again from the journal, and kept; None where that holds no run."""
    picture = RunPicture(run=folder.id)
    for cursor, event in journal.read(folder.journal):
        picture.apply(event, cursor)
    if not picture.rounds:
        return None
    picture.cursor = folder.journal.stat().st_size
    return keep(folder, picture)


def _deltas(folder: RunFolder, contents: dict[str, int]) -> Iterator[Delta]:
    """A run's manifests; meanwhile the contents that they name are noted with their sizes."""
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
    """What was made for the person first, what they gave last."""
    order = {"output": 0, "input": 2}
    return sorted(
        dict.fromkeys(names), key=lambda name: (order.get(name.partition("/")[0], 1), name)
    )
