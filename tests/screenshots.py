"""Screenshots of the page: ``python -m tests.screenshots`` takes one of every state.

They are written to ``screenshots/``: each state at both widths, light and dark, with a contact
sheet for each combination. With ``--readme``, the README's two images are made instead, from a
demonstration played on the real engine.
"""

import argparse
import io
import tempfile
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, expect

from agent.data_folder import DataFolder
from agent.models import demonstration
from agent.provisioning.provider import DockerSandboxProvider
from agent.settings import Settings
from tests.support.page_states import (
    SCHEMES,
    SIZES,
    STATES,
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readme", action="store_true", help="make the README's images instead")
    options = parser.parse_args()
    with launch_chromium() as browser:
        if options.readme:
            _make_readme_images(browser)
        else:
            _take_screenshots(browser)


def _take_screenshots(browser: Browser) -> None:
    SCREENSHOTS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as data, serve_scripted(Path(data)) as stage:
        for reach in STATES:
            with open_scripted(browser, stage) as studio:
                reach(studio, stage)
                for size, scheme in product(SIZES, SCHEMES):
                    set_appearance(studio, size, scheme)
                    studio.page.screenshot(path=_screenshot_path(reach.__name__, size, scheme))
            print(reach.__name__)
    for size, scheme in product(SIZES, SCHEMES):
        paths = [_screenshot_path(reach.__name__, size, scheme) for reach in STATES]
        sheet = _contact_sheet([*map(Image.open, paths)], columns=4 if size[0] > size[1] else 8)
        sheet.save(_screenshot_path("sheet", size, scheme))


def _screenshot_path(name: str, size: tuple[int, int], scheme: str) -> Path:
    return SCREENSHOTS / f"{name.replace('_', '-')}-{size[0]}-{scheme}.png"


def _contact_sheet(pictures: Sequence[Image.Image], columns: int) -> Image.Image:
    """Combine pictures at half their size in one image."""
    width, height = (side // 2 for side in pictures[0].size)
    rows = -(-len(pictures) // columns)
    sheet = Image.new("RGB", (columns * (width + 8), rows * (height + 8)), "#888")
    for index, picture in enumerate(pictures):
        position = (index % columns * (width + 8) + 4, index // columns * (height + 8) + 4)
        sheet.paste(picture.convert("RGB").resize((width, height)), position)
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
