"""What a list says of a run: small, kept beside its journal, made again from that where missing.

The journal stays the only record. A summary knows the size of the journal that it was made
from; where that has grown, it does not count any more.
"""

import secrets
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from agent import journal
from agent.events import Mode
from agent.fold import RoundHead, RunPicture
from agent.folder import RunFolder
from agent.removal import on_disk
from agent.workspace.manifest import Manifest
from agent.workspace.paths import RelPath
from agent.workspace.versions import Versions

MAX_TEXT = 2_000
"""Characters that are kept of a task, of an answer, and of all other messages together."""

MAX_NAMES = 200
"""Names of files that are kept."""

_PICTURES = 3
_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".bmp", ".svg")
_FORM = 1


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
        size: Bytes on disk of the run's folder and its workspace, when it was made.
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
    size: int
    form: int = _FORM


_adapter = TypeAdapter(Summary)


def summarize(picture: RunPicture, files: Iterable[str] = (), *, size: int = 0) -> Summary:
    """The summary of a run that has begun.

    Args:
        picture: The run.
        files: What is in its workspace, as URLs; by default what its steps changed.
        size: Its bytes on disk.
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
        size=size,
    )


def keep(folder: RunFolder, picture: RunPicture, manifest: Manifest | None = None) -> Summary:
    """Write the summary of a run beside its journal; where it cannot be written, it is made anew.

    Args:
        folder: The run's folder.
        picture: The run, all of its journal folded.
        manifest: Its workspace; read from the folder by default.
    """
    manifest = manifest or Versions(folder.manifests).manifest()
    files = (
        RelPath.trusted(path).to_url()
        for path, node in manifest.nodes.items()
        if node.kind == "file"
    )
    size = on_disk(folder.path) + on_disk(folder.sandbox_folder)
    summary = summarize(picture, files, size=size)
    part = folder.summary.with_name(f"{folder.summary.name}.{secrets.token_hex(4)}")
    with suppress(OSError):
        try:
            part.write_bytes(_adapter.dump_json(summary))
            part.replace(folder.summary)
        finally:
            part.unlink(missing_ok=True)
    return summary


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
