"""A Ray cluster of several nodes on this machine: FOLDER COUNT SANDBOXES.

It prints its address and its nodes' process ids, and ends with its standard input. Each node has a
data folder of its own, and so an instance of its own in the engine.
"""

import json
import sys
from pathlib import Path

from ray.cluster_utils import Cluster

_STORE_BYTES = 80 * 1024**2


def main() -> None:
    folder, count, sandboxes = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    head = {"num_cpus": 0, "object_store_memory": _STORE_BYTES, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    nodes = [
        cluster.add_node(
            num_cpus=1, resources={"sandbox": sandboxes}, object_store_memory=_STORE_BYTES,
            env_vars={"STUDIO_DATA": str(folder / f"node{number}"), "STUDIO_WARM_SANDBOXES": "0"},
            wait=False,
        )
        for number in range(count)
    ]  # fmt: skip
    cluster.wait_for_nodes()
    pids = [node.all_processes["raylet"][0].process.pid for node in nodes]
    ids = [node.node_id for node in nodes]
    known = {"address": cluster.address, "raylets": pids, "ids": ids}
    print(json.dumps(known), flush=True)
    sys.stdin.read()
    cluster.shutdown()


if __name__ == "__main__":
    main()
