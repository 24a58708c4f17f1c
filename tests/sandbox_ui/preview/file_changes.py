"""Files of a run that are changed while they are looked at."""

import httpx

from tests.sandbox_ui.preview.file_viewer import Looker


def rewrite(looker: Looker, name: str, content: bytes) -> None:
    """Let a file hold something else, in one go, as the model's programs do."""
    address = f"{looker.address}/api/runs/{looker.run}/files/output/{name}"
    etag = httpx.head(address).headers["etag"]
    httpx.put(address, content=content, headers={"If-Match": etag}).raise_for_status()


def content(looker: Looker, name: str) -> bytes:
    """The bytes of a file of ``output/``."""
    return httpx.get(f"{looker.address}/api/runs/{looker.run}/files/output/{name}").content
