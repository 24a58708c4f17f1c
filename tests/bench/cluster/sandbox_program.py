"""Commands in one sandbox, on a node of a Ray cluster or here: ADDRESS COUNT.

It prints the seconds of each command, by name, as JSON. An empty address stands for here.
"""

import json
import sys
import time
from dataclasses import replace

from agent.api.studio import containers
from agent.cluster.connect import opener_on
from agent.data_folder import DataFolder
from agent.runs.folder import RunFolder
from agent.sandbox.base import Sandbox
from agent.settings import load
from tests.contract.sandbox_helpers import acquire_sandbox, run

COMMANDS = {
    "true": "true",
    "a file of 10 kB": "head -c 10000 /dev/urandom > output/small",
    "a file of 10 MB": "head -c 10000000 /dev/urandom > output/large",
    "100 files": "for i in $(seq 100); do echo $RANDOM > output/$i; done",
    "10 MB of output": "head -c 10000000 /dev/zero",
}


def measure(sandbox: Sandbox, command: str, count: int) -> list[float]:
    seconds = []
    for _ in range(count):
        began = time.monotonic()
        run(sandbox, command)
        seconds.append(time.monotonic() - began)
    return seconds


def main() -> None:
    address, count = sys.argv[1], int(sys.argv[2])
    settings = replace(load(), warm_sandboxes=0)
    opener = opener_on(address, containers) if address else containers
    with DataFolder(settings.data) as data:
        provider = opener(settings, data)
        try:
            folder = RunFolder.create(data.path, provider.create_workspace())
            sandbox = acquire_sandbox(provider, folder)
            measure(sandbox, "true", 5)
            found = {name: measure(sandbox, text, count) for name, text in COMMANDS.items()}
            sandbox.close()
        finally:
            provider.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
