"""Zip downloads of selected files and of whole runs."""

import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from agent.runs.folder import RunFolder
from agent.runs.journal import Journal
from agent.workspace.versions.manifest import Delta, ManifestLog, Node
from tests.sandbox_ui.routes.test_routes import ENDED, STARTED, write_step
from tests.support import httpx
from tests.support.recorded_runs import write_ended_run

pytestmark = pytest.mark.contract


def open_zip(response: httpx.Response) -> zipfile.ZipFile:
    assert response.status_code == 200, response.text
    assert len(response.content) == int(response.headers["content-length"])
    return zipfile.ZipFile(io.BytesIO(response.content))


def test_a_selection_is_a_zip_with_a_content_length(
    client: httpx.Client, run: str, workspace: Path
) -> None:
    (workspace / "output" / "é &+%.txt").write_text("1")
    (workspace / "output" / "sub").mkdir()
    (workspace / "output" / "sub" / "b").write_text("2")
    (workspace / "input" / "c").write_text("3")
    paths = [quote(path) for path in ("output/é &+%.txt", "output/sub")]
    got = client.get(f"/api/runs/{run}/zip", params={"path": paths})
    assert open_zip(got).namelist() == ["é &+%.txt", "sub/", "sub/b"]
    assert got.headers["content-disposition"].startswith('attachment; filename="workspace.zip"')
    head = client.head(f"/api/runs/{run}/zip", params={"path": paths})
    assert (head.content, head.headers["content-length"]) == (b"", str(len(got.content)))
    (workspace / "日本").mkdir()
    got = client.get(f"/api/runs/{run}/zip?path={quote('日本')}")
    assert got.headers["content-disposition"].endswith(f"UTF-8''{quote('日本.zip')}")
    assert open_zip(got).namelist() == ["日本/"]
    got = client.get(f"/api/runs/{run}/zip?path=missing")
    assert (got.status_code, "“missing” does not exist" in got.json()["error"]) == (400, True)
    assert client.get(f"/api/runs/{run}/zip?path=../x").status_code == 400
    assert client.get("/api/runs/none-of-them/run.zip").status_code == 404


def test_the_run_zip_contains_files_and_journal(
    client: httpx.Client, run: str, folder: RunFolder
) -> None:
    draft = client.get(f"/api/runs/{run}/run.zip")
    assert open_zip(draft).namelist() == ["files/input/", "files/output/"]
    refused = client.get(f"/api/runs/{run}/zip?step=1")
    assert (refused.status_code, "no file versions" in refused.json()["error"]) == (400, True)
    (folder.workspace / "output" / "answer.txt").write_text("42")
    (folder.outputs / "1-call.stdout").write_text("long")
    journal = Journal(folder.journal)
    journal.append(STARTED)
    write_step(journal, 1, "one")
    journal.append(ENDED)
    journal.close()
    got = client.get(f"/api/runs/{run}/run.zip")
    archive = open_zip(got)
    assert archive.testzip() is None
    assert archive.namelist() == [
        "journal.jsonl", "trajectory.json", "conversation.md", "steps.csv",
        "outputs/1-call.stdout", "files/input/", "files/output/", "files/output/answer.txt",
    ]  # fmt: skip
    assert archive.read("journal.jsonl") == folder.journal.read_bytes()
    assert json.loads(archive.read("trajectory.json"))["problem_statement"] == "t"
    assert archive.read("conversation.md").startswith(b"# t")
    assert archive.read("steps.csv").startswith(b"step")
    assert 'filename="t.zip"' in got.headers["content-disposition"]


def damage_line(folder: RunFolder) -> None:
    folder.manifests.write_text('{"step": 1e999, "changed": {}, "removed": []}\n')


def damage_manifests(folder: RunFolder) -> None:
    folder.manifests.mkdir()


def damage_output(folder: RunFolder) -> None:
    os.mkfifo(folder.outputs / "1-call.stdout")


def damage_outputs(folder: RunFolder) -> None:
    folder.outputs.rmdir()


@pytest.mark.parametrize(
    ("damage", "note"),
    [
        (damage_line, "manifests.jsonl cannot be read from byte 0 on."),
        (damage_manifests, "manifests.jsonl is not a file."),
        (damage_output, "1-call.stdout is not a file."),
        (damage_outputs, "outputs is not a folder."),
    ],
)
def test_a_damaged_record_is_exported_with_a_note(
    client: httpx.Client, data: Path, damage: Callable[[RunFolder], None], note: str
) -> None:
    folder = write_ended_run(data, files={"output/answer.txt": b"42"})
    folder.manifests.unlink(missing_ok=True)
    damage(folder)
    archive = open_zip(client.get(f"/api/runs/{folder.id}/run.zip"))
    assert f"The run's record is damaged: {note}" in archive.read("LEFT-OUT.txt").decode()
    assert {"journal.jsonl", "files/output/answer.txt"} <= set(archive.namelist())


# Single files


def test_downloads_have_an_etag_and_can_be_resumed(
    client: httpx.Client, run: str, workspace: Path
) -> None:
    (workspace / "a").write_text("abcdef")
    file_url = f"/api/runs/{run}/files/a"
    head = client.head(file_url)
    etag = head.headers["etag"]
    assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", "6")
    rest = client.get(file_url, headers={"Range": "bytes=3-", "If-Range": etag})
    assert (rest.status_code, rest.text) == (206, "def")
    assert client.get(file_url, headers={"If-None-Match": etag}).status_code == 304
    (workspace / "a").write_text("another")
    whole = client.get(file_url, headers={"Range": "bytes=3-", "If-Range": etag})
    assert (whole.status_code, whole.text) == (200, "another")


def test_a_folder_is_downloaded_as_it_was_after_a_step(client: httpx.Client, data: Path) -> None:
    run = write_ended_run(data, files={"a.txt": b"a", "output/b.txt": b"b", "output/c.txt": b"c"})
    log = ManifestLog(run.manifests)
    large = Node("file", size=10**8, stored=False, reason="larger than 64 MB")
    log.append(1, Delta({"output/large.bin": large, "link": Node("link", target="a.txt")}, ()))
    log.append(2, Delta({"new.txt": Node("file", size=1, stored=False)}, ("output/c.txt",)))
    (run.workspace / "output" / "b.txt").write_text("changed since")
    got = client.get(f"/api/runs/{run.id}/zip?step=1")
    archive = open_zip(got)
    assert archive.testzip() is None
    names = archive.namelist()
    assert {"a.txt", "output/b.txt", "output/c.txt", "LEFT-OUT.txt"} <= set(names)
    assert "new.txt" not in names
    assert archive.read("output/b.txt") == b"b"
    note = archive.read("LEFT-OUT.txt").decode()
    assert "output/large.bin: not kept, larger than 64 MB" in note
    assert "link: a link" in note
    assert "step 1.zip" in got.headers["content-disposition"]

    output = open_zip(client.get(f"/api/runs/{run.id}/zip?step=2&path=output"))
    assert "output/c.txt" not in output.namelist()
    assert "output/b.txt" in output.namelist()
    gone = client.get(f"/api/runs/{run.id}/zip?step=2&path=output/c.txt")
    assert gone.status_code == 400
    assert "was not there after step 2" in gone.json()["error"]
