"""Changes that a step made to a file: both versions, and what to display."""

from contextlib import ExitStack
from dataclasses import dataclass
from io import BytesIO
from typing import Any, BinaryIO, Literal

from agent.errors import WorkspaceError
from agent.workspace.paths import RelPath
from agent.workspace.versions.manifest import Node
from agent.workspace.versions.past_files import FileVersions
from sandbox_ui.preview.base import PreviewRequest
from sandbox_ui.preview.kinds import DIFFERENCE, HEAD_BYTES, is_text, kind_of
from sandbox_ui.preview.service import PreviewService

DisplayKind = Literal["text", "images", "metadata"]
_IMAGE_KINDS = {"image"}


@dataclass(frozen=True, slots=True)
class Difference:
    """Change that a step made to a path, from the version after ``base`` if there is one."""

    path: str
    step: int
    base: int | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    display: DisplayKind
    reason: str = ""
    text: bytes = b"null"


def compare(
    previews: PreviewService,
    versions: FileVersions,
    path: RelPath,
    step: int | None,
    base: int | None = None,
) -> Difference:
    """Return the change by ``step``, by default the last that changed ``path``."""
    step = versions.last_changed_step(path) if step is None else step
    if step is None:
        raise WorkspaceError(f"No step changed “{path.display}”.")
    after = versions.node(path, step)
    before = versions.node_before(path, step) if base is None else versions.node(path, base)
    if before is None and after is None:
        when = f"before nor after step {step}" if base is None else f"after step {base} nor {step}"
        raise WorkspaceError(f"“{path.display}” existed neither {when}.")
    earlier = step - 1 if base is None else base
    with ExitStack() as files:
        try:
            old = _open_version(versions, path, earlier, before, files)
            new = _open_version(versions, path, step, after, files)
        except WorkspaceError as error:
            return _difference(path, (step, base), (before, after), "metadata", str(error))
        display = _display_kind(path.name, [file for file in (old, new) if file is not None])
        text, reason = b"null", ""
        if display == "text":
            text, reason = _read_texts(previews, path, old, new)
            display = "metadata" if reason else display
        return _difference(path, (step, base), (before, after), display, reason, text)


def _read_texts(
    previews: PreviewService, path: RelPath, old: BinaryIO | None, new: BinaryIO | None
) -> tuple[bytes, str]:
    new, old = new or BytesIO(), old or BytesIO()
    request = PreviewRequest(RelPath(path.name).display, new.seek(0, 2), {}, old)
    new.seek(0)
    try:
        return previews.render(DIFFERENCE, new, request).content, ""
    except WorkspaceError as error:
        return b"null", str(error)


def _open_version(
    versions: FileVersions, path: RelPath, step: int, node: Node | None, files: ExitStack
) -> BinaryIO | None:
    if node is None or node.kind != "file":
        return None
    return files.enter_context(versions.open_content(path, step, node))


def _display_kind(name: str, files: list[BinaryIO]) -> DisplayKind:
    heads = []
    for file in files:
        heads.append(file.read(HEAD_BYTES))
        file.seek(0)
    kinds = {kind_of(name, head) for head in heads}
    if not files or (kinds <= _IMAGE_KINDS and all(heads)):
        return "images" if files else "metadata"
    return "text" if all(is_text(head) for head in heads) else "metadata"


def _difference(
    path: RelPath,
    steps: tuple[int, int | None],
    nodes: tuple[Node | None, Node | None],
    display: DisplayKind,
    reason: str = "",
    text: bytes = b"null",
) -> Difference:
    before, after = (None if node is None else node.to_json() for node in nodes)
    return Difference(path.to_url(), *steps, before, after, display, reason, text)
