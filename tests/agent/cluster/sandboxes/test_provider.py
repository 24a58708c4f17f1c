"""The provider of sandboxes on nodes: restarts, removal, loss, and what the page is told."""

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from agent.data_folder import DataFolder
from agent.errors import EngineError, SandboxError
from agent.events import SandboxReady
from agent.runs.folder import RunFolder
from agent.sandbox.engine.client import Client
from agent.settings import Settings
from agent.util.stop import Stop
from tests.contract.sandbox_helpers import acquire_sandbox, check_output, run
from tests.support.cluster.nodes import ROOT, containers_of
from tests.support.cluster.placement import Placement
from tests.support.server import wait_until

pytest.importorskip("ray", reason="Ray is not installed (make .make/ray)")
pytestmark = [pytest.mark.engine, pytest.mark.nightly]


def acquire(placement: Placement, folder: RunFolder, stop: Stop | None = None) -> tuple[Any, Any]:
    """Return the event that the sandbox is ready, and the sandbox; None for both after a stop."""
    events = placement.provider.acquire(folder, stop or Stop())
    ready: SandboxReady | None = None
    while True:
        try:
            event = next(events)
        except StopIteration as end:
            return ready, end.value
        if isinstance(event, SandboxReady):
            ready = event


def test_a_stopped_sandbox_is_restarted_on_its_node_with_the_files_as_they_are(
    placement: Placement,
) -> None:
    folder = placement.create_run()
    (folder.workspace / "input" / "note.txt").write_text("before")
    ready, sandbox = acquire(placement, folder)
    assert (ready.origin, ready.sandbox) == ("new", folder.sandbox)
    check_output(sandbox, "touch /opt/installed; cp input/note.txt output/; mkfifo pipe")
    sandbox.stop()
    (folder.workspace / "input" / "note.txt").write_text("after")
    (folder.workspace / "output" / "note.txt").unlink()
    again, sandbox = acquire(placement, folder)
    assert (again.origin, again.node) == ("restarted", ready.node)
    shown = check_output(sandbox, "cat input/note.txt; ls output pipe /opt/installed")
    assert shown == "after/opt/installed\npipe\n\noutput:"
    sandbox.close()


def test_a_removed_sandbox_leaves_nothing_on_its_node(placement: Placement, engine: Client) -> None:
    folder = placement.create_run()
    root = placement.nodes.folders[0].parent
    _, sandbox = acquire(placement, folder)
    check_output(sandbox, "echo 1 > output/file")
    inventory = placement.provider.inventory()
    assert folder.sandbox in {each.sandbox_id for each in inventory.sandboxes if each.running}
    sandbox.stop()
    stopped = set(containers_of(root, engine))
    placement.provider.remove_container(folder.sandbox)
    assert len(stopped - set(containers_of(root, engine))) == 1
    known = {each.sandbox_id for each in placement.provider.inventory().sandboxes}
    assert folder.sandbox not in known
    assert not list(root.glob(f"node*/cluster/runs/{folder.sandbox}"))
    assert (folder.workspace / "output" / "file").exists()


def test_a_stop_ends_the_wait_for_a_sandbox(placement: Placement) -> None:
    stop = Stop()
    stop.set()
    assert acquire(placement, placement.create_run(), stop) == (None, None)
    sandbox = placement.acquire(placement.create_run())
    sandbox.close()


def test_a_sandbox_that_is_silent_after_a_stop_is_not_lost(
    placement: Placement, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.cluster.sandboxes.placed._ANSWER_SECONDS", 1.5)
    folder = placement.create_run()
    _, sandbox = acquire(placement, folder)
    stop = Stop()
    stop.set()
    sandbox.set_stop(stop)
    assert run(sandbox, "sleep 100", stop=stop).end_reason == "stop"
    time.sleep(4)  # longer than a node may take for an answer
    (folder.workspace / "input" / "note").write_text("kept")
    sandbox.files_changed(["input/note"])
    assert not sandbox.lost
    sandbox.set_stop(Stop())
    assert check_output(sandbox, "sleep 4; cat input/note") == "kept"
    sandbox.close()


def test_a_lost_node_is_reported_at_once_and_left_out(placement: Placement) -> None:
    folder = placement.create_run()
    ready, sandbox = acquire(placement, folder)
    check_output(sandbox, "echo kept > output/kept")
    placement.kill_node(ready.node)
    with pytest.raises(SandboxError, match="was lost, and with it the sandbox"):
        run(sandbox, "true")
    assert sandbox.lost
    sandbox.stop()
    wait_until(lambda: len(placement.provider.nodes) == 1)
    again, sandbox = acquire(placement, folder)
    assert again.origin == "recreated"
    assert again.node != ready.node
    assert check_output(sandbox, "cat output/kept") == "kept"
    sandbox.close()


def test_a_killed_program_leaves_nothing_on_the_nodes(
    placement: Placement, engine: Client, tmp_path: Path
) -> None:
    root = placement.nodes.folders[0].parent
    placement.provider.close()  # its processes hold the nodes' sandboxes
    program = Path(__file__).with_name("program.py")
    process = subprocess.Popen(
        [sys.executable, str(program), str(tmp_path), placement.nodes.address],
        stdout=subprocess.PIPE, text=True, cwd=ROOT, env=dict(placement.nodes.environment),
    )  # fmt: skip
    with process:
        assert process.stdout is not None
        assert "ready\n" in process.stdout  # Ray may print warnings before
        assert containers_of(root, engine)
        process.send_signal(signal.SIGKILL)
    wait_until(lambda: not containers_of(root, engine), 120)


def test_a_cluster_that_is_not_there_is_reported_and_tried_again(
    placement: Placement, tmp_path: Path
) -> None:
    from agent.cluster.sandboxes.provider import ClusterSandboxProvider

    placement.provider.close()  # a process has one connection
    with DataFolder(tmp_path) as data:
        provider = ClusterSandboxProvider(Settings(ray="127.0.0.1:1"), data)
        folder = RunFolder.create(tmp_path, provider.create_workspace())
        provider.open()
        assert provider.setup_status.phase in ("connecting", "failed")
        wait_until(lambda: provider.setup_status.phase == "failed", 120)
        with pytest.raises(EngineError, match="There is no Ray cluster at"):
            acquire_sandbox(provider, folder)
        provider.close()
