"""Startup of a command-line run: modules and calls that it must not need."""

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
from agent.models.endpoint.deferred import DeferredEndpointModel
from agent.runs.folder import RunFolder
from agent.runs.recorded_run import RecordedRun, Task
from agent.sandbox.disk import scratch
from agent.util.stop import Stop
from agent.workspace.versions.blobs import BlobStore
from tests.support.models.scripted import ScriptedModel

ROOT = Path(__file__).parents[3]
NEVER_IMPORTED = {
    "gradio",
    "fastapi",
    "openai",
    "httpx2",
    "yaml",
    "torch",
    "PIL",
    "itsdangerous",
    "fontTools",
    "puremagic",
    "matplotlib",
    "agent.models.demonstration",
}


def modules_loaded_by(statements: str) -> set[str]:
    program = f"import sys; {statements}; print(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(result.stdout.split())


@pytest.mark.contract
def test_parsing_the_command_line_imports_no_command() -> None:
    loaded = modules_loaded_by(
        "import agent.cli.main; agent.cli.main.create_parser(with_page=False)"
    )
    slow = {"docker", "requests", "watchdog", "asyncio", "zipfile", "uuid", "importlib.metadata"}
    others = {"agent.api.run", "agent.grading.checks", *slow}
    assert not loaded & (NEVER_IMPORTED | others)
    of_tasks = {name for name in loaded if name.startswith(("agent.tasks", "math_ver"))}
    assert of_tasks == {"agent.tasks", "agent.tasks.cli"}


@pytest.mark.contract
def test_the_engine_is_connected_before_what_carries_out_a_run_is_imported() -> None:
    loaded = modules_loaded_by("import agent.cli.run")
    assert "docker" in loaded
    assert not loaded & {"agent.cli.execute", "agent.api.run", "agent.events", "agent.runs.folder"}


@pytest.mark.nightly
def test_a_run_imports_no_model_client_and_no_unused_module() -> None:
    loaded = modules_loaded_by("import agent.cli.execute")
    assert "docker" in loaded
    others = {"agent.models.builtin.process", "agent.documents.text", "agent.history.trajectory"}
    assert not loaded & (NEVER_IMPORTED | others)


@pytest.mark.nightly
def test_a_model_configuration_is_checked_without_importing_the_client() -> None:
    config = "ModelConfig('http://127.0.0.1:1/v1', 'm')"
    create_model = (
        f"from agent.models.endpoint.deferred import *; model = DeferredEndpointModel({config})"
    )
    assert "openai" not in modules_loaded_by(create_model)
    assert "openai" in modules_loaded_by(f"{create_model}; model._preload()")
    for address, key in (("ftp://host", ""), ("http://host/v1", "a\nkey")):
        with pytest.raises(ModelRefused):
            DeferredEndpointModel(ModelConfig(address, "m", key))


def test_the_first_turn_reports_an_error_of_the_preload(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise ModelRefused("No proxy.")

    monkeypatch.setattr("agent.models.endpoint.client.EndpointModel", refuse)
    model = DeferredEndpointModel(ModelConfig("http://host/v1", "m"))
    assert isinstance(model, Preloadable)
    model._preload()
    with pytest.raises(ModelRefused, match="No proxy"):
        next(model.stream(Any, Stop()))  # type: ignore[arg-type]


def test_a_model_loads_while_its_sandbox_starts(tmp_path: Path) -> None:
    calls = []

    class Model(ScriptedModel):
        def preload(self) -> None:
            calls.append("preload")

    class Provider:
        blobs = BlobStore(tmp_path / "blobs")

        def acquire(self, folder: RunFolder, stop: Stop) -> Generator[Event, None, None]:
            calls.append("acquire")
            yield from ()
            raise SandboxError("There is none.")

    (tmp_path / "sandboxes" / "s" / "workspace").mkdir(parents=True)
    with RecordedRun(RunFolder.create(tmp_path, "s"), Provider()) as run:
        list(run.start(Task("Try."), Model([])))
    assert calls == ["preload", "acquire"]


def test_image_directories_are_read_from_the_engine_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images_read = []

    def from_image(client: object, image: str, instance: str) -> dict[str, bytes]:
        images_read.append(image)
        return {"/tmp": b"archive of " + image.encode()}

    monkeypatch.setattr(scratch, "_read_from_image", from_image)
    directories: Any = scratch._image_directories.__wrapped__

    def contents(image: str) -> object:
        return directories(None, image, "instance", tmp_path / "kept")

    assert contents("one") == contents("one") == {"/tmp": b"archive of one"}
    assert images_read == ["one"]
    (file,) = (tmp_path / "kept").iterdir()
    with zipfile.ZipFile(file) as archive:
        assert archive.namelist() == ["/tmp"]
    for damaged in (file.read_bytes()[:-20], file.read_bytes().replace(b"archive", b"ARCHIVE")):
        file.write_bytes(damaged)
        assert contents("one") == {"/tmp": b"archive of one"}
    assert contents("two") == {"/tmp": b"archive of two"}
    assert images_read == ["one", "one", "one", "two"]
    assert len(list((tmp_path / "kept").iterdir())) == 1
