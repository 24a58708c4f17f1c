"""The command ``build``."""

import sys
from contextlib import closing
from typing import get_args

from agent.sandbox.engine.client import connect, is_podman
from agent.sandbox.image.build import Target, dockerfile_path, ensure_image
from agent.sandbox.image.progress import BuildProgress
from agent.settings import Settings
from agent.util.text import sanitize


def build_image(settings: Settings) -> int:
    """Build the sandbox image and show progress on the terminal."""

    def show(progress: BuildProgress) -> None:
        print(f"{progress.fraction:4.0%} {sanitize(progress.line)}", file=sys.stderr)

    with closing(connect(settings.docker_host or None, settings.runtime_dir or None)) as client:
        for target in ("sandbox",) if is_podman(client) else get_args(Target):
            print(ensure_image(client, dockerfile_path(), show, target))
    return 0
