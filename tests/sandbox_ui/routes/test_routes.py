"""The HTTP API of the page."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from agent.events import RunEnded, StepEnded, StepStarted, TextDelta, Totals
from agent.models.base import Usage
from agent.models.builtin.install import find_files
from agent.runs.folder import RunFolder
from agent.runs.journal import Journal, ends_with
from tests.support import httpx
from tests.support.component.events import ended, started, step
from tests.support.server import follow_run, serve_studio, wait_until

pytestmark = pytest.mark.contract

STARTED, ENDED = started("t"), ended("answered", "a")


@pytest.fixture
def journal(folder: RunFolder) -> Iterator[Journal]:
    journal = Journal(folder.journal)
    yield journal
    journal.close()


def write_step(journal: Journal, number: int, *texts: str) -> None:
    journal.append(StepStarted(step=number, note=""))
    for text in texts:
        journal.append(TextDelta(step=number, text=text))
    journal.append(StepEnded(step=number, totals=Totals(steps=number)))


# Page and health


def test_health_reports_engine_image_and_model(client: httpx.Client) -> None:
    health = client.get("/healthz").json()
    assert health["ok"]
    assert health["engine"]["ok"]
    assert health["image"] == {"ok": True, "tag": "none", "detail": "", "progress": None}
    assert health["model"]["ok"] is (find_files() is not None)
    assert "No endpoint" in health["model"]["detail"]
    assert health["records"] == {"ok": True, "runs": 0, "unreadable_events": 0}


def test_health_names_the_model_of_an_endpoint(tmp_path: Path) -> None:
    with serve_studio(tmp_path, base_url="http://127.0.0.1:9/v1", model="m") as studio_url:
        health = httpx.get(f"{studio_url}/healthz").json()
    assert health["model"] == {"ok": True, "name": "m", "detail": ""}


def test_examples_are_listed_with_descriptions(client: httpx.Client) -> None:
    known = client.get("/api/examples").json()
    assert len([each for each in known if each["seconds"]]) >= 10
    assert len(known) >= 15
    assert all(each["title"] and each["description"] and each["task"] for each in known)


def test_markdown_of_up_to_a_megabyte_is_rendered(client: httpx.Client) -> None:
    html = client.post("/api/markdown", content="**b** <script>x</script>").json()["html"]
    assert "<strong>b</strong>" in html
    assert "<script" not in html
    refused = client.post("/api/markdown", content=b"x" * 1_100_000)
    assert (refused.status_code, "at most 1.0 MB" in refused.json()["error"]) == (413, True)


def test_a_preview_with_too_long_options_is_refused(client: httpx.Client, run: str) -> None:
    client.put(f"/api/runs/{run}/files/a.csv", content=b"a,b")
    refused = client.get(f"/api/runs/{run}/view/a.csv", params={"sort": "\1" * 12_000})
    assert (refused.status_code, "at most 64 KB" in refused.json()["error"]) == (400, True)


# Event stream


def test_an_attach_starts_with_the_state_and_the_events_of_the_running_step(
    client: httpx.Client, run: str, journal: Journal
) -> None:
    journal.append(STARTED)
    write_step(journal, 1, "one")
    with follow_run(client, run) as stream:
        state, refresh = next(stream), next(stream)
    assert (state.name, state.cursor) == ("state", str(journal.end))
    assert [step["text"] for step in state.data["state"]["steps"]] == ["one"]
    assert (refresh.name, refresh.data, refresh.cursor) == ("workspace", {"all": True}, "")
    journal.append(StepStarted(step=2, note=""))
    journal.append(TextDelta(step=2, text="half"))
    with follow_run(client, run) as stream:
        state, events = next(stream), next(stream)
    assert len(state.data["state"]["steps"]) == 1
    assert [event["kind"] for event in events.data["events"]] == ["step_started", "text_delta"]
    assert events.data["status"]["state"] == "writing"


def test_repeated_resumes_neither_miss_nor_repeat_events(
    client: httpx.Client, run: str, journal: Journal
) -> None:
    words = [f"word {number} " for number in range(1500)]
    journal.append(STARTED)

    def write() -> None:
        journal.append(StepStarted(step=1, note=""))
        for word in words:
            journal.append(TextDelta(step=1, text=word))
        journal.append(ENDED)

    writer = threading.Thread(target=write)
    writer.start()
    received: list[dict[str, Any]] = []
    cursor = "0"
    while not received or received[-1]["kind"] != "run_ended":
        with follow_run(client, run, cursor) as stream:
            for message in stream:
                cursor = message.cursor or cursor
                if message.name == "message":
                    received += message.data["events"]
                    break
    writer.join()
    assert [event["text"] for event in received if event["kind"] == "text_delta"] == words


def test_followers_receive_changed_folders_without_a_cursor_and_new_events(
    client: httpx.Client, run: str, journal: Journal, workspace: Path
) -> None:
    with follow_run(client, run) as stream:
        assert next(stream).data["state"]["state"] == "draft"
        assert next(stream).data == {"all": True}
        (workspace / "output" / "n.txt").write_text("x")
        notification = next(message for message in stream if "folders" in message.data)
        journal.append(STARTED)
        client.put(f"/api/runs/{run}/files/input/wakes.txt", content=b"")
        received = next(message for message in stream if message.name == "message")
    assert (notification.data["folders"], notification.cursor) == (["output"], "")
    assert [event["kind"] for event in received.data["events"]] == ["run_started"]


@pytest.mark.parametrize("cursor", ["1", "999999999", "x", "-1", "9" * 30])
def test_an_invalid_cursor_is_refused(
    client: httpx.Client, run: str, journal: Journal, cursor: str
) -> None:
    journal.append(STARTED)
    answer = client.get(f"/api/runs/{run}/events", headers={"Last-Event-ID": cursor})
    assert answer.status_code == 400
    assert "cursor" in answer.json()["error"]


def test_a_run_is_served_by_step_and_exported_once_it_has_started(
    client: httpx.Client, run: str, journal: Journal
) -> None:
    url = f"/api/runs/{run}"
    draft = client.get(f"{url}/conversation.md")
    assert (draft.status_code, draft.json()["error"]) == (404, "This run has not started yet.")
    assert client.get(f"{url}/report.html").status_code == 404
    journal.append(STARTED)
    write_step(journal, 1, "one")
    write_step(journal, 2, "two")
    journal.append(ENDED)
    body = client.get(f"{url}/steps/2").json()
    assert [event["kind"] for event in body] == ["step_started", "text_delta", "step_ended"]
    assert client.get(f"{url}/steps/3").status_code == 404
    text = client.get(f"{url}/conversation.md")
    assert text.headers["content-type"] == "text/markdown; charset=utf-8"
    assert text.headers["content-disposition"] == 'attachment; filename="conversation.md"'
    assert text.text.startswith("# t\n")
    table = client.get(f"{url}/steps.csv")
    assert table.headers["content-disposition"] == 'attachment; filename="steps.csv"'
    assert table.text.splitlines()[1].startswith("1,1,")
    report = client.get(f"{url}/report.html", params={"files": "0"})
    assert report.headers["content-type"] == "text/html; charset=utf-8"
    assert report.headers["content-disposition"].startswith('attachment; filename="t.html"')
    assert report.text.startswith("<!doctype html>")
    assert report.text.rstrip().endswith("</html>")
    for files in ("", "-1", "501", "1e2"):
        refused = client.get(f"{url}/report.html", params={"files": files})
        assert (refused.status_code, "from 0 to 500" in refused.text) == (400, True)


# Search and exports


def test_search_returns_step_and_line(client: httpx.Client, run: str, journal: Journal) -> None:
    journal.append(STARTED)
    write_step(journal, 1, "nothing")
    write_step(journal, 2, "a gu", "ll & a tern")
    found = client.get(f"/api/runs/{run}/find", params={"q": "GULL &"}).json()["matches"]
    assert found == [{"part": "step", "round": 1, "step": 2, "line": "a gull & a tern"}]
    assert client.get(f"/api/runs/{run}/find").json() == {"matches": []}


def test_a_note_on_a_step_is_shown_exported_and_found_and_the_run_stays_ended(
    client: httpx.Client, run: str, folder: RunFolder, journal: Journal
) -> None:
    journal.append(STARTED)
    write_step(journal, 1, "one")
    write_step(journal, 2, "two")
    journal.append(ENDED)
    url = f"/api/runs/{run}"
    note = client.post(f"{url}/steps/1/notes", content=rb'{"text": " Zebras\ncount \ud800. "}')
    assert note.status_code == 204
    with follow_run(client, run) as stream:
        (first, second) = next(stream).data["state"]["steps"]
    assert [each["text"] for each in first["annotations"]] == ["Zebras\ncount �."]
    assert second["annotations"] == []
    assert "\n*Note on step 1: Zebras count �.*\n" in client.get(f"{url}/conversation.md").text
    (found,) = client.get(f"{url}/find", params={"q": "zebras"}).json()["matches"]
    assert (found["part"], found["step"]) == ("step", 1)
    assert [each["run"] for each in client.get("/api/runs?q=zebras").json()["runs"]] == [run]
    assert ends_with(folder.journal, RunEnded)
    for step_, text, status in ((3, "x", 404), (1, " ", 400), (1, "x" * 4_001, 400), (1, 1, 400)):
        refused = client.post(f"{url}/steps/{step_}/notes", json={"text": text})
        assert refused.status_code == status


def test_a_runs_tokens_are_served_by_step(client: httpx.Client, run: str, journal: Journal) -> None:
    """``after`` returns the new steps only; the totals are always those of the whole run."""
    journal.append(STARTED)
    for number in (1, 2):
        for event in step(number, usage=Usage(1000 * number, 10, reported=("cached",))):
            journal.append(event)
    tokens = client.get(f"/api/runs/{run}/tokens", params={"after": 1}).json()
    (row,) = tokens["steps"]
    assert (row["step"], row["prompt"], row["environment"], row["cached"]) == (2, 2000, 990, 0)
    assert row["reasoning"] is None
    assert tokens["totals"]["prompt"] == 3000
    assert tokens["totals"]["once"] == 2010
    assert client.get(f"/api/runs/{run}/tokens?after=x").status_code == 400


# Files


def test_listed_paths_work_for_unusual_names(
    client: httpx.Client, run: str, workspace: Path
) -> None:
    (workspace / "a b%c.txt").write_text("x")
    (workspace / "ü\n.txt").write_text("xy")
    with open(bytes(workspace / "raw-") + b"\xff", "wb") as file:  # noqa: PTH123
        file.write(b"raw")
    rows = client.get(f"/api/runs/{run}/files").json()["entries"]
    found = {row["name"]: row for row in rows}
    assert {"input", "output", "a b%c.txt", "ü\n.txt", "raw-%FF"} == set(found)
    for name, content in (("a b%c.txt", b"x"), ("ü\n.txt", b"xy"), ("raw-%FF", b"raw")):
        got = client.get(f"/api/runs/{run}/files/{found[name]['path']}")
        assert got.content == content


def test_a_missing_folder_and_a_workspace_being_moved_are_listed_as_empty(
    client: httpx.Client, run: str, workspace: Path
) -> None:
    answer = client.get(f"/api/runs/{run}/files?folder=nope")
    empty = {"folder": "nope", "entries": [], "total": 0, "more": 0, "missing": True}
    assert (answer.status_code, answer.json()) == (200, empty)
    workspace.rename(workspace.with_name("moved"))
    answer = client.get(f"/api/runs/{run}/files")
    assert (answer.status_code, answer.json()["entries"]) == (200, [])


def test_a_download_is_an_inert_attachment(
    client: httpx.Client, run: str, folder: RunFolder
) -> None:
    (folder.workspace / "Übung.html").write_text("<script>1</script>")
    got = client.get(f"/api/runs/{run}/files/%C3%9Cbung.html")
    assert got.headers["content-disposition"].startswith("attachment")
    assert "filename*=UTF-8''%C3%9Cbung.html" in got.headers["content-disposition"]
    assert got.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert got.headers["x-content-type-options"] == "nosniff"
    assert "html" not in got.headers["content-type"]
    (folder.outputs / "1-call.stdout").write_text("long")
    got = client.get(f"/api/runs/{run}/outputs/1-call.stdout")
    assert got.text == "long"
    assert got.headers["content-disposition"].startswith("attachment")


def test_only_images_audio_and_plain_text_are_inline(
    client: httpx.Client, run: str, workspace: Path
) -> None:
    text = "text/plain; charset=utf-8"
    types = {"a.png": "image/png", "a.wav": "audio/wav", "a.html": text, "a.svg": text, "a": text}
    for name, media_type in types.items():
        (workspace / name).write_text("<svg/>")
        got = client.get(f"/api/runs/{run}/files/{name}?inline=1")
        assert got.headers["content-type"] == media_type, name
        assert got.headers["content-disposition"].startswith("inline")
    (workspace / "b.bin").write_bytes(b"\0\1\2")
    refused = client.get(f"/api/runs/{run}/files/b.bin?inline=1")
    assert (refused.status_code, "download it" in refused.json()["error"]) == (400, True)


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("bytes=2-4", (206, b"cde", "bytes 2-4/10")),
        ("bytes=7-", (206, b"hij", "bytes 7-9/10")),
        ("bytes=-2", (206, b"ij", "bytes 8-9/10")),
        ("bytes=5-99", (206, b"fghij", "bytes 5-9/10")),
        ("bytes=10-", (416, b"", "bytes */10")),
        ("bytes=1-2,4-5", (200, b"abcdefghij", None)),
        ("lines=1-2", (200, b"abcdefghij", None)),
    ],
)
def test_range_requests_are_supported(
    client: httpx.Client, run: str, workspace: Path, asked: str, answer: tuple[object, ...]
) -> None:
    (workspace / "a.txt").write_text("abcdefghij")
    got = client.get(f"/api/runs/{run}/files/a.txt", headers={"Range": asked})
    assert (got.status_code, got.content, got.headers.get("content-range")) == answer


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_no_path_leads_out_of_the_workspace(
    client: httpx.Client, data: Path, run: str, workspace: Path, method: str
) -> None:
    outside = data / "outside"
    outside.mkdir(exist_ok=True)
    (outside / "x").write_text("secret")
    (workspace / "link").symlink_to(outside / "x")
    (workspace / "in").symlink_to(outside)
    before, changeable = set(data.rglob("*")), (workspace, workspace.parent / "staging")
    encoded = ("%2e%2e/%2e%2e/lock", "..%2f..%2flock", "%2fetc%2fpasswd", "a%00b")
    for path in ("../run.json", *encoded, "link", "in/x"):
        got = _send_raw_request(client, method, f"/api/runs/{run}/files/{path}")
        assert b"secret" not in got, path
        assert b"root:" not in got, path
        assert (outside / "x").read_text() == "secret", path
    made = [each for each in data.rglob("*") if each not in before]
    assert [each for each in made if not any(map(each.is_relative_to, changeable))] == []


def _send_raw_request(client: httpx.Client, method: str, path: str) -> bytes:
    """Send a request whose path is not normalized."""
    server = urlsplit(str(client.base_url))
    with socket.create_connection((server.hostname, server.port)) as connection:
        head = f"{method} {path} HTTP/1.1\r\nHost: {server.netloc}\r\n"
        connection.sendall(f"{head}Content-Length: 1\r\nConnection: close\r\n\r\nx".encode())
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_an_upload_is_atomic_keeps_existing_files_and_can_be_removed(
    client: httpx.Client, run: str, workspace: Path
) -> None:
    first = client.put(f"/api/runs/{run}/files/input/d%C3%A9.txt", content=b"1" * 300_000)
    second = client.put(f"/api/runs/{run}/files/input/d%C3%A9.txt", content=b"2")
    assert first.status_code == second.status_code == 201
    assert (first.json()["name"], second.json()["name"]) == ("dé.txt", "dé (2).txt")
    assert (workspace / "input" / "dé.txt").read_bytes() == b"1" * 300_000
    assert second.json()["path"] == "input/d%C3%A9%20%282%29.txt"
    assert client.delete(f"/api/runs/{run}/files/input/d%C3%A9.txt").status_code == 204
    assert not (workspace / "input" / "dé.txt").exists()


def test_an_interrupted_upload_leaves_no_files(
    client: httpx.Client, run: str, workspace: Path
) -> None:
    server = urlsplit(str(client.base_url))
    parts = workspace.parent / "staging"
    with socket.create_connection((server.hostname, server.port)) as connection:
        head = f"PUT /api/runs/{run}/files/input/big HTTP/1.1\r\nHost: {server.netloc}\r\n"
        connection.sendall(f"{head}Content-Length: 1000000\r\n\r\n".encode() + b"x" * 100_000)
        wait_until(lambda: any(parts.glob("*")))
    wait_until(lambda: not any(parts.glob("*")))
    assert list((workspace / "input").iterdir()) == []


# Host names


def test_unknown_host_names_are_refused(client: httpx.Client) -> None:
    for name in ("evil.example", "127.0.0.1.evil.example", "localhost.evil", "a@b"):
        for path in ("/", "/api/runs", "/healthz"):
            answer = client.get(path, headers={"Host": name})
            assert answer.status_code == 421, name
            assert "STUDIO_HOSTS" in answer.json()["error"]
    for name in ("localhost:7860", "LOCALHOST", "192.0.2.7:80", "[::1]:7860"):
        assert client.get("/healthz", headers={"Host": name}).status_code == 200, name


def test_configured_host_names_are_accepted(tmp_path: Path) -> None:
    with serve_studio(tmp_path, hosts=("Studio.example",)) as studio_url:
        headers = {"Host": "studio.example:8443"}
        assert httpx.get(f"{studio_url}/healthz", headers=headers).status_code == 200
