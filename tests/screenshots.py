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
from contextlib import ExitStack
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
from tests.support.browser.controlled import BROWSERS, MOUNTED, ControlledPage, shown
from tests.support.browser.page_views import VIEWS
from tests.support.page_states import (
    STATES,
    ScriptedStudio,
    open_scripted,
    serve_scripted,
    set_appearance,
)
from tests.support.server import create_app, run_server, wait_until
from tests.support.tab import WIDE, StudioTab, launch_chromium

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

ELSEWHERE = {
    "firefox": APPEARANCES,
    "webkit": (
        *(each for each in APPEARANCES if each.size[0] > each.size[1] and not each.forced),
        Appearance((450, 974), zoom=115), Appearance((450, 974), "dark", zoom=115),
    ),
}  # fmt: skip
"""What another browser is asked for: WebKit's window is not narrower than 450 pixels."""
CLICKED = {"settings": "button.settings", "history": "button.history"} | {
    f"preview_{kind}": f".tree [data-path='input/{samples[0].name}']"
    for kind, samples in SAMPLES.items()
}
"""What shows a state when its address is open."""
MAIN_STATES = (
    "nothing_yet", "running_a_command", "waiting_for_approval", "failed", "submitted",
    "demonstration", "playback", "present_step", "present_end", "comparison_finished",
    "comparison_presented", "evaluation", "evaluation_presented", "report", *CLICKED,
)  # fmt: skip
"""The states that another browser shows: by their address, presented, or by one click."""
KEYS = {"present_step": 4 * "\ue00e"}
"""What is pressed on stage: PageUp in WebDriver's alphabet."""
LOADED = """[...document.images].every((each) => each.complete || !each.checkVisibility()
  || each.getBoundingClientRect().top > innerHeight)"""
FILES_TAB = ".pane-tabs [data-pane=files]"
DRAWN = "document.documentElement.dataset.drawn"
PARTS = ".step, .step-text strong, .round-end, .column, dialog[open] li, tbody tr"


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
        chosen = options.states or (MAIN_STATES if options.browser else states)
        reached = {name: states[name] for name in chosen}
        if options.browser:
            _take_elsewhere(browser, options.browser, reached, options.into)
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
        studio.page.locator(FILES_TAB).dispatch_event("click")

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
    browser: Browser, other: str, states: Mapping[str, Reach], folder: Path
) -> None:
    """Reach each state in Chromium; another browser opens its address."""
    folder.mkdir(parents=True, exist_ok=True)
    by_setup: dict[tuple[int, bool], list[Appearance]] = {}
    for each in ELSEWHERE[other]:
        by_setup.setdefault((each.zoom, each.forced), []).append(each)
    with (
        tempfile.TemporaryDirectory() as data, serve_scripted(Path(data)) as stage,
        tempfile.TemporaryDirectory() as profiles, ExitStack() as stack,
    ):  # fmt: skip
        pages = {
            setup: stack.enter_context(
                BROWSERS[other](Path(profiles, str(setup)), setup[0] / 100, forced=setup[1])
            )
            for setup in by_setup
        }
        for name, reach in states.items():
            with open_scripted(browser, stage) as studio:
                reach(studio, stage)
                for setup, page in pages.items():
                    page.resize(*(side * setup[0] // 100 for side in WIDE))
                    _open_as(page, studio, name)
                    for each in by_setup[setup]:
                        _show_as(page, each)
                        _screenshot_path(folder, name, each).write_bytes(page.screenshot())
            print(name, flush=True)
    for each in ELSEWHERE[other]:
        _save_sheets(folder, each, list(states))


def _open_as(page: ControlledPage, studio: StudioTab, name: str) -> None:
    """Open the address of a tab in another browser, and wait until it shows as much."""
    page.goto(studio.page.url)
    page.wait_for(MOUNTED)
    if clicked := CLICKED.get(name):
        page.wait_for(shown(clicked))
        page.evaluate(f"document.querySelector({clicked!r}).click()")
    if studio.page.locator("html[data-presenting]").count():
        _wait_for_parts(page, studio)
        page.evaluate("Element.prototype.requestFullscreen = async () => undefined")
        buttons = "[...document.querySelectorAll('[aria-keyshortcuts=p]')]"
        page.evaluate(f"{buttons}.find((each) => each.checkVisibility()).click()")
        page.wait_for("'presenting' in document.documentElement.dataset")
        if keys := KEYS.get(name):
            page.wait_for("document.documentElement.dataset.stage === 'end'")
            page.press(*keys)
    _wait_for_parts(page, studio)
    if name.startswith("preview"):
        page.wait_for(shown(".preview .canvas > *"))
        page.evaluate(f"document.querySelector({FILES_TAB!r}).click()")  # narrow windows show one
    page.wait_for("!document.querySelector('.preview .waiting')")
    page.wait_for(LOADED)


def _wait_for_parts(page: ControlledPage, studio: StudioTab) -> None:
    """Wait until a page has as many parts as a tab, which is as wide: both may be loading."""
    parts = f"document.querySelectorAll({PARTS!r}).length"
    wait_until(lambda: page.evaluate(parts) == studio.page.evaluate(parts))


def _show_as(page: ControlledPage, appearance: Appearance) -> None:
    """Set the size and theme of another browser's page."""
    page.resize(*appearance.size)
    theme = "document.documentElement.dataset.theme"
    page.evaluate(f"{theme} === {appearance.scheme!r} || document.querySelector('.theme').click()")
    page.evaluate(f"{DRAWN} = '', requestAnimationFrame(() => ({DRAWN} = 'yes'))")
    page.wait_for(f"{DRAWN} === 'yes'")  # at this size
    page.wait_for("!document.getAnimations().some((each) => each instanceof CSSTransition)")


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
