"""The command ``run``: creates the sandbox while it imports what carries out the run."""

import argparse
from contextlib import closing
from dataclasses import replace

from agent.data_folder import lock_first_free
from agent.output_folder import check_folder
from agent.provisioning.backend import Backend
from agent.settings import Settings


def run_task(options: argparse.Namespace, settings: Settings) -> int:
    """Execute one run; see ``agent.cli.execute.execute_run``."""
    if options.output:
        check_folder(options.output, overwrite=options.overwrite)
    settings = replace(settings, image=options.image or settings.image, warm_sandboxes=0)
    in_sandbox = options.mode == "sandbox"
    with (
        lock_first_free(settings.data) as data,
        closing(Backend(settings, data)) as backend,
    ):
        if in_sandbox:
            backend.open()
        from agent.provisioning.provider import DockerSandboxProvider

        ahead = in_sandbox and options.network.access != "none"
        with closing(
            DockerSandboxProvider(settings, data, backend=backend, ahead=ahead)
        ) as provider:
            from agent.cli.execute import execute_run  # while the sandbox is being created

            return execute_run(options, settings, data, provider)
