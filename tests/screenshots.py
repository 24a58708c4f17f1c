"""Screenshots of the page: ``python -m tests.screenshots`` takes some of every state.

Each state is seen in every window, each theme, forced colours, and at 200 %. The pictures are
written to ``screenshots/``, or another folder, with contact sheets for each appearance. Names of
states limit it to those. With ``--browser``, Firefox or WebKit opens the addresses of the main
states. With ``--readme``, the README's two images are made instead, from a demonstration played on
the real engine.
"""

import argparse
import io
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from PIL import Image
from playwright.sync_api import Browser, Page, expect

from agent.data_folder import DataFolder
from agent.models import demonstration
from agent.provisioning.provider import DockerSandboxProvider
from agent.settings import Settings
from tests.sandbox_ui.preview.samples import SAMPLES, Sample
from tests.support.browser.controlled import BROWSERS, MOUNTED, ControlledPage, Open
from tests.support.browser.page_views import VIEWS
from tests.support.page_states import (
    STATES,
    ScriptedStudio,
    open_scripted,
    serve_scripted,
    set_appearance,
)
from tests.support.server import create_app, run_server
from tests.support.tab import StudioTab, launch_chromium

ROOT = Path(__file__).parent.parent
SCREENSHOTS = ROOT / "screenshots"
README = ROOT / "static" / "readme"
README_SIZE = (1280, 800)
ANIMATION_WIDTH = 960
FRAME_SECONDS = 0.4
LAST_FRAME_SECONDS = 4.0
SHEET_WIDTH = 1960

Reach = Callable[[StudioTab, ScriptedStudio], None]


@dataclass(frozen=True)
class Appearance:
    """A window in pixels of the screen, how far it is zoomed, and its colours."""

    size: tuple[int, int]
    scheme: Literal["light", "dark"] = "light"
    zoom: int = 100
    forced: bool = False

    def __str__(self) -> str:
        colours = "forced" if self.forced else self.scheme
        return f"{self.size[0]}-{self.zoom}-{colours}"

    def apply(self, studio: StudioTab) -> None:
        width, height = (side * 100 // self.zoom for side in self.size)
        studio.page.emulate_media(forced_colors="active" if self.forced else "none")
        set_appearance(studio, (width, height), self.scheme)


APPEARANCES = (
    Appearance((1280, 720)), Appearance((1280, 720), "dark", zoom=200),
    Appearance((1280, 720), forced=True), Appearance((1920, 1080), "dark"),
    Appearance((2560, 1440)), Appearance((390, 844)), Appearance((390, 844), "dark"),
)  # fmt: skip

ELSEWHERE = (
    Appearance((1280, 720)), Appearance((1280, 720), "dark"), Appearance((450, 844)),
)  # fmt: skip
"""What another browser can be asked for; WebKit's window is not narrower."""
ADDRESSED = (
    "nothing_yet", "running_a_command", "waiting_for_approval", "failed", "submitted",
    "demonstration", "playback", "present_end", "comparison_finished", "comparison_presented",
    "evaluation", "evaluation_presented",
)  # fmt: skip
"""The states that another browser shows by their address, or by `p` to present it."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readme", action="store_true", help="make the README's images instead")
    parser.add_argument("--into", type=Path, default=SCREENSHOTS, help="the folder of the pictures")
    parser.add_argument("--browser", choices=BROWSERS, help="another browser than Chromium")
    states = _states()
    parser.add_argument("states", nargs="*", metavar="STATE", help=f"of {', '.join(states)}")
    options = parser.parse_args()
    if unknown := sorted({*options.states} - {*states}):
        parser.error(f"There is no state {', '.join(unknown)}.")
    with launch_chromium() as browser:
        if options.readme:
            _make_readme_images(browser)
            return
        chosen = options.states or (ADDRESSED if options.browser else states)
        reached = {name: states[name] for name in chosen}
        if options.browser:
            _take_elsewhere(browser, BROWSERS[options.browser], reached, options.into)
        else:
            _take_screenshots(browser, reached, options.into)


def _states() -> Mapping[str, Reach]:
    reached: dict[str, Reach] = {each.__name__: each for each in (*STATES, *VIEWS)}
    previews = {f"preview_{kind}": _preview(*samples) for kind, samples in SAMPLES.items()}
    return reached | previews


def _preview(sample: Sample, *_others: Sample) -> Reach:
    """Return how a file's preview is reached: attached, then chosen in the workspace."""

    def reach(studio: StudioTab, stage: ScriptedStudio) -> None:
        file: Any = {"name": sample.name, "mimeType": "", "buffer": sample.content}
        studio.page.get_by_label("Files to attach").set_input_files(file)
        studio.file(sample.name).click()
        canvas = studio.page.get_by_role("group", name="Preview").locator(".canvas > *").first
        expect(canvas).to_be_visible()
        expect(studio.page.locator(".preview .waiting")).to_have_count(0)

    return reach


def _take_screenshots(browser: Browser, states: Mapping[str, Reach], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as data, serve_scripted(Path(data)) as stage:
        for name, reach in states.items():
            with open_scripted(browser, stage) as studio:
                reach(studio, stage)
                for each in APPEARANCES:
                    each.apply(studio)
                    studio.page.screenshot(path=_screenshot_path(folder, name, each))
                studio.page.emulate_media(forced_colors="none")
            print(name)
    for each in APPEARANCES:
        _save_sheets(folder, each, list(states))


def _take_elsewhere(
    browser: Browser, open_other: Open, states: Mapping[str, Reach], folder: Path
) -> None:
    """Reach each state in Chromium; another browser opens its address."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as data, serve_scripted(Path(data)) as stage,
        tempfile.TemporaryDirectory() as profile, open_other(Path(profile)) as page,
    ):  # fmt: skip
        for name, reach in states.items():
            with open_scripted(browser, stage) as studio:
                reach(studio, stage)
                _open_as(page, studio)
                for each in ELSEWHERE:
                    page.resize(*each.size)
                    theme = "document.documentElement.dataset.theme"
                    page.evaluate(
                        f"{theme} === {each.scheme!r} || document.querySelector('.theme').click()"
                    )
                    page.wait_for(
                        "!document.getAnimations().some((each) => each instanceof CSSTransition)"
                    )
                    _screenshot_path(folder, name, each).write_bytes(page.screenshot())
            print(name)
    for each in ELSEWHERE:
        _save_sheets(folder, each, list(states))


def _open_as(page: ControlledPage, studio: StudioTab) -> None:
    """Open the address of a tab in another browser, and wait until it shows as much."""
    page.goto(studio.page.url)
    page.wait_for(MOUNTED)
    parts = "document.querySelectorAll('.step, .round-end, .column, .preview img, tbody tr').length"
    page.wait_for(f"{parts} === {studio.page.evaluate(parts)}")
    if studio.page.locator("html[data-presenting]").count():
        page.evaluate("Element.prototype.requestFullscreen = async () => undefined")
        page.evaluate("document.activeElement.blur()")
        page.press("p")
        page.wait_for("'presenting' in document.documentElement.dataset")
    page.wait_for("[...document.images].every((each) => each.complete)")


def _screenshot_path(folder: Path, name: str, appearance: Appearance) -> Path:
    return folder / f"{name.replace('_', '-')}-{appearance}.png"


def _save_sheets(folder: Path, appearance: Appearance, names: Sequence[str]) -> None:
    """Save an appearance's pictures in sheets, each as high as it is wide at most."""
    columns = 3 if appearance.size[0] > appearance.size[1] else 6
    width = SHEET_WIDTH // columns
    rows = max(1, SHEET_WIDTH * appearance.size[0] // (width * appearance.size[1]))
    for sheet, start in enumerate(range(0, len(names), rows * columns), 1):
        shown = names[start : start + rows * columns]
        paths = [_screenshot_path(folder, name, appearance) for name in shown]
        pictures = [Image.open(path).convert("RGB") for path in paths]
        path = _screenshot_path(folder, f"sheet-{sheet}", appearance)
        _contact_sheet(pictures, columns, width).save(path)


def _contact_sheet(pictures: Sequence[Image.Image], columns: int, width: int) -> Image.Image:
    """Combine pictures of one size, scaled to a width, in one image."""
    height = width * pictures[0].height // pictures[0].width
    rows = -(-len(pictures) // columns)
    sheet = Image.new("RGB", (columns * (width + 8), rows * (height + 8)), "#888")
    for index, picture in enumerate(pictures):
        position = (index % columns * (width + 8) + 4, index // columns * (height + 8) + 4)
        sheet.paste(picture.resize((width, height)), position)
    return sheet


def _make_readme_images(browser: Browser) -> None:
    README.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder))
        provider = DockerSandboxProvider(settings, DataFolder(settings.data))
        with run_server(create_app(settings, provider)) as studio_url:
            frames = _record_demonstration(browser, studio_url)
    _save_animation(frames, README / "demonstration.webp")


def _record_demonstration(browser: Browser, studio_url: str) -> Sequence[Image.Image]:
    """Play the chart demonstration; returns its frames, and saves the last one for the README."""
    context = browser.new_context(viewport={"width": README_SIZE[0], "height": README_SIZE[1]})
    studio = StudioTab(context.new_page())
    studio.open(studio_url)
    expect(studio.page.locator(".welcome .ready")).to_be_hidden(timeout=600_000)
    frames = [_take_frame(studio.page)]
    studio.button(f"Watch: {demonstration.load('chart').title}").click()
    ending = studio.timeline.locator(".round-end")
    while not ending.is_visible():
        studio.page.wait_for_timeout(1000 * FRAME_SECONDS)
        frames.append(_take_frame(studio.page))
    expect(studio.page.get_by_role("group", name="Preview").get_by_role("img")).to_be_visible()
    expect(ending).to_contain_text("Answer")
    expect(ending.locator("img")).to_have_js_property("complete", True)
    studio.page.screenshot(path=README / "page.png")
    context.close()
    return [*frames, Image.open(README / "page.png").convert("RGB")]


def _take_frame(page: Page) -> Image.Image:
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


def _save_animation(frames: Sequence[Image.Image], path: Path) -> None:
    height = round(ANIMATION_WIDTH * README_SIZE[1] / README_SIZE[0])
    first, *others = (
        frame.resize((ANIMATION_WIDTH, height), Image.Resampling.LANCZOS) for frame in frames
    )
    durations = [round(1000 * FRAME_SECONDS)] * len(others) + [round(1000 * LAST_FRAME_SECONDS)]
    first.save(
        path, save_all=True, append_images=others, duration=durations, loop=0, quality=60, method=4
    )
    print(path.name, path.stat().st_size // 1024, "KB", len(frames), "frames")


if __name__ == "__main__":
    main()
