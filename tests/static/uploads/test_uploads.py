"""Uploads: dropped, chosen and pasted files and folders; lost connections; cancelling."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, Request, expect

from agent.runs.folder import RunFolder
from tests.agent.documents.test_text import create_pdf
from tests.agent.runs.outputs.sample_pictures import encode_picture
from tests.support.browser.page_pool import listen
from tests.support.component.routes import LocalRoutes
from tests.support.component.stage import ALL, Stage
from tests.support.hostile.flaky_proxy import run_flaky_proxy
from tests.support.server import wait_until
from tests.support.tab import StudioTab, open_studio

pytestmark = pytest.mark.component

PASTE = """([files, text, target]) => {
  const data = new DataTransfer();
  for (const name of files) data.items.add(new File(['picture'], name, {type: 'image/png'}));
  if (text) data.setData('text/plain', text);
  const event = new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true});
  document.querySelector(target ?? '#task textarea').dispatchEvent(event);
  return event.defaultPrevented;
}"""
Tab = Stage | StudioTab


@pytest.fixture
def uploads(stage: Stage) -> Stage:
    """The whole page with a draft, on the server's own routes."""
    stage.use_routes(LocalRoutes(stage.data))
    stage.mount(*ALL, run=[])
    return stage


@pytest.fixture
def studio(browser: Browser, studio_url: str) -> Iterator[StudioTab]:
    with open_studio(browser, studio_url) as studio:
        yield studio


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """A folder with subfolders, an empty folder and non-ASCII names."""
    folder = tmp_path / "photos"
    (folder / "sub é" / "deeper").mkdir(parents=True)
    (folder / "empty").mkdir()
    for number in range(20):
        (folder / "sub é" / f"{number}.txt").write_text(f"{number}")
    (folder / "sub é" / "deeper" / "a+b%20.txt").write_text("deep")
    return folder


def chips(studio: Tab) -> Locator:
    return studio.page.get_by_role("group", name="Attached files").locator(".chip")


def workspace(studio: StudioTab, data: Path) -> Path:
    run = studio.page.evaluate("new URLSearchParams(location.search).get('run')")
    return RunFolder.open(data, run).workspace


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text() if path.is_file() else "a folder"
        for path in sorted(folder.rglob("*"))
    }


def attach(studio: Tab, files: dict[str, bytes] | Path) -> None:
    """Choose files by name and content, or a file of this machine."""
    payloads: Any = files
    if isinstance(files, dict):
        kind = "text/plain"
        payloads = [{"name": n, "mimeType": kind, "buffer": each} for n, each in files.items()]
    studio.page.get_by_label("Files to attach").set_input_files(payloads)


def drop(studio: Tab, target: Locator, *paths: Path) -> None:
    """Drop files of this machine on an element."""
    target.hover()  # waits until it does not move
    box = target.bounding_box()
    assert box
    session = studio.page.context.new_cdp_session(studio.page)
    data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        place = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        session.send("Input.dispatchDragEvent", {"type": kind, **place, "data": data})
    session.detach()


def record_offsets(page: Page) -> list[int]:
    """Return the list to which the offset of each part of an upload will be added."""
    starts: list[int] = []

    def note(request: Request) -> None:
        if request.method == "PATCH":
            starts.append(int(request.headers["upload-offset"]))

    listen(page, "request", note)
    return starts


@contextmanager
def slow_network(studio: StudioTab) -> Iterator[None]:
    """Limit the page's uploads to 2 MB/s in the block."""
    session = studio.page.context.new_cdp_session(studio.page)
    slow = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 2_000_000}
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", slow)
    yield
    session.send("Network.emulateNetworkConditions", {**slow, "uploadThroughput": -1})
    session.detach()


@pytest.mark.browser
@pytest.mark.e2e("drops a folder on the page and sees its files in the workspace")
@pytest.mark.main_path
def test_a_dropped_folder_is_uploaded_with_its_content(
    studio: StudioTab, data: Path, photos: Path
) -> None:
    drop(studio, studio.page.locator(".app-header"), photos)
    expect(chips(studio)).to_have_text(re.compile("^photos.*21 files"))
    root = workspace(studio, data)
    assert contents(root / "input" / "photos") == contents(photos)
    expect(studio.page.locator("body > .drop-overlay")).to_be_hidden()


def test_a_folder_dropped_on_a_tree_folder_is_uploaded_into_it(
    uploads: Stage, photos: Path
) -> None:
    drop(uploads, uploads.page.locator(".app-header"), photos / "sub é" / "0.txt")
    expect(uploads.file("0.txt")).to_be_visible()  # the rows below have their places
    drop(uploads, uploads.file("output"), photos, photos / "sub é" / "1.txt")
    expect(chips(uploads).last).to_have_text(re.compile("^22 files.*35 B"))
    root = uploads.run.folder.workspace
    assert contents(root / "output" / "photos") == contents(photos)
    assert (root / "output" / "1.txt").read_text() == "1"


def test_a_chosen_folder_is_one_chip_with_totals_and_is_removed_as_a_whole(
    uploads: Stage, photos: Path
) -> None:
    uploads.page.get_by_label("Folder to attach").set_input_files(photos)
    expect(chips(uploads)).to_have_text(re.compile("^photos.*21 files"))
    root = uploads.run.folder.workspace
    assert (root / "input" / "photos" / "sub é" / "deeper" / "a+b%20.txt").read_text() == "deep"
    uploads.button("Remove photos").click()
    wait_until(lambda: not any(files for _, _, files in os.walk(root / "input")))
    expect(chips(uploads)).to_have_count(0)


@pytest.mark.browser
@pytest.mark.nightly
def test_a_folder_of_hundreds_of_files_is_one_chip(
    studio: StudioTab, data: Path, tmp_path: Path
) -> None:
    many = tmp_path / "many"
    many.mkdir()
    for number in range(300):
        (many / f"{number}.txt").write_text(f"{number}")
    studio.page.get_by_label("Folder to attach").set_input_files(many)
    expect(chips(studio)).to_have_text(re.compile("^many.*300 files"), timeout=240_000)
    expect(chips(studio)).to_have_count(1)
    arrived = workspace(studio, data) / "input" / "many"
    assert contents(arrived) == {f"{number}.txt": f"{number}" for number in range(300)}
    expect(studio.file("many")).to_contain_text("300 items")


def test_a_second_file_of_the_same_name_is_kept_beside_the_first(uploads: Stage) -> None:
    for _ in range(2):
        attach(uploads, {"a.txt": b"a"})
        expect(chips(uploads).last).to_contain_text("1 B")
    expect(chips(uploads)).to_have_text([re.compile(r"^a\.txt"), re.compile(r"^a \(2\)\.txt")])


def test_pasted_images_are_named_and_pasted_text_is_not_attached(uploads: Stage) -> None:
    assert uploads.page.evaluate(PASTE, [["image.png"], ""])
    expect(chips(uploads)).to_have_text([re.compile("^pasted-1.png")])
    assert uploads.page.evaluate(PASTE, [["image.png", "mine.png"], ""])
    expect(chips(uploads)).to_have_text(
        [re.compile(name) for name in ("^pasted-1.png", "^pasted-2.png", "^mine.png")]
    )
    assert not uploads.page.evaluate(PASTE, [["image.png"], "a table's cells"])
    expect(chips(uploads)).to_have_count(3)
    wait_until(lambda: len(contents(uploads.run.folder.workspace / "input")) == 3)


def test_an_attached_document_shows_its_token_count(uploads: Stage) -> None:
    attach(uploads, {"long.txt": b"word " * 84_000, "raw.dat": b"\0" * 100})
    expect(chips(uploads).first).to_contain_text("84,000 words · ≈ 105k tokens if pasted")
    expect(chips(uploads).last).not_to_contain_text("tokens")


def test_a_file_deleted_in_the_tree_is_no_longer_attached(uploads: Stage) -> None:
    attach(uploads, {"kept.txt": b"kept", "deleted.txt": b"deleted"})
    expect(chips(uploads)).to_have_count(2)
    with uploads.page.expect_response(
        lambda response: "deleted.txt" in response.url and "start=0" in response.url
    ):
        uploads.file("deleted.txt").click()
    uploads.file("deleted.txt").press("Delete")
    expect(chips(uploads)).to_have_count(1)
    expect(chips(uploads)).to_contain_text("kept.txt")


def test_a_chip_of_many_files_counts_the_remaining_files(uploads: Stage) -> None:
    attach(uploads, {f"{number}.txt": b"1234" for number in range(9)})
    expect(chips(uploads)).to_have_text(re.compile("^9 files.*36 B"))
    uploads.file("0.txt").focus()
    for key in ("ArrowDown", "Shift+ArrowDown", "Shift+ArrowDown", "Delete"):
        uploads.page.keyboard.press(key)
    expect(chips(uploads)).to_have_text(re.compile("^6 files.*24 B"))
    shutil.rmtree(uploads.run.folder.workspace / "input")
    uploads.run.change_files()
    expect(chips(uploads)).to_have_count(0)


def test_files_pasted_into_the_tree_are_uploaded_to_the_focused_folder(uploads: Stage) -> None:
    uploads.page.evaluate(PASTE, [["first.png"]])
    expect(uploads.file("first.png")).to_be_visible()
    folder = uploads.run.folder.workspace
    (folder / "output" / "drawings").mkdir()
    uploads.run.change_files()
    uploads.file("drawings").focus()
    assert uploads.page.evaluate(PASTE, [["second.png"], None, "[role=treeitem]:focus"])
    wait_until(lambda: (folder / "output" / "drawings" / "second.png").exists())
    uploads.file("first.png").focus()
    assert uploads.page.evaluate(PASTE, [["third.png"], None, "[role=treeitem]:focus"])
    wait_until(lambda: (folder / "input" / "third.png").exists())
    assert not (folder / "input" / "second.png").exists()


@pytest.mark.browser
@pytest.mark.nightly
def test_an_interrupted_upload_resumes_at_its_offset(
    browser: Browser, studio_url: str, data: Path, tmp_path: Path
) -> None:
    content = bytes(range(256)) * 40_000
    (tmp_path / "big.bin").write_bytes(content)
    with (
        run_flaky_proxy(studio_url) as proxy,
        open_studio(browser, proxy.url, excused="Failed to load") as studio,
    ):
        starts = record_offsets(studio.page)
        proxy.cut_after = 3_000_000
        proxy.may_cut = lambda: any(
            path.stat().st_size
            for path in data.glob("sandboxes/*/staging/upload-*")
            if not path.suffix
        )
        attach(studio, tmp_path / "big.bin")
        expect(chips(studio)).to_contain_text("9.8 MB")
        assert proxy.cut_count == 1
        assert (workspace(studio, data) / "input" / "big.bin").read_bytes() == content
        assert starts[0] == 0
        assert 0 < starts[-1] < 3_000_000


@pytest.mark.browser
@pytest.mark.nightly
def test_an_upload_continues_when_the_same_file_is_chosen_after_a_reload(
    studio: StudioTab, data: Path, tmp_path: Path
) -> None:
    content = bytes(range(256)) * 80_000
    (tmp_path / "big.bin").write_bytes(content)
    starts = record_offsets(studio.page)
    with slow_network(studio):
        attach(studio, tmp_path / "big.bin")
        expect(chips(studio)).to_have_text(re.compile(r"[1-9]\d?% · "))
        studio.page.reload()
    attach(studio, tmp_path / "big.bin")
    expect(chips(studio)).to_contain_text("20 MB")
    assert starts[0] == 0
    assert starts[-1] > 0
    assert (workspace(studio, data) / "input" / "big.bin").read_bytes() == content


def test_a_failed_upload_is_reported_and_can_be_retried(uploads: Stage) -> None:
    uploads.expected_errors = ["/uploads"]
    uploads.page.clock.install()
    uploads.page.route("**/uploads/**", lambda route: route.abort())
    attach(uploads, {"a.txt": b"content"})
    expect(chips(uploads)).to_contain_text("connection lost, retrying")
    expect(uploads.page.locator("#hint")).to_have_text("Uploading 1 file")
    while uploads.button("Retry").is_hidden():
        uploads.page.clock.run_for(5000)
    expect(chips(uploads)).to_contain_text("upload failed")
    expect(uploads.page.get_by_role("alert")).to_contain_text("connection lost")
    uploads.page.unroute_all()
    uploads.button("Retry").click()
    uploads.page.clock.resume()
    expect(chips(uploads)).to_contain_text("7 B")
    assert contents(uploads.run.folder.workspace / "input") == {"a.txt": "content"}


@pytest.mark.browser
@pytest.mark.nightly
def test_a_cancelled_upload_leaves_no_files(studio: StudioTab, data: Path, tmp_path: Path) -> None:
    (tmp_path / "big.bin").write_bytes(bytes(30_000_000))
    with slow_network(studio):
        attach(studio, tmp_path / "big.bin")
        expect(chips(studio)).to_have_text(re.compile(r"[1-9]% · .*/s · \d+ s left"))
        studio.button("Remove big.bin").click()
    expect(chips(studio)).to_have_count(0)
    root = workspace(studio, data)
    wait_until(lambda: list((root.parent / "staging").iterdir()) == [])
    assert contents(root / "input") == {}


def test_attached_pictures_are_seen_unless_they_are_left_files_only(stage: Stage) -> None:
    stage.use_routes(LocalRoutes(stage.data))
    stage.mount(*ALL, run=[])
    stage.answer("/page_run", [stage.run.id, None, None], "POST")
    png = encode_picture("red")
    attach(stage, {"a.png": png, "b.png": png, "c.pdf": b"%PDF-1.4", "n.txt": b"words"})
    seen = [stage.button(f"Picture of {name} for the model") for name in ("a.png", "b.png")]
    pages = stage.button("Pages of c.pdf for the model")
    for each in seen:
        expect(each).to_have_attribute("aria-pressed", "true")
    expect(pages).to_have_attribute("aria-pressed", "false")
    expect(stage.page.locator(".as-picture")).to_have_count(3)
    stage.task.fill("Look.")
    stage.button("Run").click()
    stage.wait_until(lambda: len(stage.sent) == 1)
    seen[1].click()
    pages.click()
    stage.task.fill("Look.")
    stage.button("Run").click()
    stage.wait_until(lambda: len(stage.sent) == 2)
    assert [each["message"] for each in stage.sent] == [
        None,
        {"pictures": ["input/a.png", "input/c.pdf"]},
    ]


def test_in_plain_mode_the_settings_say_how_pdfs_are_sent(stage: Stage) -> None:
    stage.use_routes(LocalRoutes(stage.data))
    stage.settings = {"mode": "plain"}
    stage.mount(*ALL, run=[])
    stage.answer("/page_run", [stage.run.id, None, None], "POST")
    stage.answer("/models/passport*", {"passport": None, "pageTokens": 1500})
    attach(stage, {"text.pdf": create_pdf(["Words", "More"]), "scan.pdf": create_pdf([""])})
    names = ("text.pdf", "scan.pdf")
    text, scan = (stage.button(f"Pages of {name} for the model") for name in names)
    expect(scan).to_have_attribute("aria-pressed", "true")
    expect(text).to_have_attribute("aria-pressed", "false")
    expect(chips(stage).filter(has_text="text.pdf")).not_to_contain_text("as pages")
    expect(chips(stage).filter(has_text="scan.pdf")).to_contain_text("≈ 1.5k as pages")
    stage.button("Settings").click()
    drawer = stage.page.get_by_role("dialog", name="Settings")
    drawer.get_by_label("PDFs", exact=True).fill("pages")
    stage.page.keyboard.press("Escape")
    expect(text).to_have_attribute("aria-pressed", "true")
    expect(chips(stage).filter(has_text="text.pdf")).to_contain_text("≈ 3k as pages")
    stage.task.fill("Read.")
    stage.button("Run").click()
    stage.wait_until(lambda: len(stage.sent) == 1)
    text.click()
    expect(chips(stage).filter(has_text="text.pdf")).not_to_contain_text("as pages")
    stage.task.fill("Read.")
    stage.button("Run").click()
    stage.wait_until(lambda: len(stage.sent) == 2)
    sent = [each["message"] for each in stage.sent]
    assert sent == [None, {"pictures": ["input/scan.pdf"]}]


def test_a_scanned_pdf_says_so_and_offers_its_pages(uploads: Stage) -> None:
    attach(uploads, {"scan.pdf": create_pdf([""])})
    chip = chips(uploads).first
    expect(chip).to_contain_text("No text: it may be a scan. “Pages” lets the model see")
    expect(chip.get_by_role("button", name="Pages of scan.pdf for the model")).to_be_visible()
