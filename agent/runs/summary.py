"""Summaries of runs for lists, reduced from their journals."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.events import Mode
from agent.runs.disk_usage import bytes_on_disk, sandbox_bytes_on_disk
from agent.runs.folder import RunFolder
from agent.runs.metrics.run_metrics import RunMetrics, metrics_of
from agent.runs.state import RoundSummary, RunState
from agent.sandbox.disk import volume
from agent.workspace.paths import RelPath
from agent.workspace.versions.manifest import Delta, Manifest, ManifestLog

MAX_TEXT = 2_000
"""Maximum characters of a task, of an answer, and of all other messages together."""

MAX_NAMES = 200
"""Maximum number of file names."""

_MAX_IMAGES = 3
_IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".bmp", ".svg")
_BLOCK = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The summary of a run; ``versions`` are the bytes of its contents, each once, in blocks."""

    task: str  # its beginning, as of all texts
    messages: str
    answer: str
    model: str
    metered: bool
    mode: Mode
    state: str
    reason: str
    running: bool
    began: float  # the last round
    at: float  # when the last round ended, or began if it is running
    seconds: float  # of the ended rounds
    steps: int
    prompt_tokens: int
    generated_tokens: int
    estimated: bool
    files: tuple[str, ...]  # as URLs: outputs first, inputs last
    images: tuple[str, ...]  # as URLs: some that the run created
    workspace: int  # bytes on disk
    versions: int
    size: int  # with run folder, workspace and versions
    unreadable: int = 0  # journal lines
    metrics: RunMetrics | None = None  # None in a summary of an earlier version
    copied_steps: int = 0  # by a fork


@dataclass(frozen=True, slots=True)
class DiskUsage:
    """Bytes on disk that a run uses; see ``Summary``."""

    run_folder: int = 0
    workspace: int = 0
    versions: int = 0


_NO_USAGE = DiskUsage()


def summarize(state: RunState, files: Iterable[str] = (), usage: DiskUsage = _NO_USAGE) -> Summary:
    """Return the summary of a begun run; ``files``, as URLs, are by default those it changed."""
    names = _in_order(list(files) or [*_changed_files(state), *state.inputs])
    created = [name for name in names if not name.startswith("input/")]
    first, last, totals = state.rounds[0], state.rounds[-1], state.totals
    return Summary(
        task=first.text[:MAX_TEXT],
        messages="\n".join(each.text for each in state.rounds[1:])[:MAX_TEXT],
        answer=last.answer[:MAX_TEXT],
        model=state.model,
        metered=state.metered,
        mode=state.mode,
        state=state.state,
        reason=last.reason[:MAX_TEXT],
        running=state.is_running,
        began=last.began,
        at=last.began if last.ended is None else last.ended,
        seconds=sum(_seconds(each) for each in state.rounds),
        steps=len(state.steps),
        copied_steps=state.copied_steps,
        unreadable=state.unreadable,
        prompt_tokens=totals.prompt_tokens,
        generated_tokens=totals.generated_tokens,
        estimated=totals.estimated,
        files=tuple(names[:MAX_NAMES]),
        images=tuple(name for name in created if name.lower().endswith(_IMAGE_SUFFIXES))[
            :_MAX_IMAGES
        ],
        workspace=usage.workspace,
        versions=usage.versions,
        size=usage.run_folder + usage.workspace + usage.versions,
        metrics=metrics_of(state, names),
    )


def measured(folder: RunFolder, state: RunState) -> Summary:
    """Return a run's summary with its files and its disk usage, which are measured."""
    contents: dict[str, int] = {}
    manifest = Manifest.from_deltas(_deltas(folder, contents))
    files = (
        RelPath.trusted(path).to_url()
        for path, node in manifest.nodes.items()
        if node.kind == "file"
    )
    versions = sum(-(-size // _BLOCK) * _BLOCK for size in contents.values())
    usage = DiskUsage(bytes_on_disk(folder.path), _sandbox_bytes(folder.sandbox_folder), versions)
    return summarize(state, files, usage)


def _sandbox_bytes(folder: Path) -> int:
    """Return the bytes used on the host's disk, including those not yet written back."""
    written = sandbox_bytes_on_disk(folder)
    return max(written, bytes_on_disk(folder)) if volume.is_attached(folder) else written


def _deltas(folder: RunFolder, contents: dict[str, int]) -> Iterator[Delta]:
    """Yield a run's manifest deltas; record the sizes of the contents that they name."""
    for _, delta in ManifestLog(folder.manifests).read():
        named = (node for node in delta.changed.values() if node.hash and node.stored)
        contents.update((str(node.hash), node.size) for node in named)
        yield delta


def _seconds(round_: RoundSummary) -> float:
    return 0.0 if round_.ended is None else max(0.0, round_.ended - round_.began)


def _changed_files(state: RunState) -> Iterator[str]:
    known: dict[str, None] = {}
    for step in state.steps:
        for change in step.changes:
            if change.kind == "removed":
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
