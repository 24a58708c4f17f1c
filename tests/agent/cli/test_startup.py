"""What a start does without: modules and calls that a headless run does not need (yet)."""

import subprocess
import sys
import zipfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from agent.errors import ModelRefused, SandboxError
from agent.events import Event
from agent.models.base import ModelConfig, Preloadable
from agent.models.openai.deferred import DeferredOpenAIModel
from agent.models.scripted import ScriptedModel
from agent.runs.folder import RunFolder
from agent.runs.recorder import RecordedRun, Task
from agent.sandbox.disk import scratch
from agent.util.cancellation import Stop
from agent.workspace.versions.blobs import BlobStore

ROOT = Path(__file__).parents[3]
NEVER = {"gradio", "fastapi", "openai", "httpx2", "yaml", "torch", "agent.models.demonstration"}


def modules_after(statements: str) -> set[str]:
    program = f"import sys; {statements}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(done.stdout.split())


def test_the_command_line_is_parsed_without_what_the_commands_need() -> None:
    loaded = modules_after("import agent.cli.main; agent.cli.main.create_parser(with_page=False)")
    assert not loaded & (NEVER | {"docker", "requests", "watchdog", "asyncio", "agent.api.run"})


def test_a_run_imports_neither_the_model_s_client_nor_what_other_runs_need() -> None:
    loaded = modules_after("import agent.cli.run, agent.provisioning.provider")
    assert "docker" in loaded
    others = {"agent.models.builtin.process", "agent.documents.text", "agent.history.trajectory"}
    assert not loaded & (NEVER | others)


def test_a_model_at_an_endpoint_is_checked_without_its_client() -> None:
    config = "ModelConfig('http://127.0.0.1:1/v1', 'm')"
    made = f"from agent.models.openai.deferred import *; model = DeferredOpenAIModel({config})"
    assert "openai" not in modules_after(made)
    assert "openai" in modules_after(f"{made}; model._preload()")
    for address, key in (("ftp://host", ""), ("http://host/v1", "a\nkey")):
        with pytest.raises(ModelRefused):
            DeferredOpenAIModel(ModelConfig(address, "m", key))


def test_the_first_turn_reports_what_the_preload_could_not_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(config: ModelConfig) -> None:
        raise ModelRefused("No proxy.")

    monkeypatch.setattr("agent.models.openai.client.OpenAIModel", refused)
    model = DeferredOpenAIModel(ModelConfig("http://host/v1", "m"))
    assert isinstance(model, Preloadable)
    model._preload()
    with pytest.raises(ModelRefused, match="No proxy"):
        next(model.stream(Any, Stop()))  # type: ignore[arg-type]


def test_a_model_loads_while_its_sandbox_starts(tmp_path: Path) -> None:
    done = []

    class Model(ScriptedModel):
        def preload(self) -> None:
            done.append("preload")

    class Provider:
        blobs = BlobStore(tmp_path / "blobs")

        def acquire(self, folder: RunFolder, stop: Stop) -> Generator[Event, None, None]:
            done.append("acquire")
            yield from ()
            raise SandboxError("There is none.")

    (tmp_path / "sandboxes" / "s" / "workspace").mkdir(parents=True)
    with RecordedRun(RunFolder.create(tmp_path, "s"), Provider()) as run:
        list(run.start(Task("Try."), Model([])))
    assert done == ["preload", "acquire"]


def test_an_image_s_directories_are_read_from_the_engine_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = []

    def from_image(client: object, image: str, instance: str) -> dict[str, bytes]:
        read.append(image)
        return {"/tmp": b"archive of " + image.encode()}

    monkeypatch.setattr(scratch, "_read_from_image", from_image)
    directories: Any = scratch._image_directories.__wrapped__

    def contents(image: str) -> object:
        return directories(None, image, "instance", tmp_path / "kept")

    assert contents("one") == contents("one") == {"/tmp": b"archive of one"}
    assert read == ["one"]
    (file,) = (tmp_path / "kept").iterdir()
    with zipfile.ZipFile(file) as archive:
        assert archive.namelist() == ["/tmp"]
    for damaged in (file.read_bytes()[:-20], file.read_bytes().replace(b"archive", b"ARCHIVE")):
        file.write_bytes(damaged)
        assert contents("one") == {"/tmp": b"archive of one"}
    assert contents("two") == {"/tmp": b"archive of two"}
    assert read == ["one", "one", "one", "two"]
    assert len(list((tmp_path / "kept").iterdir())) == 1
