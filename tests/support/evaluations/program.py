"""A program that evaluates an endpoint on six additions: DATA URL. Tests kill it."""

import sys
from dataclasses import replace
from pathlib import Path

from agent import Studio, load_settings
from agent.train.rollouts.sandboxes import ProcessSandboxProvider
from tests.support.evaluations.suites import members, sums


def main() -> None:
    data, url = sys.argv[1:]
    settings = replace(load_settings({}), data=Path(data), warm_sandboxes=0)
    with Studio(settings, ProcessSandboxProvider) as studio:
        studio.evaluate(sums(6), members=members(url), concurrency=1)


if __name__ == "__main__":
    main()
