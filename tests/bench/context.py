"""The context of a benchmark: its own folders and containers, removed afterwards."""

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
from agent.provisioning.provider import DockerSandboxProvider
from agent.runs.folder import RunFolder
from agent.runs.recorded_run import RecordedRun, Task
from agent.sandbox.disk import volume
from agent.sandbox.docker.lifecycle import reap
from agent.sandbox.engine.client import Client, connect
from agent.sandbox.engine.discovery import find_engine
from agent.sandbox.image.build import dockerfile_path, ensure_image
from agent.settings import load

ROOT = Path(__file__).parents[2]
TIMEOUT_SECONDS = 120.0
TASK = Task("Measure.", prompts.get_bundled("general"))


@dataclass(frozen=True)
class BenchContext:
    """The folder, engine and image that a benchmark uses.

    Attributes:
        folder: The parent of the data folders, each with its own name.
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
        """Open a provider with its own data folder and wait until it is ready."""
        settings = load({"STUDIO_WARM_SANDBOXES": str(pool), "DOCKER_HOST": self.engine_url})
        with DataFolder(self.folder / name) as data:
            provider = DockerSandboxProvider(settings, data)
            try:
                provider.open()
                if not provider.wait_for_pool(TIMEOUT_SECONDS):
                    raise RuntimeError(f"The pool stays empty: {provider.setup_status}")
                yield provider
            finally:
                provider.close()

    @contextmanager
    def run(self, provider: DockerSandboxProvider) -> Iterator[RecordedRun]:
        """Create a run that has not started."""
        run = RecordedRun(
            RunFolder.create(provider.data.path, provider.create_workspace()), provider
        )
        try:
            yield run
        finally:
            run.close()

    def environment(self, name: str, **variables: str) -> dict[str, str]:
        """Return the environment of a program with its own data folder in the context's folder."""
        return os.environ | {
            "DOCKER_HOST": self.engine_url,
            "STUDIO_DATA": str(self.folder / name),
            "PYTHONPATH": str(ROOT),
            "TMPDIR": str(self.folder),
            **variables,
        }

    def clean_up(self) -> None:
        """Remove the remaining containers of every data folder, and the folders."""
        for file in [*self.folder.glob("*/instance"), *self.folder.glob("*/headless/*/instance")]:
            with suppress(SandboxError):
                reap(self.client, file.read_text().strip())
            volume.detach_all(file.parent)  # also after an interrupted close
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def bench_context() -> Iterator[BenchContext]:
    """Create a context in a temporary folder, and clean it up afterwards."""
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
    """Print progress to stderr; the tables go to stdout."""
    print(f"… {text}", file=sys.stderr, flush=True)


@contextmanager
def run_program(
    command: Sequence[str], environment: Mapping[str, str], *, output: bool = False
) -> Iterator["subprocess.Popen[str]"]:
    """Run a program during the block; with ``output``, its stdout can be read."""
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
