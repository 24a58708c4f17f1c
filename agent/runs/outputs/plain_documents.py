"""The documents in a prompt without a sandbox: their texts, and pages of PDFs as pictures."""

from collections.abc import Sequence

from agent.models.base import Picture
from agent.run_fields import Pdfs
from agent.runs.inputs import InputText
from agent.runs.outputs.given_pictures import GivenPictures
from agent.vision.eyes import Pages

_MAX_NAMED = 5
_AS_TEXT = (
    "This model takes no pictures, so it gets the text of the PDFs and not their pages. If it does "
    "take some, set Pictures to “on”."
)
_TEXT_LEFT_OUT = (
    "Of pages that are not sent, the model gets nothing; with “both” it gets their text."
)
_SCANS = "No text was found in {names}: it may be a scan. {advice}"
_CHOOSE_PAGES = "To send its pages as pictures, choose “pages” for PDFs."
_NO_PICTURES = "A model that takes pictures would see its pages."


def compose_documents(
    given: GivenPictures, texts: Sequence[InputText], pdfs: Pdfs, chosen: Sequence[str] | None
) -> tuple[list[tuple[str, str]], tuple[Picture, ...]]:
    """Return the name and text of each document for the prompt, and the pictures with it.

    ``chosen`` are the files that the model is to see; None for all pictures, and PDFs as ``pdfs``
    says.
    """
    found = {each.path: each for each in texts if given.is_pdf(each.path)}
    if chosen is None:
        paths = [each.path for each in texts]
        wanted = [path for path, each in found.items() if _has_pages(each, pdfs)]
    else:
        paths = list(dict.fromkeys(chosen))
        wanted = [path for path in paths if given.is_pdf(path)]
    wanted.sort(key=lambda path: found[path].pages if path in found else 0)
    look = given.look(paths, wanted)  # the shortest first, which leave more to the others
    if given.eyes.limits is None and found and pdfs in ("pages", "both"):
        given.notify(_AS_TEXT)
    _explain_scans(given, [each for path, each in found.items() if path not in look.pages])
    seen = {each.source for each in look.pictures}
    documents = [
        _document(each, look.pages.get(each.path, Pages()), pdfs, seen=each.path in seen)
        for each in texts
    ]
    cut = (path for path, pages in look.pages.items() if 0 < len(pages.pictures) < pages.count)
    if pdfs == "pages" and any(path in found and not found[path].reason for path in cut):
        given.notify(_TEXT_LEFT_OUT)
    return documents, look.pictures


def _has_pages(text: InputText, pdfs: Pdfs) -> bool:
    return pdfs in ("pages", "both") or (pdfs == "auto" and _is_scan(text))


def _is_scan(text: InputText) -> bool:
    from agent.documents.text import SCAN  # only plain mode pastes texts

    return SCAN in text.reason


def _document(text: InputText, pages: Pages, pdfs: Pdfs, *, seen: bool) -> tuple[str, str]:
    """Return a document's name, and its text with a note on what is seen of it, or only one."""
    shown = len(pages.pictures)
    if not shown:
        picture = "[You see it as a picture with this message.]"
        return (text.name, picture) if seen and text.reason else text.document
    if shown < pages.count:
        which = f"the first {shown} of its {pages.count:,} pages as pictures, and not the others,"
    else:
        which = "its page as a picture" if shown == 1 else f"its {shown} pages as pictures"
    note = f"You see {which} with this message."
    if text.reason or pdfs == "pages":
        return text.name, f"[{note}]"
    return text.name, f"[{note} The text follows.]\n{text.text}"


def _explain_scans(given: GivenPictures, texts: Sequence[InputText]) -> None:
    """Say which PDFs the model gets nothing of, and what helps."""
    names = [each.path for each in texts if _is_scan(each)]
    if not names:
        return
    more = len(names) - _MAX_NAMED
    named = ", ".join(names[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
    advice = _NO_PICTURES if given.eyes.limits is None else _CHOOSE_PAGES
    given.notify(_SCANS.format(names=named, advice=advice))
