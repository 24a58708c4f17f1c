"""The command ``run``: connects to the engine first, then imports what carries out the run.

A container starts in about the time that the imports take, so both happen at once.
"""

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
    with (
        lock_first_free(settings.data) as data,
        closing(Backend(settings, data)) as backend,
    ):
        if options.mode == "sandbox":
            backend.open()
        from agent.cli.execute import execute_run  # while the backend is being set up

        return execute_run(options, settings, data, backend)
