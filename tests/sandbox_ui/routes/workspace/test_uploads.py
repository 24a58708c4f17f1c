"""Resumable uploads, file changes, replacements and document token counts."""

import io
import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tusclient.client import TusClient

from agent.runs.folder import RunFolder
from agent.workspace.transfer import uploads
from tests.faults.app_process import start_app
from tests.support import httpx, tus
from tests.support.server import serve_studio, wait_until
from tests.support.tus import offset, send

pytestmark = pytest.mark.contract


def start_upload(
    client: httpx.Client, run: str, size: int, path: str = "input/big%20%C3%A9.bin"
) -> str:
    created = tus.begin(client, run, path, size)
    assert (created.status_code, created.headers["upload-offset"]) == (201, "0"), created.text
    return tus.url_of(created)


def send_and_disconnect(
    client: httpx.Client, upload: str, offset: int, declared: int, content: bytes
) -> None:
    """Declare ``declared`` bytes, send ``content`` and close the connection."""
    server = urlsplit(str(client.base_url))
    with socket.create_connection((server.hostname, server.port)) as connection:
        headers = tus.part_headers(offset) | {
            "Host": server.netloc,
            "Content-Length": str(declared),
        }
        lines = [f"PATCH {urlsplit(upload).path} HTTP/1.1", *map(": ".join, headers.items())]
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + content)


def resume(client: httpx.Client, upload: str, content: bytes) -> httpx.Response:
    """Resume at the server's offset, again after each offset conflict."""
    while True:
        at = offset(client, upload)
        answer = send(client, upload, at, content[at:])
        if answer.status_code != 409:
            return answer


# Resumable uploads


def test_an_upload_in_parts_appears_when_complete(
    client: httpx.Client, run: str, workspace: Path
) -> None:
    upload = start_upload(client, run, 10)
    first = send(client, upload, 0, b"01234")
    assert (first.status_code, first.headers["upload-offset"]) == (204, "5")
    assert "studio-path" not in first.headers
    assert list((workspace / "input").iterdir()) == []
    last = send(client, upload, 5, b"56789")
    assert (last.status_code, last.headers["upload-offset"]) == (204, "10")
    assert (workspace / "input" / "big é.bin").read_bytes() == b"0123456789"
    for each in (last, client.head(upload), send(client, upload, 10, b"")):
        assert each.headers["studio-path"] == "input/big%20%C3%A9.bin"
        assert (each.headers["upload-length"], each.headers["tus-resumable"]) == ("10", "1.0.0")


def test_a_file_is_empty_or_has_only_a_name(
    client: httpx.Client, run: str, workspace: Path
) -> None:
    created = tus.begin(client, run, "input/empty", 0)
    assert (created.status_code, created.headers["studio-path"]) == (201, "input/empty")
    assert (workspace / "input" / "empty").read_bytes() == b""
    upload = tus.url_of(tus.begin(client, run, "50% é.txt", 1, key="filename"))
    assert send(client, upload, 0, b"x").status_code == 204
    assert (workspace / "input" / "50% é.txt").read_bytes() == b"x"


def test_any_client_of_the_protocol_can_upload(
    client: httpx.Client, run: str, workspace: Path
) -> None:
    features = client.options(f"/api/runs/{run}/uploads")
    assert features.status_code == 204
    assert features.headers["tus-version"] == "1.0.0"
    assert features.headers["tus-extension"] == "creation,termination"
    content = b"content " * 1000
    TusClient(f"{client.base_url}/api/runs/{run}/uploads").uploader(
        file_stream=io.BytesIO(content), chunk_size=3000, metadata={"filename": "report.txt"}
    ).upload()
    assert (workspace / "input" / "report.txt").read_bytes() == content


@pytest.mark.parametrize("received", [0, 1, 65_535, 300_000, 2_999_999])
def test_an_upload_resumes_after_a_break_at_any_byte(
    client: httpx.Client, run: str, workspace: Path, received: int
) -> None:
    content = os.urandom(3_000_000)
    upload = start_upload(client, run, len(content))
    send_and_disconnect(client, upload, 0, len(content), content[:received])
    # All is kept that was received, but the last piece.
    wait_until(lambda: offset(client, upload) >= received - 65_536)
    assert list((workspace / "input").iterdir()) == []
    assert resume(client, upload, content).status_code == 204
    assert (workspace / "input" / "big é.bin").read_bytes() == content


def test_a_wrong_offset_is_rejected_with_the_current_offset(client: httpx.Client, run: str) -> None:
    upload = start_upload(client, run, 10)
    send(client, upload, 0, b"0123")
    for wrong in (0, 3, 5, 11):
        answer = send(client, upload, wrong, b"x")
        assert (answer.status_code, answer.headers["upload-offset"]) == (409, "4")
    assert client.patch(upload, content=b"x").status_code == 415
    invalid = tus.part_headers(0) | {"Upload-Offset": "-1"}
    assert client.patch(upload, headers=invalid, content=b"x").status_code == 400
    assert send(client, upload, 4, b"more than was said").status_code == 400
    assert offset(client, upload) == 4


def test_a_later_client_takes_over_an_upload_and_the_earlier_one_gets_a_conflict(
    client: httpx.Client, run: str, workspace: Path
) -> None:
    content = os.urandom(2_000_000)
    upload = start_upload(client, run, len(content))
    started, proceed = threading.Event(), threading.Event()
    answers: list[httpx.Response] = []

    def slow_body() -> Iterator[bytes]:
        yield content[:1_500_000]
        started.set()
        proceed.wait(20)
        yield b"z" * 500_000

    def send_first() -> None:
        headers = tus.part_headers(0) | {"Content-Length": str(len(content))}
        with httpx.Client(base_url=client.base_url, timeout=30) as other:
            answers.append(other.patch(upload, headers=headers, content=slow_body()))

    sender = threading.Thread(target=send_first)
    sender.start()
    started.wait(20)
    wait_until(lambda: offset(client, upload) > 0)
    later = send(client, upload, offset(client, upload), b"")
    at = int(later.headers["upload-offset"])
    assert send(client, upload, at, content[at:]).status_code == 204
    proceed.set()
    sender.join()
    assert answers[0].status_code == 409
    assert (workspace / "input" / "big é.bin").read_bytes() == content


def test_an_upload_can_be_cancelled(client: httpx.Client, run: str, workspace: Path) -> None:
    upload = start_upload(client, run, 10)
    send(client, upload, 0, b"01234")
    assert client.delete(upload).status_code == 204
    assert client.head(upload).status_code == 404
    assert send(client, upload, 5, b"56789").status_code == 404
    assert list((workspace.parent / "staging").iterdir()) == []


@pytest.mark.parametrize(
    "headers",
    [
        {"Upload-Length": ""},
        {"Upload-Length": "-1"},
        {"Upload-Length": "1e99"},
        {"Upload-Length": "9" * 5000},
        {"Upload-Metadata": ""},
        {"Upload-Metadata": "path"},
        {"Upload-Metadata": "path ä"},
        {"Upload-Metadata": "path !!!!"},
        {"Upload-Metadata": "path Li4vYQ=="},  # ../a
        {"Upload-Metadata": "filename YS9i"},  # a/b
    ],
    ids=str,
)
def test_an_invalid_upload_request_is_rejected(
    client: httpx.Client, run: str, headers: dict[str, str]
) -> None:
    headers = tus.creation_headers("a", 1) | headers
    raw = {name.encode(): value.encode("latin-1") for name, value in headers.items()}
    answer = client.post(f"/api/runs/{run}/uploads", headers=raw)
    assert (answer.status_code, bool(answer.json()["error"])) == (400, True)
    too_large = tus.begin(client, run, "a", 1 << 49)
    assert (too_large.status_code, "does not fit" in too_large.json()["error"]) == (507, True)


@pytest.mark.nightly
def test_an_upload_resumes_after_the_server_is_killed(tmp_path: Path) -> None:
    content, unkept = os.urandom(5_000_000), httpx.Limits(max_keepalive_connections=0)
    with (
        start_app(tmp_path / "data", {}) as app,
        httpx.Client(base_url=app.studio_url, limits=unkept) as client,
    ):
        run = client.post("/api/runs").json()["run"]
        upload = start_upload(client, run, len(content))
        send_and_disconnect(client, upload, 0, len(content), content[:2_000_000])
        wait_until(lambda: offset(client, upload) > 1_000_000)
        app.kill()
        app.start()
        at = offset(client, upload)
        assert at > 1_000_000
        assert send(client, upload, at, content[at:]).status_code == 204
        assert client.get(f"/api/runs/{run}/files/input/big%20%C3%A9.bin").content == content


def test_an_upload_to_a_full_disk_is_reported_and_leaves_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(tmp_path)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a disk can only be mounted by root")
    monkeypatch.setattr(uploads, "MIN_FREE_BYTES", 0)
    try:
        with serve_studio(tmp_path) as studio_url, httpx.Client(base_url=studio_url) as client:
            run = client.post("/api/runs").json()["run"]
            root = RunFolder.open(tmp_path, run).workspace
            upload = start_upload(client, run, 5_000_000)
            (root / "other").write_bytes(bytes(5_000_000))
            answer = send(client, upload, 0, bytes(5_000_000))
            assert (answer.status_code, answer.json()["error"]) == (
                507, "“input/big é.bin” does not fit: the disk is full.",
            )  # fmt: skip
            assert client.head(upload).status_code == 404
            assert list((root.parent / "staging").iterdir()) == []
            assert list((root / "input").iterdir()) == []
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


# Changes


def change(client: httpx.Client, run: str, operation: str, **more: object) -> Any:
    return client.post(f"/api/runs/{run}/changes", json={"operation": operation, **more}).json()


def test_files_and_folders_are_created_moved_removed_and_restored(
    client: httpx.Client, run: str, workspace: Path
) -> None:
    folder = "output/d%20%C3%A9"
    made = change(client, run, "create_folder", path=folder)
    assert made == {"paths": [folder], "undo": None, "failures": []}
    again = change(client, run, "create_folder", path=folder)["paths"]
    assert again == [f"{folder}%20%282%29"]
    merged = change(client, run, "create_folder", path=folder, merge=True)["paths"]
    assert merged == [folder]
    file = change(client, run, "create_file", path="output/a%2Btxt")["paths"]
    assert file == ["output/a%2Btxt"]
    moved = change(client, run, "move", paths=file, to=folder)
    assert (workspace / "output" / "d é" / "a+txt").exists()
    change(client, run, "undo", undo=moved["undo"])
    renamed = change(client, run, "rename", path="output/a%2Btxt", name="%FF%25")
    assert renamed["paths"] == ["output/%FF%25"]
    removed = change(client, run, "remove", paths=["output"])
    assert not (workspace / "output").exists()
    back = change(client, run, "undo", undo=removed["undo"])
    assert back == {"paths": ["output"], "undo": None, "failures": []}
    assert (workspace / "output" / "d é").is_dir()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"operation": "explode"}, 400),
        ({}, 400),
        ({"operation": ["create_folder"]}, 400),
        ({"operation": "create_folder"}, 400),
        ({"operation": "create_folder", "path": ""}, 400),
        ({"operation": "create_folder", "path": "../a"}, 400),
        ({"operation": "move", "paths": "input", "to": "output"}, 400),
        ({"operation": "move", "paths": ["input"], "to": "input/x"}, 400),
        ({"operation": "rename", "path": "input", "name": "a%2Fb"}, 400),
        ({"operation": "remove", "paths": ["missing"]}, 400),
        ({"operation": "remove", "paths": [""]}, 400),
        ({"operation": "undo", "undo": "../../x"}, 404),
        ({"operation": "undo", "undo": "0" * 24}, 404),
    ],
)
def test_an_invalid_change_is_rejected_with_a_message(
    client: httpx.Client, run: str, workspace: Path, body: dict[str, object], status: int
) -> None:
    answer = client.post(f"/api/runs/{run}/changes", json=body)
    assert (answer.status_code, answer.json()["error"][-1]) == (status, ".")
    assert sorted(path.name for path in workspace.iterdir()) == ["input", "output"]


# Replacements


def test_a_file_is_replaced_only_if_its_etag_matches(
    client: httpx.Client, run: str, workspace: Path
) -> None:
    (workspace / "output" / "a.sh").write_text("old")
    (workspace / "output" / "a.sh").chmod(0o755)
    file_url = f"/api/runs/{run}/files/output/a.sh"
    seen = client.get(file_url).headers["etag"]
    saved = client.put(file_url, content=b"new", headers={"If-Match": seen})
    assert (saved.status_code, saved.json()["path"]) == (200, "output/a.sh")
    assert (workspace / "output" / "a.sh").read_text() == "new"
    assert (workspace / "output" / "a.sh").stat().st_mode & 0o777 == 0o755
    assert saved.headers["etag"] == client.head(file_url).headers["etag"]
    late = client.put(file_url, content=b"late", headers={"If-Match": seen})
    assert (late.status_code, "has changed" in late.json()["error"]) == (412, True)
    (workspace / "output" / "a.sh").unlink()
    gone = client.put(file_url, content=b"late", headers={"If-Match": saved.headers["etag"]})
    assert gone.status_code == 412
    assert list((workspace / "output").iterdir()) == []


# Document token counts


def test_a_document_is_counted_again_when_it_changes_unless_it_has_no_text(
    client: httpx.Client, run: str, workspace: Path
) -> None:
    url = f"/api/runs/{run}/document-info/input"
    (workspace / "input" / "a.txt").write_text("four words are here")
    about = client.get(f"{url}/a.txt").json()
    counts = {"pages": None, "words": 4, "tokens": 5, "characters": 19}
    assert about == counts | {"reason": "", "assumed_encoding": ""}
    (workspace / "input" / "a.txt").write_text("two words")
    assert client.get(f"{url}/a.txt").json()["words"] == 2
    (workspace / "input" / "a.bin").write_bytes(b"\0\1")
    about = client.get(f"{url}/a.bin").json()
    assert (about["tokens"], "contains no text" in about["reason"]) == (None, True)
    gone = client.get(f"{url}/missing").json()
    assert (gone["words"], "does not exist" in gone["reason"]) == (None, True)


# Memory


@pytest.mark.nightly
@pytest.mark.timeout(300)
def test_a_gigabyte_is_streamed_in_constant_memory(tmp_path: Path) -> None:
    size, piece = 1024**3, os.urandom(1024**2)
    with (
        start_app(tmp_path / "data", {}) as app,
        httpx.Client(base_url=app.studio_url) as client,
    ):
        run = client.post("/api/runs").json()["run"]
        client.put(f"/api/runs/{run}/files/input/small", content=piece)
        client.get(f"/api/runs/{run}/files/input/small")
        before = _peak_memory(app.pid)
        upload = start_upload(client, run, size)
        headers = tus.part_headers(0) | {"Content-Length": str(size)}
        pieces = (piece for _ in range(1024))
        assert client.patch(upload, headers=headers, content=pieces).status_code == 204
        with client.stream("GET", f"/api/runs/{run}/files/input/big%20%C3%A9.bin") as got:
            assert sum(map(len, got.iter_raw(1024**2))) == size
        assert _peak_memory(app.pid) - before < 32 * 1024**2


def _peak_memory(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024
