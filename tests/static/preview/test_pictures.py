"""Marks on a picture that go with the next message, and all pictures of a run."""

import re
from io import BytesIO

import pytest
from PIL import Image
from playwright.sync_api import Locator, expect

from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.manifest import ManifestLog
from agent.workspace.versions.snapshots import SnapshotTracker
from tests.sandbox_ui.preview.media.images import encode_image
from tests.support.component.events import bash, ended, started, step
from tests.support.component.routes import LocalRoutes
from tests.support.component.stage import ALL, Stage

pytestmark = pytest.mark.component

WHITE = (255, 255, 255)
STEPS: list[dict[str, bytes]] = [
    {"input/photo.png": encode_image(Image.new("RGB", (200, 100), WHITE), "png")},
    {"output/chart.png": encode_image(Image.new("RGB", (640, 400), (200, 30, 30)), "png")},
    {"notes.txt": b"none", "output/.hidden.png": b"x"},
    {"output/chart.png": encode_image(Image.new("RGB", (640, 400), (30, 120, 60)), "png")},
]


@pytest.fixture
def page(stage: Stage) -> Stage:
    """The whole page with a run that drew a chart twice."""
    return with_files(stage, STEPS)


def with_files(stage: Stage, contents: list[dict[str, bytes]]) -> Stage:
    """The whole page with a run of these files: given at first, then made step by step."""
    folder = stage.run.folder
    log = ManifestLog(folder.manifests)
    snapshots = SnapshotTracker(folder.workspace, BlobStore(stage.data / "blobs"))
    for number, files in enumerate(contents):
        for name, content in files.items():
            path = folder.workspace / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        log.append(number, snapshots.take())
    stage.use_routes(LocalRoutes(stage.data))
    steps = [event for number in range(1, len(contents)) for event in step(number, bash("draw"))]
    stage.mount(*ALL, run=[started(), *steps, ended()])
    return stage


def open_picture(page: Stage, name: str) -> Locator:
    page.evaluate("core/event_stream.js", "({ emit }, path) => emit('open-file', path)", name)
    image = page.page.get_by_role("img", name=name.rpartition("/")[2])
    expect(image).to_be_visible()
    expect(image).not_to_have_js_property("naturalWidth", 0)
    return image


def draw(page: Stage, image: Locator, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Draw with the mouse between two points, as parts of the picture's sides."""
    box = image.bounding_box()
    assert box is not None
    mouse = page.page.mouse
    mouse.move(box["x"] + start[0] * box["width"], box["y"] + start[1] * box["height"])
    mouse.down()
    mouse.move(box["x"] + end[0] * box["width"], box["y"] + end[1] * box["height"], steps=4)
    mouse.up()


def test_marks_go_into_the_message_with_the_marked_picture(page: Stage) -> None:
    image = open_picture(page, "input/photo.png")
    page.button("Mark a place, and send it with your next message").click()
    draw(page, image, (0.1, 0.2), (0.5, 0.8))
    page.button("Arrow").click()
    draw(page, image, (0.9, 0.1), (0.6, 0.5))
    page.button("Use in message").click()
    expect(page.task).to_have_value(
        "In input/photo.png (200 × 100 pixels, from the top left) I marked box 1 from (20, 20) "
        "to (100, 80), arrow 2 to (120, 50) from (180, 10). "
        "The marked picture is input/photo-marked.png. "
    )
    expect(page.task).to_be_focused()
    expect(page.page.locator(".marking")).to_have_count(0)
    data = (page.run.folder.workspace / "input" / "photo-marked.png").read_bytes()
    marked = Image.open(BytesIO(data)).convert("RGB")
    assert marked.size == (200, 100)
    red, green, blue = marked.getpixel((60, 20))  # type: ignore[misc]
    assert red > 180, "the box's upper side is drawn"
    assert max(green, blue) < 120
    assert marked.getpixel((60, 50)) == WHITE, "what is marked stays visible"


def test_a_click_marks_nothing_and_undo_takes_a_mark_back(page: Stage) -> None:
    image = open_picture(page, "input/photo.png")
    page.button("Mark a place, and send it with your next message").click()
    use = page.button("Use in message")
    draw(page, image, (0.5, 0.5), (0.501, 0.501))
    expect(use).to_be_disabled()
    draw(page, image, (0.1, 0.2), (0.5, 0.8))
    expect(use).to_be_enabled()
    page.button("Undo").click()
    expect(use).to_be_disabled()
    page.page.locator(".marking").press("Escape")
    expect(page.page.locator(".marking")).to_have_count(0)


def test_marks_are_drawn_with_the_keyboard(page: Stage) -> None:
    open_picture(page, "input/photo.png")
    page.button("Mark a place, and send it with your next message").click()
    marks = page.page.get_by_role("application")
    expect(marks).to_be_focused()
    for key in ("Enter", "ArrowLeft", "Shift+ArrowDown"):
        marks.press(key)
    page.button("Use in message").click()
    expect(page.task).to_have_value(re.compile(r"a box from \(71, 38\) to \(121, 65\)"))


def test_all_pictures_of_a_run_are_shown_with_their_versions(page: Stage) -> None:
    page.button("More actions").click()
    page.page.get_by_role("menuitem", name="Pictures of this run…").click()
    dialog = page.page.get_by_role("dialog", name="Pictures of this run")
    expect(dialog.get_by_role("heading", level=3)).to_have_text(
        ["input/photo.png1 version", "output/chart.png2 versions"]
    )
    tiles = dialog.locator("figure")
    expect(tiles.locator("figcaption")).to_contain_text(["at the start", "step 1", "step 3"])
    for at in range(3):
        expect(tiles.nth(at).locator("img")).not_to_have_js_property("naturalWidth", 0)
    tiles.nth(1).get_by_role("button").click()
    large = page.page.get_by_role("dialog", name="Images")
    expect(large.get_by_role("status")).to_contain_text("2 of 3 · step 1")
    page.page.keyboard.press("ArrowRight")
    expect(large.get_by_role("status")).to_contain_text("3 of 3 · step 3")
    large.get_by_role("button", name="Open in workspace").click()
    expect(dialog).to_have_count(0)
    expect(page.page.get_by_role("group", name="Preview")).to_contain_text("version after step 3")


def test_a_picture_too_large_to_draw_shows_its_size_in_place(stage: Stage) -> None:
    large = encode_image(Image.new("1", (20_000, 20_000)), "png")
    page = with_files(stage, [{"output/large.png": large}])
    page.button("More actions").click()
    page.page.get_by_role("menuitem", name="Pictures of this run…").click()
    tile = page.page.get_by_role("dialog", name="Pictures of this run").locator("figure")
    expect(tile).to_contain_text("20,000 × 20,000 pixels: too large to show")
    expect(tile.locator("img")).to_have_count(0)
    tile.get_by_role("button").click()
    large_view = page.page.get_by_role("dialog", name="Images")
    expect(large_view).to_contain_text(
        "This image has 20,000 × 20,000 pixels, too many to show it."
    )
