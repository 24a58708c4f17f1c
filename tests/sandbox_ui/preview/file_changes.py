"""Changes to previewed files."""

from tests.sandbox_ui.preview.file_viewer import FileViewer
from tests.support import httpx


def rewrite(viewer: FileViewer, name: str, content: bytes) -> None:
    """Replace the content of a file atomically, as a program of the model would."""
    file_url = f"{viewer.studio_url}/api/runs/{viewer.run}/files/output/{name}"
    etag = httpx.head(file_url).headers["etag"]
    httpx.put(file_url, content=content, headers={"If-Match": etag}).raise_for_status()


def content(viewer: FileViewer, name: str) -> bytes:
    """The bytes of a file of ``output/``."""
    return httpx.get(f"{viewer.studio_url}/api/runs/{viewer.run}/files/output/{name}").content
