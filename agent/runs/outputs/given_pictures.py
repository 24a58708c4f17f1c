"""The pictures that a run's model gets with the task or a message: files of the workspace."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agent.documents.drawing_error import DrawingError
from agent.documents.signatures import is_pdf
from agent.errors import WorkspaceError
from agent.events import Mode
from agent.models.base import Model, Picture, PictureLimits, picture_limits_of
from agent.runs.folder import RunFolder
from agent.runs.outputs.pictures import PictureStore
from agent.util.text import plural
from agent.vision.eyes import Eyes, Pages
from agent.vision.kinds import HEAD_BYTES, MAX_FILE_BYTES, is_picture
from agent.workspace.paths import RelPath

MAX_PAGES = 8
"""Pages of a PDF that a model gets with a message if its tools show it the others."""

_NOT_SHOWN = "The model does not see {path}: {why}"
_CAN_VIEW = "it can view the others."
_NOT_SENT = "the others are not sent: "
_FULL = "a message has at most {pictures} of about {tokens:,} tokens in all."
_TOO_MANY = "The model sees the first {count} pictures; {rest}"
_SOME_PAGES = "The model sees the first {shown} of the {count} pages of {path}; {rest}"


@dataclass(frozen=True, slots=True)
class Look:
    """The pictures that a model gets with a message, and which pages of PDFs these are."""

    pictures: tuple[Picture, ...] = ()
    pages: Mapping[str, Pages] = field(default_factory=dict)


class GivenPictures:
    """Draws what a user gives the model to see; ``added`` are files since the model's last call."""

    def __init__(self, folder: RunFolder, store: PictureStore) -> None:
        self._folder = folder
        self._store = store
        self._notices: list[str] = []
        self._has_tools = True
        self.eyes = Eyes()
        self.added: list[str] = []

    def set_model(self, model: Model, mode: Mode) -> None:
        """Draw for this model from now on; in plain mode it cannot view files itself."""
        self.eyes = Eyes(lambda: picture_limits_of(model), self._store.keep)
        self._has_tools = mode == "sandbox"

    def show_with_message(self, paths: Sequence[str] | None) -> tuple[Picture, ...]:
        """Return the pictures of a message; None stands for those that the user has added."""
        added, self.added = self.added, []
        return self.show(added) if paths is None else self.show(paths, chosen=True)

    def show(self, paths: Sequence[str], *, chosen: bool = False) -> tuple[Picture, ...]:
        """Return the pictures among files; of PDFs that are ``chosen``, the first pages."""
        documents = [each for each in paths if self.is_pdf(each)] if chosen else ()
        return self.look(paths, documents).pictures

    def look(self, paths: Sequence[str], documents: Sequence[str]) -> Look:
        """Return the pictures among files, and the first pages of ``documents``, PDFs of ``paths``.

        The pictures come first, then the pages in the order of ``paths``. Each document gets an
        equal share of what the ones before it have left.
        """
        limits = self.eyes.limits
        if limits is None:
            return Look()
        shown, pages = list[Picture](), dict[str, Pages]()
        for path in paths:
            if path not in documents and not self._show_picture(path, limits, shown):
                break
        for left, path in zip(range(len(documents), 0, -1), documents, strict=True):
            most = -(-(limits.count - len(shown)) // left)
            pages[path] = self._show_pages(path, limits, most, shown)
            shown += pages[path].pictures
        first = shown[: len(shown) - sum(len(each.pictures) for each in pages.values())]
        ordered = [each for path in paths if path in pages for each in pages[path].pictures]
        return Look((*first, *ordered), pages)

    def is_pdf(self, path: str) -> bool:
        """Return whether a file is a PDF; one that cannot be read is none."""
        try:
            with self._folder.open_workspace().open_read(RelPath(path)) as file:
                return is_pdf(path.rpartition("/")[2], file.read(HEAD_BYTES))
        except (WorkspaceError, OSError):
            return False

    def notify(self, text: str) -> None:
        """Tell the user something of the pictures of this message."""
        self._notices.append(text)

    def take_notices(self) -> list[str]:
        """Return what the user is to know of pictures that were not shown, once."""
        taken, self._notices = self._notices, []
        return taken

    def _show_picture(self, path: str, limits: PictureLimits, shown: list[Picture]) -> bool:
        """Add the picture that a file is, if it is one; return whether more may follow."""
        try:
            data = self._read(path)
            if not is_picture(path.rpartition("/")[2], data[:HEAD_BYTES]):
                return True
            if len(shown) >= limits.count:
                self.notify(_TOO_MANY.format(count=limits.count, rest=self._rest(limits)))
                return False
            shown += self.eyes.show(data, path)
        except (DrawingError, WorkspaceError, OSError) as error:
            self.notify(_NOT_SHOWN.format(path=path, why=error))
        return True

    def _show_pages(
        self, path: str, limits: PictureLimits, most: int, shown: Sequence[Picture]
    ) -> Pages:
        """Return the first pages of a PDF; none if it cannot be drawn, or others took the place."""
        tokens = limits.tokens - sum(each.tokens for each in shown)
        most = min(most, MAX_PAGES) if self._has_tools else most
        try:
            found = self.eyes.show_pages(self._read(path), path, most, tokens)
        except (DrawingError, WorkspaceError, OSError) as error:
            self.notify(_NOT_SHOWN.format(path=path, why=error))
            return Pages()
        if len(found.pictures) < found.count or not found.pictures:
            self._explain_pages(found, path, limits)
        return found

    def _explain_pages(self, found: Pages, path: str, limits: PictureLimits) -> None:
        """Say which pages of a PDF the model does not see, and why."""
        shown = len(found.pictures)
        if not shown:
            self.notify(_NOT_SHOWN.format(path=path, why=_full(limits)))
            return
        rest = found.why or self._rest(limits)
        self.notify(_SOME_PAGES.format(shown=shown, count=found.count, path=path, rest=rest))

    def _rest(self, limits: PictureLimits) -> str:
        return _CAN_VIEW if self._has_tools else _NOT_SENT + _full(limits)

    def _read(self, path: str) -> bytes:
        """Return the bytes of a picture or a PDF; of any other file its beginning."""
        with self._folder.open_workspace().open_read(RelPath(path)) as file:
            head = file.read(HEAD_BYTES)
            name = path.rpartition("/")[2]
            if not is_picture(name, head) and not is_pdf(name, head):
                return head
            return head + file.read(MAX_FILE_BYTES + 1 - len(head))


def _full(limits: PictureLimits) -> str:
    return _FULL.format(pictures=plural(limits.count, "picture"), tokens=limits.tokens)
