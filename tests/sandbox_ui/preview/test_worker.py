"""The preview worker process: failures are isolated and access is restricted."""

import io
import json
import os
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from agent.errors import WorkspaceError
from agent.settings import Settings
from sandbox_ui.preview.base import PreviewRequest
from sandbox_ui.preview.service import PreviewService
from sandbox_ui.preview.worker import TIMEOUT_SECONDS
from tests.sandbox_ui.preview.samples import SAMPLES
from tests.sandbox_ui.preview.tables.test_table import parquet
from tests.support.local_provider import LocalSandboxProvider
from tests.support.server import create_app, run_server

pytestmark = pytest.mark.contract


@pytest.fixture(scope="module")
def service() -> Iterator[PreviewService]:
    service = PreviewService("tests.sandbox_ui.preview.misbehaving_worker")
    service.open()
    yield service
    service.close()


def render(service: PreviewService, kind: str, content: bytes = b"x", **options: str) -> Any:
    result = service.render(
        kind, io.BytesIO(content), PreviewRequest("a.bin", len(content), options)
    )
    return json.loads(result.content)


def test_the_worker_returns_the_rendered_preview(service: PreviewService, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"hello")
    with (tmp_path / "a.bin").open("rb") as file:
        file.seek(3)
        result = service.render("hex", file, PreviewRequest("a.bin", 5))
        assert file.tell() == 3
    assert json.loads(result.content)["head"] == b"hello".hex()
    assert render(service, "hex", b"in memory")["head"] == b"in memory".hex()


@pytest.mark.parametrize("previews_at_start", [True, False])
def test_the_application_starts_it_in_advance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, previews_at_start: bool
) -> None:
    started: list[PreviewService] = []
    monkeypatch.setattr(PreviewService, "open", lambda service: started.append(service))
    app = create_app(Settings(data=tmp_path), LocalSandboxProvider(tmp_path), previews_at_start)
    with run_server(app):
        assert len(started) == previews_at_start


@pytest.mark.parametrize(
    ("kind", "message", "logged"),
    [
        ("crash", "crashed the preview", "'a.bin' as crash ended early"),
        ("eat", "too much memory", ""),
        ("refuse", "This one is refused.", ""),
        ("fail", "may be damaged", "ValueError: a library"),
        ("flood", "too large", ""),
        ("missing", "a part of the application is missing", "cannot be imported"),
    ],
)
def test_a_failure_is_reported_and_logged_and_the_next_preview_works(
    service: PreviewService,
    caplog: pytest.LogCaptureFixture,
    kind: str,
    message: str,
    logged: str,
) -> None:
    with pytest.raises(WorkspaceError, match=message):
        render(service, kind)
    assert logged in caplog.text
    assert render(service, "hex", b"hi")["head"]


@pytest.mark.nightly
def test_an_endless_preview_is_aborted(service: PreviewService) -> None:
    with pytest.raises(WorkspaceError, match=f"longer than {TIMEOUT_SECONDS} seconds"):
        render(service, "sleep")


def test_no_state_is_kept_between_previews(service: PreviewService) -> None:
    assert render(service, "remember") == render(service, "remember") == {"kept": ["a.bin"]}


def test_the_kinds_import_nothing_after_the_switch_of_user() -> None:
    time = parquet({"time": pa.array([0], pa.timestamp("us", tz="Europe/Berlin"))})
    short, long = "für 5 €\n".encode("cp1252"), "жёлтый\n".encode("koi8_r") * 500
    files = [(kind, samples[0].name, samples[0].content) for kind, samples in SAMPLES.items()]
    files += [("text", "short.txt", short), ("text", "long.txt", long), ("table", "long.csv", long)]
    with closing(PreviewService("tests.sandbox_ui.preview.confined_worker")) as confined:
        for kind, name, content in files:
            assert confined.render(kind, io.BytesIO(content), PreviewRequest(name, len(content)))
        request = PreviewRequest("t.parquet", len(time))
        shown = confined.render("table", io.BytesIO(time), request).content
    assert b"1970-01-01 01:00:00+01:00" in shown


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can leave its user and its network")
def test_a_preview_has_no_network_files_or_secrets(service: PreviewService, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the key")
    secret.chmod(0o600)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        result = render(service, "reach", port=port, secret=str(secret))
    assert result["user"] == 65534
    assert result["network"] == "OSError"
    assert result["file"] == "PermissionError"
    assert result["write"] == "OSError"
    assert not {name for name in result["environment"] if "KEY" in name or "OPENAI" in name}


def test_a_killed_worker_is_restarted(service: PreviewService) -> None:
    render(service, "hex")
    process = service._process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert render(service, "hex", b"hi")["head"]


def test_concurrent_previews_leak_no_descriptors(service: PreviewService) -> None:
    render(service, "hex")
    before = len(list(Path("/proc/self/fd").iterdir()))
    with ThreadPoolExecutor(12) as threads:
        done = list(threads.map(lambda _: render(service, "hex", b"hi"), range(200)))
    assert all(each["head"] for each in done)
    assert len(list(Path("/proc/self/fd").iterdir())) <= before
