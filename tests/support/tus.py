"""A client of the tus protocol for uploads to a run."""

import base64

from tests.support import httpx


def creation_headers(path: str, size: int, key: str = "path") -> dict[str, str]:
    """Headers that begin an upload of ``size`` bytes to a percent-encoded path."""
    metadata = f"{key} {base64.b64encode(path.encode()).decode()}"
    return {"Tus-Resumable": "1.0.0", "Upload-Length": str(size), "Upload-Metadata": metadata}


def part_headers(offset: int) -> dict[str, str]:
    """Headers of a part that begins at ``offset``."""
    return {
        "Tus-Resumable": "1.0.0",
        "Content-Type": "application/offset+octet-stream",
        "Upload-Offset": str(offset),
    }


def begin(
    client: httpx.Client, run: str, path: str, size: int, key: str = "path"
) -> httpx.Response:
    return client.post(f"/api/runs/{run}/uploads", headers=creation_headers(path, size, key))


def url_of(created: httpx.Response) -> str:
    """The URL of an upload that ``begin`` created."""
    created.raise_for_status()
    return str(created.url.join(created.headers["location"]))


def send(client: httpx.Client, upload: str, offset: int, content: bytes) -> httpx.Response:
    return client.patch(upload, headers=part_headers(offset), content=content)


def offset(client: httpx.Client, upload: str) -> int:
    return int(client.head(upload).raise_for_status().headers["upload-offset"])
