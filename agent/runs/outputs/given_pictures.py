"""The pictures that a run's model gets with the task or a message: files of the workspace."""

from collections.abc import Sequence

from agent.documents.drawing_error import DrawingError
from agent.documents.signatures import is_pdf
from agent.errors import WorkspaceError
from agent.models.base import Model, Picture, picture_limits_of
from agent.runs.folder import RunFolder
from agent.runs.outputs.pictures import PictureStore
from agent.vision.drawing_process import MAX_FILE_BYTES
from agent.vision.eyes import Eyes
from agent.vision.kinds import HEAD_BYTES, is_picture
from agent.workspace.paths import RelPath

MAX_SCAN_PAGES = 8
"""Pages of a scanned PDF that a model without tools sees."""

_NOT_SHOWN = "The model does not see {path}: {why}"
_SHOWN = "[You see it as pictures with this message.]"
_TOO_MANY = "The model sees the first {count} pictures; it can view the others."


class GivenPictures:
    """Draws what a user gives the model to see; ``added`` are files since the model's last call."""

    def __init__(self, folder: RunFolder, store: PictureStore) -> None:
        self._folder = folder
        self._store = store
        self._notices: list[str] = []
        self.eyes = Eyes()
        self.added: list[str] = []

    def set_model(self, model: Model) -> None:
        """Draw for this model from now on."""
        self.eyes = Eyes(lambda: picture_limits_of(model), self._store.keep)

    def show_with_message(self, paths: Sequence[str] | None) -> tuple[Picture, ...]:
        """Return the pictures of a message; None stands for those that the user has added."""
        added, self.added = self.added, []
        return self.show(added) if paths is None else self.show(paths, chosen=True)

    def show(self, paths: Sequence[str], *, chosen: bool = False) -> tuple[Picture, ...]:
        """Return the pictures among files of the workspace; none if the model takes none.

        Of PDFs that are ``chosen``, these are the first pages.
        """
        limits = self.eyes.limits
        if limits is None:
            return ()
        shown: list[Picture] = []
        for path in paths:
            try:
                data = self._read(path)
                name = path.rpartition("/")[2]
                is_document = chosen and is_pdf(name, data[:HEAD_BYTES])
                if not is_document and not is_picture(name, data[:HEAD_BYTES]):
                    continue
                if len(shown) >= limits.count:
                    self._notices.append(_TOO_MANY.format(count=limits.count))
                    break
                if is_document:
                    shown += self.eyes.show_pages(data, path, MAX_SCAN_PAGES)
                else:
                    shown += self.eyes.show(data, path)
            except (DrawingError, WorkspaceError, OSError) as error:
                self._notices.append(_NOT_SHOWN.format(path=path, why=error))
        return tuple(shown)

    def show_scans(self, texts: Sequence[tuple[str, str]]) -> tuple[Picture, ...]:
        """Return the first pages of input files that are PDFs without text."""
        from agent.documents.text import SCAN  # only plain mode pastes texts

        scans = [name for name, text in texts if text.startswith("[") and SCAN in text]
        return self.show([f"input/{name}" for name in scans], chosen=True)

    def without_pictures(
        self, texts: Sequence[tuple[str, str]], pictures: Sequence[Picture]
    ) -> list[tuple[str, str]]:
        """Return the input files' names and texts; a shown scan has a note as its text."""
        shown = {each.source.partition(", page ")[0] for each in pictures}
        return [
            (name, _SHOWN if f"input/{name}" in shown and text.startswith("[") else text)
            for name, text in texts
        ]

    def take_notices(self) -> list[str]:
        """Return what the user is to know of pictures that were not shown, once."""
        taken, self._notices = self._notices, []
        return taken

    def _read(self, path: str) -> bytes:
        """Return the bytes of a picture or a PDF; of any other file its beginning."""
        with self._folder.open_workspace().open_read(RelPath(path)) as file:
            head = file.read(HEAD_BYTES)
            name = path.rpartition("/")[2]
            if not is_picture(name, head) and not is_pdf(name, head):
                return head
            return head + file.read(MAX_FILE_BYTES + 1 - len(head))
