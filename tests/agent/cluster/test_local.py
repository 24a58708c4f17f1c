"""The ports of a local Ray cluster listen on loopback only."""

import subprocess
import sys

import pytest

from tests.support.cluster.nodes import ROOT

pytest.importorskip("ray", reason="Ray is not installed (make .make/ray)")
pytestmark = pytest.mark.nightly

PROGRAM = """
import os, re
from contextlib import suppress
from pathlib import Path
from agent.cluster.cluster import Cluster

def descendants(process):
    yield process
    for file in Path(f"/proc/{process}/task").glob("*/children"):
        for child in file.read_text().split():
            yield from descendants(int(child))

def sockets(process):
    for file in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):  # it was closed meanwhile
            if found := re.fullmatch(r"socket:.(\\d+).", os.readlink(file)):
                yield found[1]

cluster = Cluster("local", report=print)
cluster.connect()
own = {each for process in descendants(os.getpid()) for each in sockets(process)}
for table in ("tcp", "tcp6"):
    for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and fields[9] in own:
            print("listens", fields[1].partition(":")[0])
cluster.close()
"""
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "0" * 24 + "01000000"}


def test_its_ports_are_open_on_loopback_only() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, timeout=180
    )
    assert done.returncode == 0, done.stderr
    listening = [
        line.split()[1] for line in done.stdout.splitlines() if line.startswith("listens ")
    ]
    assert len(listening) >= 4
    assert set(listening) <= LOOPBACK
    assert "Ray listens on 127.0.0.1" in done.stdout
