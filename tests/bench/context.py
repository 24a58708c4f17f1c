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
from agent.provisioning.provider import DockerSandboxProvider
from agent.runs.folder import RunFolder
from agent.runs.recorder import RecordedRun, Task
from agent.sandbox.disk import volume
from agent.sandbox.docker.lifecycle import reap
from agent.sandbox.engine.client import Client, connect
from agent.sandbox.engine.discovery import find_engine
from agent.sandbox.image.build import dockerfile_path, ensure_image
from agent.settings import load

ROOT = Path(__file__).parents[2]
TIMEOUT_SECONDS = 120.0
TASK = Task("Measure.", prompts.get_bundled("general"))
SUBMIT = ScriptedTurn(calls=(ToolCall("", "submit", "{}"),))


def bash(command: str) -> ScriptedTurn:
    """A turn that runs a command; one without quotes."""
    return ScriptedTurn(calls=(ToolCall("", "execute_bash", f'{{"command": "{command}"}}'),))


@dataclass(frozen=True)
class BenchContext:
    """Where a benchmark works.

    Attributes:
        folder: For data folders; each has a name of its own.
        client: The engine.
        engine_url: Its address.
        image: The sandbox image's tag.
    """

    folder: Path
    client: Client
    engine_url: str
    image: str

    @contextmanager
    def provider(self, name: str, *, pool: int = 0) -> Iterator[DockerSandboxProvider]:
        """Computers with their own data folder, ready."""
        settings = load({"STUDIO_WARM_SANDBOXES": str(pool), "DOCKER_HOST": self.engine_url})
        with DataFolder(self.folder / name) as data:
            computers = DockerSandboxProvider(settings, data)
            try:
                computers.open()
                if not computers.wait_for_pool(TIMEOUT_SECONDS):
                    raise RuntimeError(f"The pool stays empty: {computers.setup_status}")
                yield computers
            finally:
                computers.close()

    @contextmanager
    def run(self, computers: DockerSandboxProvider) -> Iterator[RecordedRun]:
        """A run that has not begun."""
        run = RecordedRun(
            RunFolder.create(computers.data.path, computers.create_workspace()), computers
        )
        try:
            yield run
        finally:
            run.close()

    def environment(self, name: str, **more: str) -> dict[str, str]:
        """The environment of a program that gets a data folder of its own, here as all else."""
        return os.environ | {
            "DOCKER_HOST": self.engine_url,
            "STUDIO_DATA": str(self.folder / name),
            "PYTHONPATH": str(ROOT),
            "TMPDIR": str(self.folder),
            **more,
        }

    def clean_up(self) -> None:
        """Remove what is left of every data folder's containers, and the folders."""
        for file in [*self.folder.glob("*/instance"), *self.folder.glob("*/headless/*/instance")]:
            with suppress(SandboxError):
                reap(self.client, file.read_text().strip())
            volume.detach_all(file.parent)  # whose closing was interrupted, too
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def bench_context() -> Iterator[BenchContext]:
    """Somewhere in the folder for temporary files."""
    discovered = find_engine(os.environ.get("DOCKER_HOST"), os.environ.get("XDG_RUNTIME_DIR"))
    client = connect(os.environ.get("DOCKER_HOST"), os.environ.get("XDG_RUNTIME_DIR"))
    image = ensure_image(client, dockerfile_path(), lambda progress: print_progress(progress.line))
    context = BenchContext(
        Path(tempfile.mkdtemp(prefix="studio-bench-")), client, discovered.url, image
    )
    try:
        yield context
    finally:
        context.clean_up()
        client.close()


def print_progress(text: str) -> None:
    """Say on the terminal what is going on; the tables go to stdout."""
    print(f"… {text}", file=sys.stderr, flush=True)


@contextmanager
def run_program(
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
