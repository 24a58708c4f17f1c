"""Moving through a run's past: from a key to the conversation and the files as of another step."""

import hashlib

from agent.runs.folder import RunFolder
from agent.workspace.versions.manifest import Delta, ManifestLog, Node
from tests.bench.context import BenchContext
from tests.bench.page.browser import BrowserTab, launch_browser
from tests.bench.page.opening import write_ended_run
from tests.bench.page.script import EventSource
from tests.bench.tables import Table, format_megabytes, sample_table

_READY = "document.querySelector('.time-bar:not([hidden]) .playback-track i')"
_MOVE = """async (key) => {
  const track = document.querySelector(".playback-track");
  const begun = performance.now();
  track.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const step = Number(track.getAttribute("aria-valuenow"));
  const moved = performance.now();
  const frame = () => new Promise(requestAnimationFrame);
  const row = () => document.querySelector('.tree [data-path="output/%21step.txt"] .size');
  while (row()?.textContent !== `${step} B`) await frame();
  return [moved - begun, performance.now() - begun];
}"""
"""Presses a key of the slider. Resolves with the milliseconds until the conversation, and until the
tree, show the other step: a file's size is the step's number."""


def table(
    context: BenchContext, *, steps: int = 300, files: int = 10_000, moves: int = 60
) -> Table:
    result = sample_table(
        "Moving through a run's past",
        f"a run of {steps:,} steps with {files:,} files",
        "From the key of the slider on, in Chromium. Bar: 100 ms until the files are those of the "
        "step. Memory: the page's JavaScript heap after a collection.",
    )
    data = context.folder / "scrubbing"
    with launch_browser(context) as chromium:
        from tests.bench.page.pages import draft, studio

        run = draft(data)
        write_ended_run(run, steps)
        _write_manifests(run, steps, files)
        with studio(data, EventSource()) as address, BrowserTab(chromium) as tab:
            tab.page.goto(f"{address}/?run={run.id}")
            tab.time_until(_READY)
            # The first visit of each step loads it; the memory after that must stay flat.
            for key in ("Home", *["ArrowRight"] * min(steps - 2, 10), "End", "Home"):
                tab.page.evaluate(_MOVE, key)
            heaps = [tab.heap_bytes()]
            for by, name, key in ((1, "one step", "ArrowRight"), (10, "ten steps", "PageUp")):
                tab.page.evaluate(_MOVE, "Home")
                measured = [tab.page.evaluate(_MOVE, key) for _ in range(moves)]
                to_the_end = max(1, (steps - 1) // by)
                for at, what in enumerate(("conversation", "files")):
                    seconds = [each[at] / 1000 for each in measured[:to_the_end]]
                    result.add_sample(f"by {name}: {what}", seconds)
                heaps.append(tab.heap_bytes())
    sizes = ", ".join(format_megabytes(heap) for heap in heaps)
    result.notes.append(f"Memory before, after {moves} and after {2 * moves} moves: {sizes}.")
    return result


def _write_manifests(run: RunFolder, steps: int, files: int) -> None:
    """Write the manifests of steps that each add a share of the files, and change one."""
    log = ManifestLog(run.manifests)
    node = Node("file", 5, 0o644, hashlib.sha256(b"a file").hexdigest())
    log.append(0, Delta({"output": Node("folder", mode=0o755)}))
    for step in range(1, steps + 1):
        numbers = range((step - 1) * files // steps, step * files // steps)
        added = {f"output/{number}.txt": node for number in numbers}
        changed = Node("file", step, 0o644, f"{step:064x}")
        log.append(step, Delta({"output/!step.txt": changed, **added}, added=frozenset(added)))
