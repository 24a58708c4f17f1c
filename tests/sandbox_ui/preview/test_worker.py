"""A file that fells its reader fells nothing else, and its reader reaches nothing."""

import io
import json
import os
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from agent.errors import WorkspaceError
from sandbox_ui.preview.base import PreviewRequest
from sandbox_ui.preview.service import PreviewService
from sandbox_ui.preview.worker import TIMEOUT_SECONDS


@pytest.fixture(scope="module")
def workshop() -> Iterator[PreviewService]:
    made = PreviewService("tests.sandbox_ui.preview.misbehaving_worker")
    made.open()
    yield made
    made.close()


def show(workshop: PreviewService, kind: str, content: bytes = b"x", **options: str) -> Any:
    seen = workshop.render(
        kind, io.BytesIO(content), PreviewRequest("a.bin", len(content), options)
    )
    return json.loads(seen.content)


def test_it_answers_with_what_a_kind_sees(workshop: PreviewService, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"hello")
    with (tmp_path / "a.bin").open("rb") as file:
        file.seek(3)
        seen = workshop.render("bytes", file, PreviewRequest("a.bin", 5))
        assert file.tell() == 3
    assert json.loads(seen.content)["first"] == b"hello".hex()


def test_bytes_that_are_no_file_are_looked_at_alike(workshop: PreviewService) -> None:
    assert show(workshop, "bytes", b"hi")["first"] == b"hi".hex()


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("crash", "crashed the preview"),
        ("eat", "too much memory"),
        ("refuse", "This one is refused."),
        ("fail", "may be damaged"),
        ("flood", "too large"),
        ("missing", "a part of the application is missing"),
    ],
)
def test_what_fails_is_a_sentence_and_the_next_look_works(
    workshop: PreviewService, kind: str, says: str
) -> None:
    with pytest.raises(WorkspaceError, match=says):
        show(workshop, kind)
    assert show(workshop, "bytes", b"hi")["first"]


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("crash", "'a.bin' as crash ended early"),
        ("fail", "ValueError: a library"),
        ("missing", "cannot be imported"),
    ],
)
def test_the_log_says_why_a_look_failed(
    workshop: PreviewService, caplog: pytest.LogCaptureFixture, kind: str, why: str
) -> None:
    with pytest.raises(WorkspaceError):
        show(workshop, kind)
    assert why in caplog.text


@pytest.mark.long
def test_a_look_that_does_not_end_is_ended(workshop: PreviewService) -> None:
    with pytest.raises(WorkspaceError, match=f"longer than {TIMEOUT_SECONDS} seconds"):
        show(workshop, "sleep")


def test_nothing_of_one_look_is_left_in_the_next(workshop: PreviewService) -> None:
    assert show(workshop, "remember") == show(workshop, "remember") == {"kept": ["a.bin"]}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can leave its user and its network")
def test_a_look_reaches_nothing(workshop: PreviewService, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the key")
    secret.chmod(0o600)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        seen = show(workshop, "reach", port=port, secret=str(secret))
    assert seen["user"] == 65534
    assert seen["network"] == "OSError"
    assert seen["file"] == "PermissionError"
    assert seen["write"] == "OSError"
    assert not {name for name in seen["environment"] if "KEY" in name or "OPENAI" in name}


def test_a_process_that_was_killed_is_made_anew(workshop: PreviewService) -> None:
    show(workshop, "bytes")
    process = workshop._process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert show(workshop, "bytes", b"hi")["first"]


def test_many_looks_at_once_leave_no_descriptor(workshop: PreviewService) -> None:
    show(workshop, "bytes")
    before = len(list(Path("/proc/self/fd").iterdir()))
    with ThreadPoolExecutor(12) as threads:
        done = list(threads.map(lambda _: show(workshop, "bytes", b"hi"), range(200)))
    assert all(each["first"] for each in done)
    assert len(list(Path("/proc/self/fd").iterdir())) <= before
