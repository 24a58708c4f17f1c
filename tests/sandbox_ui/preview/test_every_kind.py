"""Every kind of file, good, empty, cut off, hostile, mislabelled, huge: never a blank pane."""

import io
import re
import zipfile
from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Request, expect

from sandbox_ui.preview.kinds import KINDS
from tests.sandbox_ui.preview.documents import test_docx, test_pptx
from tests.sandbox_ui.preview.documents.pdf_files import Sheet, paper
from tests.sandbox_ui.preview.file_viewer import FileViewer, open_file_viewer
from tests.sandbox_ui.preview.images import encoded, stripes
from tests.sandbox_ui.preview.media import test_audio, test_midi
from tests.sandbox_ui.preview.samples import SAMPLES, Sample, svg
from tests.sandbox_ui.preview.text import test_notebook

pytestmark = pytest.mark.browser

# What the browser says of a page that it kept from what the page asked for.
REFUSED = ("Content Security Policy", "ERR_BLOCKED_BY_CSP")

SOMETHING_IS_THERE = """() => {
  const shown = document.querySelectorAll(".workspace .preview .canvas > *");
  const waits = (each) => each.matches(".waiting") || each.querySelector(".waiting");
  return [...shown].some((each) => each.checkVisibility() && !waits(each));
}"""


def test_every_kind_has_its_samples() -> None:
    assert set(SAMPLES) == KINDS
    for kind, samples in SAMPLES.items():
        names = {sample.name.partition(".")[0] for sample in samples}
        assert names == {"good", "empty", "cut", "evil", "mislabelled"}, kind


@pytest.mark.long
@pytest.mark.parametrize("kind", SAMPLES)
def test_something_right_is_shown_of_every_file(
    browser: Browser, studio_url: str, kind: str
) -> None:
    with open_file_viewer(browser, studio_url, excused=REFUSED if kind == "page" else ()) as viewer:
        viewer.page.on("requestfailed", lambda request: forget_refused(viewer, request))
        for sample in SAMPLES[kind]:
            viewer.upload(sample.name, sample.content)
        viewer.open()
        for sample in SAMPLES[kind]:
            see(viewer, sample)


@pytest.mark.long
@pytest.mark.parametrize("kind", SAMPLES)
def test_everybody_can_use_what_is_shown(viewer: FileViewer, kind: str) -> None:
    sample = SAMPLES[kind][0]
    viewer.upload(sample.name, sample.content)
    viewer.open()
    see(viewer, sample)
    found = Axe().run(viewer.page, context=".preview", options={"iframes": False}).response
    serious = [
        (each["id"], [node["html"][:120] for node in each["nodes"]])
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]
    assert serious == []


def forget_refused(viewer: FileViewer, request: Request) -> None:
    """What the policy refused was asked for by the page, and did not leave."""
    if request.failure == "csp" and request.url in viewer.foreign:
        viewer.foreign.remove(request.url)


def see(viewer: FileViewer, sample: Sample) -> None:
    """Look at a sample and wait until what is right is shown."""
    canvas = viewer.show(sample.name)
    # The browser's own selectors: Playwright's take half a minute where there are 30,000 elements.
    viewer.page.wait_for_function(SOMETHING_IS_THERE, timeout=25_000)
    place = viewer.preview
    if sample.shows == "iframe":
        place = viewer.preview.frame_locator("iframe:not(.coming)").locator("html")
    expect(place).to_contain_text(re.compile(re.escape(sample.says), re.IGNORECASE))
    if sample.shows:
        expect(canvas.locator(sample.shows).first).to_be_visible()


def lines(line: str, count: int) -> bytes:
    return (line * count).encode()


def zip_of_many() -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as made:
        for at in range(30_000):
            made.writestr(f"folder{at % 100}/file{at}.txt", "x")
    return written.getvalue()


def rows_of(count: int) -> bytes:
    return b"city,people\n" + lines("Paris,2\n", count)


HUGE: dict[str, Callable[[], Sample]] = {
    "text": lambda: Sample("huge.log", lines("a line of a log\n", 5_000_000), "a line of a log"),
    "markdown": lambda: Sample("huge.md", lines("# Part\n\nwords\n\n", 500_000), "Part"),
    "image": lambda: Sample(
        "huge.png", encoded(stripes(9000, 9000), "png"), "9,000 × 9,000", "img"
    ),
    "drawing": lambda: Sample("huge.svg", svg("<circle r='9'/>" * 200_000), "svg"),
    "pdf": lambda: Sample("huge.pdf", paper([Sheet(["words"])] * 2000), "2,000 pages", "img"),
    "page": lambda: Sample("huge.html", lines("<p>words</p>\n", 500_000), "words", "iframe"),
    "sound": lambda: Sample("huge.wav", test_audio.tone(600), "10:00"),
    "midi": lambda: Sample("huge.mid", test_midi.written(test_midi.tune(60) * 2000), "notes"),
    "film": lambda: Sample(
        "huge.webm", SAMPLES["film"][0].content + bytes(50_000_000), "×", "video"
    ),
    "table": lambda: Sample("huge.csv", rows_of(5_000_000), "Paris"),
    "tree": lambda: Sample("huge.json", b'{"a": [' + lines("1, ", 9_000_000) + b"1]}", "huge"),
    "notebook": lambda: Sample(
        "huge.ipynb",
        test_notebook.written(*[test_notebook.markdown("# Part\nwords")] * 20_000),
        "Part",
    ),
    "document": lambda: Sample("huge.docx", test_docx.made(test_docx.long), "word word"),
    "slides": lambda: Sample("huge.pptx", test_pptx.deck(300), "The lake"),
    "archive": lambda: Sample("huge.zip", zip_of_many(), "folder0"),
    "bytes": lambda: Sample("huge.bin", bytes(range(256)) * 400_000, "00 01 02"),
}


@pytest.mark.long
@pytest.mark.parametrize("kind", HUGE)
def test_something_right_is_shown_of_a_huge_file(viewer: FileViewer, kind: str) -> None:
    sample = HUGE[kind]()
    viewer.upload(sample.name, sample.content)
    viewer.open()
    see(viewer, sample)
