"""Every kind of file has a preview: good, empty, truncated, hostile, mislabelled and huge."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from sandbox_ui.preview.kinds import KINDS
from sandbox_ui.preview.service import PreviewService
from tests.sandbox_ui.preview.data.archives import make_zip
from tests.sandbox_ui.preview.documents import test_docx, test_pptx
from tests.sandbox_ui.preview.documents.pdf_files import PdfPage, make_pdf
from tests.sandbox_ui.preview.file_viewer import FileViewer, harmless
from tests.sandbox_ui.preview.media import test_audio, test_midi
from tests.sandbox_ui.preview.media.images import encode_image, stripes
from tests.sandbox_ui.preview.samples import SAMPLES, Sample, svg
from tests.sandbox_ui.preview.text import test_notebook
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
    assert set(SAMPLES) == KINDS
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


HUGE: dict[str, Callable[[], Sample]] = {
    "text": lambda: Sample("huge.log", repeat("a line of a log\n", 5_000_000), "a line of a log"),
    "markdown": lambda: Sample("huge.md", repeat("# Part\n\nwords\n\n", 500_000), "Part"),
    "image": lambda: Sample(
        "huge.png", encode_image(stripes(9000, 9000), "png"), "9,000 × 9,000", "img"
    ),
    "svg": lambda: Sample("huge.svg", svg("<circle r='9'/>" * 200_000), "svg"),
    "pdf": lambda: Sample("huge.pdf", make_pdf([PdfPage(["words"])] * 2000), "2,000 pages", "img"),
    "html": lambda: Sample("huge.html", repeat("<p>words</p>\n", 500_000), "words", "iframe"),
    "audio": lambda: Sample("huge.wav", test_audio.wav_tone(600), "10:00"),
    "midi": lambda: Sample(
        "huge.mid", test_midi.midi_file(test_midi.ascending_notes(60) * 2000), "notes"
    ),
    "video": lambda: Sample(
        "huge.webm", SAMPLES["video"][0].content + bytes(50_000_000), "×", "video"
    ),
    "table": lambda: Sample("huge.csv", repeat("Paris,2\n", 5_000_000), "Paris"),
    "json": lambda: Sample("huge.json", b'{"a": [' + repeat("1, ", 9_000_000) + b"1]}", "huge"),
    "notebook": lambda: Sample(
        "huge.ipynb",
        test_notebook.make_notebook(*[test_notebook.markdown_cell("# Part\nwords")] * 20_000),
        "Part",
    ),
    "document": lambda: Sample("huge.docx", test_docx.make_docx(test_docx.fill_long), "word word"),
    "slides": lambda: Sample("huge.pptx", test_pptx.make_deck(300), "The lake"),
    "archive": lambda: Sample(
        "huge.zip", make_zip({f"folder{at % 100}/{at}.txt": "x" for at in range(30_000)}), "folder0"
    ),
    "hex": lambda: Sample("huge.bin", bytes(range(256)) * 400_000, "00 01 02"),
}


@pytest.mark.nightly
@pytest.mark.parametrize("kind", HUGE)
def test_a_huge_file_has_its_expected_preview(
    stage: Stage, worker: PreviewService, kind: str
) -> None:
    sample = HUGE[kind]()
    with harmless(FileViewer(stage, worker)) as viewer:
        viewer.write(sample.name, sample.content)
        viewer.open()
        check_sample(viewer, sample)
