"""The context of a benchmark: its own folders and containers, removed afterwards."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
from agent.settings import Settings, load

ROOT = Path(__file__).parents[2]
TIMEOUT_SECONDS = 120.0
TASK = Task("Measure.", prompts.get_bundled("general"))


@dataclass(frozen=True)
class BenchContext:
    """The parent of the data folders, the engine with its address, and the sandbox image's tag."""

    folder: Path
    client: Client
    engine_url: str
    image: str

    def settings(self, name: str, *, pool: int = 0) -> Settings:
        """Return settings with a data folder of its own in the context's folder."""
        variables = {"STUDIO_DATA": str(self.folder / name), "STUDIO_WARM_SANDBOXES": str(pool)}
        return load({"DOCKER_HOST": self.engine_url, **variables})

    @contextmanager
    def provider(self, name: str, *, pool: int = 0) -> Iterator[DockerSandboxProvider]:
        """Open a provider with its own data folder and wait until it is ready."""
        settings = self.settings(name, pool=pool)
        with DataFolder(settings.data) as data:
            provider = DockerSandboxProvider(settings, data)
            try:
                provider.open()
                if not provider.wait_for_pool(TIMEOUT_SECONDS):
                    raise RuntimeError(f"The pool stays empty: {provider.setup_status}")
                yield provider
            finally:
                provider.close()

    def run(self, provider: DockerSandboxProvider) -> "closing[RecordedRun]":
        """Create a run that has not started."""
        folder = RunFolder.create(provider.data.path, provider.create_workspace())
        return closing(RecordedRun(folder, provider))

    def environment(self, name: str, **variables: str) -> dict[str, str]:
        """Return the environment of a program with its own data folder in the context's folder."""
        return os.environ | {
            "DOCKER_HOST": self.engine_url,
            "STUDIO_DATA": str(self.folder / name),
            "PYTHONPATH": str(ROOT),
            "TMPDIR": str(self.folder),
            **variables,
        }

    def run_module(self, name: str, *arguments: str, environment: Mapping[str, str]) -> Any:
        """Run a module of the benchmarks; returns the JSON in the last line that it prints."""
        output = subprocess.run(
            [sys.executable, "-m", name, *arguments], env=environment, cwd=ROOT, check=True,
            stdout=subprocess.PIPE,
        ).stdout  # fmt: skip
        return json.loads(output.splitlines()[-1])

    def clean_up(self) -> None:
        """Remove the remaining containers of every data folder, and the folders."""
        for file in [*self.folder.glob("*/instance"), *self.folder.glob("*/headless/*/instance")]:
            with suppress(SandboxError):
                reap(self.client, file.read_text().strip())
            volume.detach_all(file.parent)  # also after an interrupted close
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def bench_context() -> Iterator[BenchContext]:
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


def free_port() -> int:
    """Return a port that nothing listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


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
