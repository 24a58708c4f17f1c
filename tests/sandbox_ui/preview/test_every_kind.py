"""Every kind of file has a preview: good, empty, truncated, hostile, mislabelled and huge."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from sandbox_ui.preview.kinds import KINDS
from sandbox_ui.preview.service import PreviewService
from tests.sandbox_ui.preview.data.archives import make_zip
from tests.sandbox_ui.preview.documents.pdf_files import PdfPage, make_pdf
from tests.sandbox_ui.preview.documents.test_docx import fill_long, make_docx
from tests.sandbox_ui.preview.documents.test_pptx import make_deck
from tests.sandbox_ui.preview.file_viewer import FileViewer, harmless
from tests.sandbox_ui.preview.media.images import encode_image, stripes
from tests.sandbox_ui.preview.media.test_audio import wav_tone
from tests.sandbox_ui.preview.media.test_midi import ascending_notes, midi_file
from tests.sandbox_ui.preview.samples import SAMPLES, Sample, svg
from tests.sandbox_ui.preview.text.test_notebook import make_notebook, markdown_cell
from tests.support.component.accessibility import violations
from tests.support.component.stage import Look, Stage
from tests.support.tab import NARROW

# Console messages about requests of the framed page that are blocked or name no file.
EXPECTED_ERRORS = ("Content Security Policy", "ERR_BLOCKED_BY_CSP", "/frames/")

PREVIEW_IS_VISIBLE = """() => {
  const shown = document.querySelectorAll(".workspace .preview .canvas > *");
  const waits = (each) => each.matches(".waiting") || each.querySelector(".waiting");
  return [...shown].some((each) => each.checkVisibility() && !waits(each));
}"""


def test_every_kind_has_samples() -> None:
    assert set(SAMPLES) == set(KINDS)
    for kind, samples in SAMPLES.items():
        names = {sample.name.partition(".")[0] for sample in samples}
        assert names == {"good", "empty", "cut", "evil", "mislabelled"}, kind


@pytest.mark.parametrize("kind", SAMPLES)
def test_every_sample_has_its_expected_preview_and_the_good_one_is_accessible(
    viewer: FileViewer, kind: str
) -> None:
    viewer.stage.expected_errors += EXPECTED_ERRORS if kind == "html" else ()
    for sample in SAMPLES[kind]:
        viewer.write(sample.name, sample.content)
    viewer.open()
    good, *others = SAMPLES[kind]
    check_sample(viewer, good)
    for look in (Look(), Look(size=NARROW, theme="dark")):
        viewer.stage.change_look(look)
        assert violations(viewer.page, within=".preview") == [], look
    viewer.stage.change_look(Look())
    for sample in others:
        check_sample(viewer, sample)


def check_sample(viewer: FileViewer, sample: Sample) -> None:
    """Open a sample and wait until its expected preview is shown."""
    canvas = viewer.show(sample.name)
    # Native selectors: Playwright's take half a minute with 30,000 elements.
    viewer.page.wait_for_function(PREVIEW_IS_VISIBLE, timeout=25_000)
    pane = viewer.preview
    if sample.selector == "iframe":
        pane = viewer.frame.locator("html")
    expect(pane).to_contain_text(re.compile(re.escape(sample.text), re.IGNORECASE))
    if sample.selector:
        expect(canvas.locator(sample.selector).first).to_be_visible()


def repeat(line: str, count: int) -> bytes:
    return (line * count).encode()


HUGE: dict[str, tuple[str, Callable[[], bytes], str, str]] = {
    "text": ("log", lambda: repeat("a line of a log\n", 5_000_000), "a line of a log", ""),
    "markdown": ("md", lambda: repeat("# Part\n\nwords\n\n", 500_000), "Part", ""),
    "image": ("png", lambda: encode_image(stripes(9000, 9000), "png"), "9,000 × 9,000", "img"),
    "svg": ("svg", lambda: svg("<circle r='9'/>" * 200_000), "svg", ""),
    "pdf": ("pdf", lambda: make_pdf([PdfPage(["words"])] * 2000), "2,000 pages", "img"),
    "html": ("html", lambda: repeat("<p>words</p>\n", 500_000), "words", "iframe"),
    "audio": ("wav", lambda: wav_tone(600), "10:00", ""),
    "midi": ("mid", lambda: midi_file(ascending_notes(60) * 2000), "notes", ""),
    "video": ("webm", lambda: SAMPLES["video"][0].content + bytes(50_000_000), "×", "video"),
    "table": ("csv", lambda: repeat("Paris,2\n", 5_000_000), "Paris", ""),
    "json": ("json", lambda: b'{"a": [' + repeat("1, ", 9_000_000) + b"1]}", "huge", ""),
    "notebook": ("ipynb", lambda: make_notebook(*[markdown_cell("# Part")] * 20_000), "Part", ""),
    "document": ("docx", lambda: make_docx(fill_long), "word word", ""),
    "slides": ("pptx", lambda: make_deck(300), "The lake", ""),
    "archive": ("zip", lambda: make_zip({f"a/{at}.txt": "x" for at in range(30_000)}), "0.txt", ""),
    "hex": ("bin", lambda: bytes(range(256)) * 400_000, "00 01 02", ""),
}
"""The suffix and content of a huge file of a kind; text and selector as of a sample."""


@pytest.mark.nightly
@pytest.mark.parametrize("kind", HUGE)
def test_a_huge_file_has_its_expected_preview(
    stage: Stage, worker: PreviewService, kind: str
) -> None:
    suffix, content, text, selector = HUGE[kind]
    sample = Sample(f"huge.{suffix}", content(), text, selector)
    with harmless(FileViewer(stage, worker)) as viewer:
        viewer.write(sample.name, sample.content)
        viewer.open()
        check_sample(viewer, sample)
