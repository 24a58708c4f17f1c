"""Previews rendered in the test's process."""

import tempfile
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO, cast

from sandbox_ui.preview.base import BinaryPreview, Preview, PreviewRequest, Renderer


class CountingFile(FileIO):
    """A file that counts the bytes read."""

    bytes_read = 0

    def read(self, size: int | None = -1, /) -> bytes:
        content = super().read(-1 if size is None else size) or b""
        self.bytes_read += len(content)
        return content


def process_bytes_read() -> int:
    """The number of bytes that this process has read."""
    return int(Path("/proc/self/io").read_text().split()[1])


def render(
    renderer: Renderer, content: str | bytes | Path, name: str = "a.bin", /, **options: str
) -> Preview:
    """The preview of a file, or of this content in a temporary one."""
    if isinstance(content, Path):
        with content.open("rb") as file:
            request = PreviewRequest(content.name, content.stat().st_size, options)
            return renderer(cast(BinaryIO, file), request)
    content = content.encode() if isinstance(content, str) else content
    with tempfile.NamedTemporaryFile() as temporary:
        temporary.write(content)
        temporary.flush()
        temporary.seek(0)
        return renderer(cast(BinaryIO, temporary), PreviewRequest(name, len(content), options))


def preview_data(
    renderer: Renderer, content: str | bytes | Path, name: str = "a.bin", /, **options: str
) -> dict[str, Any]:
    """The JSON data of a preview."""
    preview = render(renderer, content, name, **options)
    assert isinstance(preview, dict)
    return preview


def preview_file(
    renderer: Renderer, content: str | bytes | Path, name: str = "a.bin", /, **options: str
) -> BinaryPreview:
    """A preview that is a file, such as an image."""
    preview = render(renderer, content, name, **options)
    assert isinstance(preview, BinaryPreview)
    return preview
