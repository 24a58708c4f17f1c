"""What a prompt without a sandbox has of each document: its text, its pages, or both."""

from collections.abc import Sequence

import pytest

from agent.documents.text import SCAN
from agent.models.base import Picture, PictureLimits
from agent.run_fields import Pdfs
from agent.runs.inputs import InputText
from agent.runs.outputs.given_pictures import GivenPictures, Look
from agent.runs.outputs.plain_documents import compose_documents
from agent.vision.eyes import Eyes, Pages

TEXTS = [
    InputText("input/notes.txt", "notes.txt", "Notes."),
    InputText("input/paper.pdf", "paper.pdf", "[1] Words."),
    InputText("input/scan.pdf", "scan.pdf", reason=f"No text; {SCAN}."),
    InputText("input/locked.pdf", "locked.pdf", reason="It is protected."),
]
SCAN_TEXT = f"[No text; {SCAN}.]"


class Given(GivenPictures):
    """Sees two pages of each PDF that it is shown."""

    def __init__(self, *, sees: bool, count: int = 2) -> None:
        self._notices, self._count = [], count
        self.asked: list[str] = []
        self.others: list[str] = []  # pictures that it sees
        self.eyes = Eyes(lambda: PictureLimits() if sees else None, lambda *_: "")

    def is_pdf(self, path: str) -> bool:
        return path.endswith(".pdf")

    def look(self, paths: Sequence[str], documents: Sequence[str]) -> Look:
        self.asked = list(documents)
        if self.eyes.limits is None:
            return Look()
        named = [each for each in documents if each != "input/locked.pdf"]
        pages = {
            path: Pages(tuple(picture(f"{path}, page {at}") for at in (1, 2)), self._count)
            for path in named
        }
        shown = [*map(picture, self.others), *(e for of in pages.values() for e in of.pictures)]
        return Look(tuple(shown), pages)


def picture(source: str) -> Picture:
    return Picture("a.png", "image/png", 10, 10, 10, source, 10)


ALL_PDFS = ["input/paper.pdf", "input/scan.pdf", "input/locked.pdf"]
NOTE = "[You see its 2 pages as pictures with this message.]"
BOTH = "[You see its 2 pages as pictures with this message. The text follows.]\n[1] Words."


@pytest.mark.parametrize(
    ("pdfs", "chosen", "drawn", "paper", "scan"),
    [
        ("auto", None, ["input/scan.pdf"], "[1] Words.", NOTE),
        ("text", None, [], "[1] Words.", SCAN_TEXT),
        ("pages", None, ALL_PDFS, NOTE, NOTE),
        ("both", None, ALL_PDFS, BOTH, NOTE),
        ("auto", ["input/paper.pdf"], ["input/paper.pdf"], BOTH, SCAN_TEXT),
        ("pages", ["input/paper.pdf"], ["input/paper.pdf"], NOTE, SCAN_TEXT),
        ("pages", [], [], "[1] Words.", SCAN_TEXT),
    ],
)
def test_each_document_has_its_text_or_a_note_on_its_pages(
    pdfs: Pdfs, chosen: list[str] | None, drawn: list[str], paper: str, scan: str
) -> None:
    given = Given(sees=True)
    documents, pictures = compose_documents(given, TEXTS, pdfs, chosen)
    assert given.asked == drawn
    assert documents == [
        ("notes.txt", "Notes."), ("paper.pdf", paper), ("scan.pdf", scan),
        ("locked.pdf", "[It is protected.]"),
    ]  # fmt: skip
    assert len(pictures) == 2 * len([each for each in drawn if "locked" not in each])
    advice = "No text was found in input/scan.pdf: it may be a scan. To send its pages"
    told = [text for text in given.take_notices() if text.startswith(advice)]
    assert len(told) == (scan == SCAN_TEXT)


@pytest.mark.parametrize("pdfs", ["auto", "text", "pages", "both"])
def test_without_eyes_all_is_text_and_the_user_knows_what_is_missing(pdfs: Pdfs) -> None:
    given = Given(sees=False)
    documents, pictures = compose_documents(given, TEXTS, pdfs, None)
    assert pictures == ()
    assert documents == [each.document for each in TEXTS]
    notices = given.take_notices()
    assert ("takes no pictures" in notices[0]) == (pdfs in ("pages", "both"))
    assert notices[-1].endswith("A model that takes pictures would see its pages.")


def test_pages_that_are_left_out_are_said_to_the_model_and_the_user() -> None:
    given = Given(sees=True, count=1_040)
    documents, _ = compose_documents(given, TEXTS[:2], "pages", None)
    assert documents[1][1] == (
        "[You see the first 2 of its 1,040 pages as pictures, and not the others, with this "
        "message.]"
    )
    assert given.take_notices() == [
        "Of pages that are not sent, the model gets nothing; with “both” it gets their text."
    ]
    compose_documents(given, TEXTS[:2], "both", None)
    assert given.take_notices() == []


def test_a_picture_that_is_seen_has_no_reason_why_it_has_no_text() -> None:
    photo = InputText("input/photo.png", "photo.png", reason="It contains no text.")
    drawing = InputText("input/drawing.svg", "drawing.svg", "<svg/>")
    given = Given(sees=True)
    given.others = ["input/photo.png", "input/drawing.svg"]
    documents, _ = compose_documents(given, [photo, drawing], "auto", None)
    assert documents == [
        ("photo.png", "[You see it as a picture with this message.]"), ("drawing.svg", "<svg/>"),
    ]  # fmt: skip
    given.others = []
    assert compose_documents(given, [photo], "auto", None)[0] == [photo.document]


def test_many_scans_are_one_sentence() -> None:
    given = Given(sees=True)
    scans = [InputText(f"input/{at}.pdf", f"{at}.pdf", reason=SCAN) for at in range(9)]
    compose_documents(given, scans, "text", None)
    (told,) = given.take_notices()
    assert "input/4.pdf and 4 more: it may be" in told


def test_the_shortest_pdf_comes_first_and_leaves_its_share_to_the_others() -> None:
    given = Given(sees=True)
    sizes = {"a.pdf": 40, "b.pdf": 0, "c.pdf": 3}
    texts = [InputText(f"input/{name}", name, "x", pages=size) for name, size in sizes.items()]
    compose_documents(given, texts, "pages", None)
    assert given.asked == ["input/b.pdf", "input/c.pdf", "input/a.pdf"]
