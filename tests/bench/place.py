"""A place to measure in: folders and containers of its own, none of which is left behind."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from agent import prompts
from agent.data_folder import DataFolder
from agent.errors import SandboxError
from agent.models.base import ToolCall
from agent.models.scripted import ScriptedTurn
from agent.provisioning.provider import Computers
from agent.runs.folder import RunFolder
from agent.runs.recorder import RecordedRun, Task
from agent.sandbox.disk import volume
from agent.sandbox.docker.lifecycle import reap
from agent.sandbox.engine.client import Client, connect
from agent.sandbox.engine.discovery import find
from agent.sandbox.image.build import dockerfile_path, ensure_image
from agent.settings import load

ROOT = Path(__file__).parents[2]
PATIENCE = 120.0
TASK = Task("Measure.", prompts.named("general"))
SUBMIT = ScriptedTurn(calls=(ToolCall("", "submit", "{}"),))


def bash(command: str) -> ScriptedTurn:
    """A turn that runs a command; one without quotes."""
    return ScriptedTurn(calls=(ToolCall("", "execute_bash", f'{{"command": "{command}"}}'),))


@dataclass(frozen=True)
class Place:
    """Where a benchmark works.

    Attributes:
        folder: For data folders; each has a name of its own.
        client: The engine.
        engine: Its address.
        image: The sandbox image's tag.
    """

    folder: Path
    client: Client
    engine: str
    image: str

    @contextmanager
    def computers(self, name: str, *, pool: int = 0) -> Iterator[Computers]:
        """Computers with their own data folder, ready."""
        settings = load({"STUDIO_POOL": str(pool), "DOCKER_HOST": self.engine})
        with DataFolder(self.folder / name) as data:
            computers = Computers(settings, data)
            try:
                computers.open()
                if not computers.wait_for_pool(PATIENCE):
                    raise RuntimeError(f"The pool stays empty: {computers.readiness}")
                yield computers
            finally:
                computers.close()

    @contextmanager
    def run(self, computers: Computers) -> Iterator[RecordedRun]:
        """A run that has not begun."""
        run = RecordedRun(RunFolder.create(computers.data.path, computers.draft()), computers)
        try:
            yield run
        finally:
            run.close()

    def environment(self, name: str, **more: str) -> dict[str, str]:
        """The environment of a program that gets a data folder of its own, here as all else."""
        return os.environ | {
            "DOCKER_HOST": self.engine,
            "STUDIO_DATA": str(self.folder / name),
            "PYTHONPATH": str(ROOT),
            "TMPDIR": str(self.folder),
            **more,
        }

    def clean(self) -> None:
        """Remove what is left of every data folder's containers, and the folders."""
        for file in [*self.folder.glob("*/instance"), *self.folder.glob("*/headless/*/instance")]:
            with suppress(SandboxError):
                reap(self.client, file.read_text().strip())
            volume.detach_all(file.parent)  # whose closing was interrupted, too
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def place() -> Iterator[Place]:
    """Somewhere in the folder for temporary files."""
    finding = find(os.environ.get("DOCKER_HOST"), os.environ.get("XDG_RUNTIME_DIR"))
    client = connect(os.environ.get("DOCKER_HOST"), os.environ.get("XDG_RUNTIME_DIR"))
    image = ensure_image(client, dockerfile_path(), lambda progress: progress_line(progress.line))
    made = Place(Path(tempfile.mkdtemp(prefix="studio-bench-")), client, finding.url, image)
    try:
        yield made
    finally:
        made.clean()
        client.close()


def progress_line(text: str) -> None:
    """Say on the terminal what is going on; the tables go to stdout."""
    print(f"… {text}", file=sys.stderr, flush=True)


@contextmanager
def program(
    command: Sequence[str], environment: Mapping[str, str], *, output: bool = False
) -> Iterator["subprocess.Popen[str]"]:
    """A program for as long as the block lasts; with ``output``, its stdout can be read."""
    stdout = subprocess.PIPE if output else subprocess.DEVNULL
    process = subprocess.Popen(
        command, env=environment, cwd=ROOT, stdout=stdout, stderr=subprocess.DEVNULL, text=True
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
