"""The command line with process sandboxes instead of containers: DATA URL COMMAND ARGUMENT…"""

import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent import load_settings
from agent.cli.execute import execute_run
from agent.cli.main import create_parser
from agent.data_folder import lock_first_free
from agent.train.rollouts.sandboxes import ProcessSandboxProvider


def main() -> int:
    data, url, *words = sys.argv[1:]
    settings = replace(load_settings({}), data=Path(data), base_url=url, model="m")
    options = create_parser(with_page=False).parse_args(words)
    with lock_first_free(settings.data) as folder:
        provider: Any = ProcessSandboxProvider(settings, folder)
        with closing(provider):
            return execute_run(options, settings, folder, provider)


if __name__ == "__main__":
    sys.exit(main())
