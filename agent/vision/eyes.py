"""What a run's model sees: files that its tool views, pictures that it is given."""

import io
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agent.documents.drawing_error import DrawingError
from agent.errors import WorkspaceError
from agent.models.base import Picture, PictureLimits
from agent.vision.kinds import HEAD_BYTES, MAX_FILE_BYTES, Kind, is_viewed_name, kind_of
from agent.vision.tokens import estimate_picture_tokens

if TYPE_CHECKING:
    from agent.vision.request import Drawing, Drawn

Keep = Callable[[bytes, str], str]
"""Stores a picture of a media type; returns the name of its file."""

_BLIND = "You cannot see pictures; this describes it. With execute_bash, {help}"
_IMAGE_HELP = (
    "Python with Pillow reads and crops it, and where it is installed `tesseract {path} -` reads "
    "text in it."
)
_PAGES_HELP = (
    "To see the pages, `soffice --headless --convert-to pdf --outdir /tmp {path}` makes a PDF that "
    "you can view. If soffice is missing, `apt-get update && apt-get install -y "
    "--no-install-recommends libreoffice-{part}` installs it where the network allows it."
)
_OFFICE_PARTS = {"ppt": "impress", "odp": "impress", "xls": "calc", "ods": "calc"}
_VIDEO = """{path} is a video; its frames are not drawn here. To see one, make a picture of it and \
view that: `ffmpeg -ss {second} -i {path} -frames:v 1 /tmp/frame.png`. If ffmpeg is missing, `pip \
install av` gets what this needs, where the network allows it:
python3 -c 'import sys, av; video = av.open(sys.argv[1]); video.seek(int({second} * 1e6)); \
next(video.decode(video=0)).to_image().save("/tmp/frame.png")' {path}"""
_HEIF = """HEIC pictures are not drawn here. `pip install pillow-heif` gets what this needs, where \
the network allows it; view the PNG that it makes:
python3 -c 'import sys, pillow_heif; \
pillow_heif.open_heif(sys.argv[1]).to_pillow().save("/tmp/picture.png")' {path}"""
_HEIF_GIVEN = "HEIC pictures are not drawn here; save it as JPEG or PNG."
_EMPTY = "Error: {path} cannot be viewed. It is empty (0 bytes); check the command that wrote it."
_AS_TEXT: tuple[Kind, ...] = ("svg", "notebook")


@dataclass(frozen=True, slots=True)
class Sight:
    """What a view gives: a text and pictures, which with ``adds`` come after a file's lines."""

    text: str
    pictures: tuple[Picture, ...] = ()
    ok: bool = True
    adds: bool = False


@dataclass(frozen=True, slots=True)
class Pages:
    """The first pages of a PDF as pictures, their full ``count``, and ``why`` some are missing."""

    pictures: tuple[Picture, ...] = ()
    count: int = 0
    why: str = ""


class Eyes:
    """Looks at files for a model; describes them if it takes no pictures, or ``keep`` is None."""

    def __init__(
        self,
        get_limits: Callable[[], PictureLimits | None] = lambda: None,
        keep: Keep | None = None,
    ) -> None:
        self._get_limits = get_limits
        self._keep = keep

    @property
    def limits(self) -> PictureLimits | None:
        """What pictures the model takes; None for none."""
        return None if self._keep is None else self._get_limits()

    def view(
        self, data: bytes, path: str, view_range: tuple[int, int] | None, second: str = ""
    ) -> Sight | None:
        """Return what is seen of a file; None if it is to be read as a text.

        ``view_range`` is the first and the last page, frame, slide or sheet, from 1; ``second`` a
        time in a video, in seconds.
        """
        name = path.rpartition("/")[2]
        if not data and is_viewed_name(name):
            return Sight(_EMPTY.format(path=path), ok=False)
        kind = kind_of(name, data[:HEAD_BYTES])
        if kind == "other":
            return None
        if kind in _AS_TEXT and not name.endswith(".svgz"):
            return self._beside_text(data, path, kind) if view_range is None else None
        if kind == "video":
            return explain_video(path, second)
        if kind == "heif":
            help = _HEIF.format(path=shlex.quote(path))
            return Sight(f"Error: {path} cannot be viewed. {help}", ok=False)
        if kind == "document":
            return _read_document(data, path, view_range, sees=self.limits is not None)
        return self._look(data, path, kind, view_range)

    def show(self, data: bytes, path: str) -> tuple[Picture, ...]:
        """Return the pictures of a file given with a task or message. Raises ``DrawingError``."""
        if self.limits is None:
            return ()
        kind = kind_of(path.rpartition("/")[2], data[:HEAD_BYTES])
        return self._kept(self._draw(data, kind, None), path)

    def show_pages(self, data: bytes, path: str, most: int, tokens: int) -> Pages:
        """Return a PDF's first pages, within two limits; ``DrawingError`` if none can be drawn."""
        shown, count = list[Picture](), most
        while len(shown) < min(most, count):
            try:
                drawing = self._draw(data, "pdf", (len(shown) + 1, most), separate=True)
            except DrawingError as error:
                if not shown:
                    raise
                return Pages(tuple(shown), count, str(error))
            count = drawing.count
            fitting = self._fitting(drawing.pictures, tokens - sum(each.tokens for each in shown))
            shown += self._kept(replace(drawing, pictures=fitting), path)
            if not fitting or len(fitting) < len(drawing.pictures):
                break
        return Pages(tuple(shown), count)

    def _look(
        self, data: bytes, path: str, kind: Kind, view_range: tuple[int, int] | None
    ) -> Sight:
        try:
            drawing = self._draw(data, kind, view_range)
            pictures = self._kept(drawing, path)
        except DrawingError as error:
            return Sight(f"Error: {path} cannot be viewed. {error}", ok=False)
        text = f"{path}: {drawing.remark}"
        if pictures:
            text += "\nThe picture follows."
        elif kind != "pdf":
            text += "\n" + _BLIND.format(help=_IMAGE_HELP.format(path=path))
        return Sight(f"{text}\n{drawing.text}".rstrip(), pictures)

    def _beside_text(self, data: bytes, path: str, kind: Kind) -> Sight | None:
        """Return the picture of a file whose text the model gets as well."""
        if self.limits is None:
            return None
        try:
            drawing = self._draw(data, kind, None)
            pictures = self._kept(drawing, path)
        except DrawingError as error:
            return Sight(f"It cannot be drawn. {error}", adds=True)
        if not pictures:
            return None
        return Sight(f"{drawing.remark} The picture follows.", pictures, adds=True)

    def _draw(
        self,
        data: bytes,
        kind: Kind,
        view_range: tuple[int, int] | None,
        *,
        separate: bool = False,
    ) -> "Drawing":
        from agent.vision.drawing_process import draw_in_process  # few runs look at pictures
        from agent.vision.request import DrawingLimits, DrawingRequest

        if len(data) > MAX_FILE_BYTES:
            raise DrawingError(f"It is larger than {MAX_FILE_BYTES // 1024**2} MB.")
        if kind == "heif":
            raise DrawingError(_HEIF_GIVEN)
        takes = self.limits
        limits = DrawingLimits(takes.side, takes.bytes) if takes else DrawingLimits()
        draws = takes is not None
        request = DrawingRequest(kind, limits, view_range, draws=draws, separate=separate)
        return draw_in_process(data, request)

    def _fitting(self, drawn: "tuple[Drawn, ...]", tokens: int) -> "tuple[Drawn, ...]":
        """Return the first pictures that take no more tokens than this."""
        for at, each in enumerate(drawn):
            tokens -= self._tokens(each)
            if tokens < 0:
                return drawn[:at]
        return drawn

    def _tokens(self, drawn: "Drawn") -> int:
        family = self.limits.family if self.limits else ""
        return estimate_picture_tokens(family, drawn.width, drawn.height)

    def _kept(self, drawing: "Drawing", path: str) -> tuple[Picture, ...]:
        keep = self._keep
        if self.limits is None or keep is None:
            return ()
        source = path.removeprefix("/workspace/")
        try:
            names = [keep(each.data, each.media_type) for each in drawing.pictures]
        except OSError as error:
            raise DrawingError(f"The picture cannot be stored: {error.strerror}.") from error
        return tuple(
            Picture(
                file=name,
                media_type=each.media_type,
                width=each.width,
                height=each.height,
                size=len(each.data),
                source=f"{source}, {each.part}" if each.part else source,
                tokens=self._tokens(each),
            )
            for name, each in zip(names, drawing.pictures, strict=True)
        )


def explain_video(path: str, second: str = "") -> Sight:
    """Return how to make a picture of a video's frame."""
    return Sight(_VIDEO.format(path=shlex.quote(path), second=second or "1"))


def _read_document(
    data: bytes, path: str, view_range: tuple[int, int] | None, *, sees: bool
) -> Sight:
    """Return the text of an office document, or of some of its slides or sheets."""
    from agent.documents.text import extract_text  # few runs need it
    from agent.vision.request import MAX_TEXT, checked_range

    name = path.rpartition("/")[2].lower()
    try:
        parts = extract_text(io.BytesIO(data), name).text.split("\f")
    except WorkspaceError as error:
        return Sight(f"Error: {path} cannot be viewed. {error}", ok=False)
    part = _OFFICE_PARTS.get(name.rpartition(".")[2][:3], "writer")
    about, text = f"The text of {path}", parts[0]
    if len(parts) > 1:
        noun = "sheet" if part == "calc" else "slide"
        try:
            first, last = checked_range(view_range or (1, -1), len(parts), noun)
        except DrawingError as error:
            return Sight(f"Error: {path} cannot be viewed. {error}", ok=False)
        about += f", {noun}s {first} to {last} of {len(parts):,}"
        shown = range(first, last + 1)
        text = "\n".join(f"--- {noun} {at} ---\n{parts[at - 1].strip()}" for at in shown)
    if len(text) > MAX_TEXT:
        more = f"; view_range names {noun}s" if len(parts) > 1 else ""
        text = f"{text[:MAX_TEXT]}\n[cut off here, of {len(text):,} characters{more}]"
    help = "\n" + _PAGES_HELP.format(path=shlex.quote(path), part=part) if sees else ""
    return Sight(f"{about}:\n{text.strip()}{help}")
