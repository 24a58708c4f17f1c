"""Import and export of traces over HTTP: listed, owned, bounded."""

import json
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from agent.errors import TraceError
from agent.runs.folder import RunFolder
from agent.workspace.versions.manifest import ManifestLog
from sandbox_ui.routes.recorded_runs import imports
from tests.agent.traces.samples import FOLDER
from tests.sandbox_ui.accounts import accounts, signed_in
from tests.support import httpx
from tests.support.server import serve_studio, wait_until

pytestmark = pytest.mark.contract


def send(client: httpx.Client, content: bytes, name: str = "trace.json") -> httpx.Response:
    return client.post("/api/imports", params={"name": name}, content=content)


def test_an_imported_run_is_listed_found_and_exported(client: httpx.Client, data: Path) -> None:
    answer = send(client, (FOLDER / "atif-1.0.json").read_bytes())
    assert answer.status_code == 201
    (imported,) = answer.json()["runs"]
    assert imported["format"] == "ATIF"
    run = imported["run"]
    (row,) = client.get("/api/runs", params={"q": "how large is notes.txt"}).json()["runs"]
    assert (row["run"], row["imported"], row["steps"], row["state"]) == (run, "ATIF", 2, "answered")
    assert row["at"] >= RunFolder.open(data, run).created  # not the trace's time, a year ago
    for name in ("atif", "messages", "sts", "otel"):
        export = client.get(f"/api/runs/{run}/export/{name}")
        assert export.status_code == 200
        assert "attachment" in export.headers["content-disposition"]
        assert "wc -c notes.txt" in export.text
    assert client.get(f"/api/runs/{run}/export/other").status_code == 404


def test_a_downloaded_run_is_imported_with_its_files_as_of_each_step(
    client: httpx.Client, data: Path
) -> None:
    run = client.post("/api/recordings/journey").json()["run"]
    exported = client.get(f"/api/runs/{run}/run.zip")
    answer = send(client, exported.content, "run.zip")
    assert answer.status_code == 201
    again = RunFolder.open(data, answer.json()["runs"][0]["run"])
    first = RunFolder.open(data, run)
    assert again.imported == "LLM-in-Sandbox Studio"
    logs = [ManifestLog(each.manifests) for each in (first, again)]
    assert [*logs[0].read()] == [*logs[1].read()]
    for path, node in logs[0].manifest().nodes.items():
        if node.kind == "file":
            assert (again.workspace / path).read_bytes() == (first.workspace / path).read_bytes()
    rows = client.get("/api/runs").json()["runs"]
    assert [row["imported"] for row in rows if row["run"] == again.id] == [again.imported]


def test_a_file_may_be_larger_than_other_requests_and_what_is_wrong_with_it_is_said(
    client: httpx.Client,
) -> None:
    message = {"role": "user", "content": "x" * 1_000_000}
    line = json.dumps({"messages": [message] * (8 * 1024**2 // 1_000_000 + 1)})
    assert send(client, line.encode(), "large.jsonl").status_code == 201
    answer = send(client, b'{"messages": [\n{"role": "robot"}]}', "a\nb/../robot.jsonl")
    assert answer.status_code == 400
    assert answer.json()["error"] == (
        "a␊b/../robot.jsonl, line 2, messages[0].role: “robot” is none of system, user, assistant "
        "and tool."
    )


def test_an_import_ends_with_its_client(
    client: httpx.Client, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, ended = threading.Event(), threading.Event()

    def read_for_ever(*_: object, stopped: Callable[[], bool], **__: object) -> None:
        begun.set()
        wait_until(stopped)
        ended.set()
        raise TraceError("stopped")

    monkeypatch.setattr(imports, "import_file", read_for_ever)
    with send_part(client, "/api/imports?name=a.json", b"{}", declared=2):
        assert begun.wait(60)
        assert not ended.is_set()
    assert ended.wait(60)
    wait_until(lambda: not list((data / "imports").iterdir()))


def test_what_is_received_counts_for_the_quota_and_stays_in_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An upload to /v1/files, as its form says, and one to be imported."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    form = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
    data = tmp_path / "data"
    with (
        serve_studio(data, users=accounts("ann"), quota_per_user=3_000_000, openai_api=True) as url,
        signed_in(url, "ann") as ann,
    ):
        files = {"file": ("b", bytes(2_000_000))}
        for path, begin in (("/v1/files", form), ("/api/imports", b"")):
            headers = {"Content-Type": "multipart/form-data; boundary=x"}
            with send_part(ann, path, begin + bytes(2_000_000), declared=2_500_000, **headers):
                wait_until(lambda: sum(bytes_in(data / "imports")) >= 1_000_000)
                answer = ann.post("/v1/files", data={"purpose": "user_data"}, files=files)
                assert answer.status_code == 507
                assert send(ann, bytes(2_000_000)).status_code == 507
            wait_until(lambda: not list((data / "imports").iterdir()))
        answer = ann.post("/v1/files", data={"purpose": "user_data"}, files=files)
        assert (answer.status_code, answer.json()["bytes"]) == (200, 2_000_000)


def bytes_in(folder: Path) -> Iterator[int]:
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            yield path.stat().st_size if path.is_file() else 0


@contextmanager
def send_part(
    client: httpx.Client, path: str, content: bytes, declared: int, **headers: str
) -> Iterator[None]:
    """Send ``content`` as the beginning of a body, and close the connection after the block."""
    server = urlsplit(str(client.base_url))
    cookies = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    headers |= {"Host": server.netloc, "Content-Length": str(declared), "Cookie": cookies}
    lines = [f"POST {path} HTTP/1.1", *map(": ".join, headers.items())]
    with socket.create_connection((server.hostname, server.port)) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + content)
        yield


def test_a_run_belongs_to_who_imports_it_and_counts_for_their_quota(tmp_path: Path) -> None:
    sample, message = (FOLDER / "messages.jsonl").read_bytes(), {"role": "user"}
    body = json.dumps({"messages": [message | {"content": "x" * 60_000}]}).encode()
    with (
        serve_studio(tmp_path, users=accounts("ann", "bob"), quota_per_user=100_000) as url,
        signed_in(url, "ann") as ann,
        signed_in(url, "bob") as bob,
        httpx.Client(base_url=url) as guest,
    ):
        assert send(guest, sample).status_code == 401
        assert send(ann, body + body).status_code == 507  # larger than the quota
        answer = send(ann, body)  # as a journal it has the text twice
        assert (answer.status_code, "more space" in answer.json()["error"]) == (400, True)
        assert not list(tmp_path.glob("runs/*/journal.jsonl"))
        assert not list((tmp_path / "imports").iterdir())
        (one, _) = send(bob, sample).json()["runs"]
        assert RunFolder.open(tmp_path, one["run"]).owner == "u:bob"
        assert bob.get(f"/api/runs/{one['run']}/export/atif").status_code == 200
