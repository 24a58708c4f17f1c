"""A program with a sandbox on a node, to be killed: FOLDER ADDRESS."""

import sys
import time
from pathlib import Path

from agent.cluster.sandboxes.provider import ClusterSandboxProvider
from agent.data_folder import DataFolder
from agent.runs.folder import RunFolder
from agent.settings import Settings
from tests.contract.sandbox_helpers import acquire_sandbox, check_output


def main() -> None:
    folder, address = Path(sys.argv[1]), sys.argv[2]
    with DataFolder(folder) as data:
        provider = ClusterSandboxProvider(Settings(ray=address), data)
        run = RunFolder.create(folder, provider.create_workspace())
        sandbox = acquire_sandbox(provider, run)
        check_output(sandbox, "true")
        print("ready", flush=True)
        time.sleep(600)


if __name__ == "__main__":
    main()
