"""Pictures of the first screen, from real runs: ``python -m tests.pictures.gallery [NAME …]``.

Each demonstration and each small task of the built-in model is played on the page, on a real
engine; what the preview shows is recorded. Each comparison example of the built-in model is carried
out in both modes. Everything is written to ``static/gallery/``: ``NAME.webp`` moves,
``NAME-still.webp`` is its last frame, ``runs.json`` has the texts.
"""

import argparse
import io
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from PIL import Image, ImageChops, ImageStat
from playwright.sync_api import Browser, ViewportSize, expect

from agent.api.studio import Studio
from agent.data_folder import DataFolder
from agent.events import Mode, ModelAnswered, RunEnded, RunStarted, ToolEnded
from agent.examples import Example, examples
from agent.models.builtin.install import BUILTIN_ID
from agent.provisioning.provider import DockerSandboxProvider
from agent.settings import Settings
from tests.support.server import create_app, run_server
from tests.support.tab import StudioTab, launch_chromium

GALLERY = Path(__file__).parents[2] / "static" / "gallery"
RUNS = GALLERY / "runs.json"
SIZE = (480, 300)
VIEWPORT: ViewportSize = {"width": 1640, "height": 640}
TIMELINE = {"x": 0, "y": 0, "width": 640, "height": 400}
PREVIEW = {"x": 660, "y": 0, "width": 960, "height": 600}
"""The recorded parts of the page, in pixels of the window."""

ARRANGEMENT = """
#timeline, .preview:not([hidden]) {
  position: fixed !important; z-index: 1000; top: 0; background: var(--bg);
}
#timeline { left: 0; width: 640px; height: 400px; }
.preview:not([hidden]) { left: 660px; width: 960px; height: 600px; }
.preview > :is(.header, .cost), .zoombar, .timeline > :not(.thread) { display: none !important; }
.thread { padding: 10px 16px !important; }
"""
"""Puts the recorded parts where they are recorded, without their controls."""

FRAME_SECONDS = 0.25
MAX_FRAMES, MAX_TIMELINE_FRAMES = 10, 6
BLANK_DEVIATION = 6.0
MAX_BYTES, MAX_STILL_BYTES = 58_000, 14_000
QUALITIES = (75, 55, 40, 28, 18)
LAST_FRAME_MS, FRAME_MS = 2600, 380
LIVE_SECONDS = 2.5
"""How long the last file is recorded: it may move."""

MAX_PROMPT, MAX_SHOWN = 160, 600
"""Maximum characters of a prompt, and of a command or an output, in ``runs.json``."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only these (as in runs.json)")
    options = parser.parse_args()
    GALLERY.mkdir(exist_ok=True)
    recorded = json.loads(RUNS.read_text()) if RUNS.exists() else {}
    with launch_chromium() as browser, tempfile.TemporaryDirectory() as folder:
        for name, record in _record(browser, Path(folder), options.names):
            recorded[name] = record
            text = json.dumps(dict(sorted(recorded.items())), ensure_ascii=False, indent=1)
            RUNS.write_text(text + "\n", encoding="utf-8")
            print(name, flush=True)


def name_of(example: Example) -> str:
    """Return the name of an example's pictures: the demonstration's, or its title's words."""
    return example.demonstration or "-".join(example.title.lower().split())


def _record(
    browser: Browser, data: Path, names: Sequence[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    wanted = [
        each
        for each in examples()
        if (each.demonstration or each.builtin) and (not names or name_of(each) in names)
    ]
    settings = Settings(data=data / "page")
    provider = DockerSandboxProvider(settings, DataFolder(settings.data))
    with run_server(create_app(settings, provider)) as url:
        for example in wanted:
            if not example.expected:
                yield name_of(example), _play(browser, url, example)
    with Studio(Settings(data=data / "comparisons")) as studio:
        for example in wanted:
            if example.expected:
                modes: tuple[Mode, ...] = ("plain", "sandbox")
                yield name_of(example), {mode: _run(studio, example, mode) for mode in modes}


def _run(studio: Studio, example: Example, mode: Mode) -> dict[str, Any]:
    """Carry an example out in a mode; return its commands, answer and figures."""
    steps: list[dict[str, str]] = []
    ended, tokens, prompt = None, 0, ""
    with (
        example.input_files() as inputs,
        studio.run(
            example.task, inputs=inputs, model=BUILTIN_ID, prompt=example.prompt, mode=mode
        ) as run,
    ):
        for event in run:
            if isinstance(event, ModelAnswered):
                tokens += event.usage.generated if event.usage else 0
                commands = [json.loads(call.arguments).get("command") for call in event.calls]
                steps += [{"command": each[:MAX_SHOWN], "output": ""} for each in commands if each]
            elif isinstance(event, ToolEnded) and event.name == "execute_bash" and steps:
                steps[-1]["output"] = event.observation.partition("[STDOUT]\n")[2][:MAX_SHOWN]
            elif isinstance(event, RunStarted):
                prompt = event.user
            elif isinstance(event, RunEnded):
                ended = event
        model = run.recorded.state.model
    assert ended is not None
    return {
        "right": _plain(str(example.expected["answer"])) in _plain(ended.answer),
        "model": model,
        "status": ended.status,
        "answer": ended.answer,
        "reason": ended.reason,
        "prompt": prompt[:MAX_PROMPT],
        "steps": steps,
        "tokens": tokens,
        "promptTokens": ended.totals.prompt_tokens,
        "seconds": round(ended.totals.model_seconds + ended.totals.sandbox_seconds, 1),
    }


def _plain(text: str) -> str:
    """Return a text without what groups digits."""
    return text.replace(",", "")


def _play(browser: Browser, url: str, example: Example) -> dict[str, Any]:
    context = browser.new_context(viewport=VIEWPORT, color_scheme="light")
    studio = StudioTab(context.new_page())
    studio.open(url)
    expect(studio.page.locator(".welcome .ready")).to_be_hidden(timeout=600_000)
    studio.button("Examples").click()
    dialog = studio.page.get_by_role("dialog", name="Examples")
    dialog.get_by_role("button", name=example.title).click()
    expect(studio.state).not_to_have_text("")
    studio.page.add_style_tag(content=ARRANGEMENT)
    steps, results = _frames(studio)
    record: dict[str, Any] = {"answer": _answer(studio)}
    context.close()
    if results:
        _save(steps, results, name_of(example))
        record["picture"] = True
    return record


def _frames(studio: StudioTab) -> tuple[list[Image.Image], list[Image.Image]]:
    """Return pictures of the timeline and of the preview, each once, until the run has ended."""
    preview = studio.page.locator("#workspace .preview")
    steps: list[Image.Image] = []
    results: list[Image.Image] = []
    deadline = None
    while deadline is None or time.monotonic() < deadline:
        if deadline is None and studio.page.locator("#timeline .round-end").count():
            studio.page.wait_for_timeout(1500)  # until the last preview is complete
            deadline = time.monotonic() + (LIVE_SECONDS if preview.is_visible() else 0)
        elif deadline is None:
            _take(studio, TIMELINE, steps)
        if preview.is_visible() and not preview.locator(".waiting, .canvas.message").count():
            _take(studio, PREVIEW, results)
        studio.page.wait_for_timeout(1000 * FRAME_SECONDS)
    return steps, results


def _take(studio: StudioTab, clip: Any, frames: list[Image.Image]) -> None:
    """Append a picture of a part of the page if it differs from the last one and is not blank."""
    frame = Image.open(io.BytesIO(studio.page.screenshot(clip=clip))).convert("RGB")
    if ImageStat.Stat(frame.convert("L")).stddev[0] < BLANK_DEVIATION:
        return  # the page is still loading
    if not frames or ImageChops.difference(frame, frames[-1]).getbbox():
        frames.append(frame)


def _answer(studio: StudioTab) -> str:
    answer = studio.page.locator("#timeline .round-end .answer")
    return str(answer.first.text_content() or "").strip()[:MAX_SHOWN] if answer.count() else ""


def _save(steps: Sequence[Image.Image], results: Sequence[Image.Image], name: str) -> None:
    """Save the still picture, the last result; and the moving one: the steps, then the results."""
    _save_within(GALLERY / f"{name}-still.webp", MAX_STILL_BYTES, _scale(results[-1:]))
    frames = [*_thin(steps, MAX_TIMELINE_FRAMES), *_thin(results, MAX_FRAMES)]
    _save_within(GALLERY / f"{name}.webp", MAX_BYTES, _scale(frames))


def _scale(frames: Sequence[Image.Image]) -> Sequence[Image.Image]:
    return [each.resize(SIZE, Image.Resampling.LANCZOS) for each in frames]


def _save_within(path: Path, max_bytes: int, frames: Sequence[Image.Image]) -> None:
    """Save frames with the best quality that fits; leave frames out where none does."""
    first, *others = frames
    durations = [FRAME_MS] * len(others) + [LAST_FRAME_MS]
    for quality in QUALITIES:
        options: dict[str, Any] = {"quality": quality, "method": 4}
        if others:
            options |= {"save_all": True, "append_images": others, "duration": durations, "loop": 0}
        first.save(path, "WEBP", **options)
        if path.stat().st_size <= max_bytes:
            return
    if len(frames) < 3:
        raise ValueError(f"{path.name} does not fit into {max_bytes} bytes.")
    _save_within(path, max_bytes, [*frames[len(frames) % 2 :: 2][:-1], frames[-1]])


def _thin(frames: Sequence[Image.Image], most: int) -> Sequence[Image.Image]:
    """Return at most ``most`` frames, evenly chosen, the last one included."""
    count = min(len(frames), most)
    return [frames[round(at * (len(frames) - 1) / max(1, count - 1))] for at in range(count)]


if __name__ == "__main__":
    main()
