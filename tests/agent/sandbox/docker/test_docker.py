"""The Docker sandbox: the contract suite, its limits, and its recovery."""

import subprocess
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from docker import APIClient

from agent.errors import SandboxError
from agent.sandbox.base import SandboxLimits
from agent.sandbox.docker.container import ContainerSpec, host_certificates
from agent.sandbox.docker.lifecycle import INSTANCE_LABEL, SANDBOX_LABEL, list_containers, reap
from agent.sandbox.docker.sandbox import DockerSandbox
from agent.sandbox.engine.client import Client
from agent.util.stop import Stop
from tests.contract.sandbox_helpers import (
    MEGABYTE,
    check_output,
    collect_result,
    run,
    run_until_first_output,
)
from tests.contract.sandbox_jobs_suite import run_job
from tests.contract.sandbox_suite import SandboxSuite
from tests.contract.shared_sandbox import SharedSandbox, new_spec
from tests.support.server import wait_until

pytestmark = [pytest.mark.contract, pytest.mark.engine]

CreateSandbox = Callable[..., DockerSandbox]


@pytest.fixture
def instance() -> str:
    return f"test-{uuid.uuid4().hex}"


@pytest.fixture
def create_sandbox(
    engine: Client, image: str, instance: str, tmp_path: Path
) -> Iterator[CreateSandbox]:
    """Creates sandboxes of the test's instance, and closes them after the test."""

    def create(
        limits: SandboxLimits | None = None, instance: str = instance, certificates: bool = False
    ) -> DockerSandbox:
        spec = new_spec(
            image, tmp_path, instance=instance, limits=limits or SandboxLimits(),
            certificates=host_certificates() if certificates else None,
        )  # fmt: skip
        return sandboxes.enter_context(closing(DockerSandbox.create(engine, spec)))

    with ExitStack() as sandboxes:
        yield create


@pytest.fixture
def own_sandbox(create_sandbox: CreateSandbox) -> DockerSandbox:
    """A container of the test's own, which it may spoil."""
    return create_sandbox()


@pytest.fixture(scope="module")
def shared(
    engine: Client, image: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[SandboxLimits], SharedSandbox]]:
    """Returns the sandbox with these limits that the module's tests share."""
    folder = tmp_path_factory.mktemp("containers")

    def create(limits: SandboxLimits) -> DockerSandbox:
        return DockerSandbox.create(engine, new_spec(image, folder, limits=limits))

    sandboxes: dict[SandboxLimits, SharedSandbox] = {}
    yield lambda limits: sandboxes.setdefault(limits, SharedSandbox(lambda: create(limits)))
    for each in sandboxes.values():
        each.close()


@pytest.fixture
def sandbox(
    request: pytest.FixtureRequest, shared: Callable[[SandboxLimits], SharedSandbox]
) -> DockerSandbox:
    """A fresh sandbox in a shared container, with default limits or those of the parameter."""
    sandbox = shared(getattr(request, "param", SandboxLimits())).fresh()
    assert isinstance(sandbox, DockerSandbox)
    return sandbox


few_processes = pytest.mark.parametrize("sandbox", [SandboxLimits(pids=100)], indirect=True)
little_memory = pytest.mark.parametrize(
    "sandbox", [SandboxLimits(memory=200 * MEGABYTE)], indirect=True
)


@pytest.mark.main_path
class TestDockerSandbox(SandboxSuite):
    """The contract suite for the Docker sandbox."""


# Recovery


def test_replaced_folders_do_not_prevent_a_restart(
    engine: Client, image: str, instance: str, tmp_path: Path
) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "input").write_text("a file")
    (workspace / "output").symlink_to(tmp_path / "made-outside")
    spec = ContainerSpec(image, instance, uuid.uuid4().hex, workspace)
    with closing(DockerSandbox.create(engine, spec)) as sandbox:
        assert check_output(sandbox, "cat /workspace/input") == "a file"
    assert not (tmp_path / "made-outside").exists()


def test_the_container_restarts_after_all_processes_are_killed(own_sandbox: DockerSandbox) -> None:
    run(own_sandbox, "x=kept; cd input; touch /root/mark")
    result = run(own_sandbox, "kill -9 -1")
    assert (result.end_reason, result.code) == ("lost", None)
    assert "restarted" in result.note
    assert check_output(own_sandbox, "echo $x; basename $PWD; ls /root") == "kept\ninput\nmark"


def test_an_externally_stopped_container_is_restarted(
    sandbox: DockerSandbox, engine: Client
) -> None:
    run(sandbox, "x=kept")
    engine.api.kill(sandbox.container)
    engine.api.wait(sandbox.container)
    result = run(sandbox, "echo $x")
    assert result.stdout == b"kept\n"
    assert "restarted" in result.note


def test_a_container_that_exits_before_its_shell_starts_is_restarted(
    sandbox: DockerSandbox, engine: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(sandbox, "true")
    start, starts = APIClient.exec_start, list[str]()

    def exit_first(api: APIClient, process: str, **options: Any) -> Any:
        starts.append(process)
        if len(starts) == 1:
            engine.api.kill(sandbox.container)
            engine.api.wait(sandbox.container)
        return start(api, process, **options)

    monkeypatch.setattr(APIClient, "exec_start", exit_first)
    assert run(sandbox, "kill -9 $PPID; sleep 1006").end_reason == "lost"
    assert check_output(sandbox, "echo on") == "on"
    assert len(starts) == 2


def test_a_killed_supervisor_is_restarted(sandbox: DockerSandbox) -> None:
    run(sandbox, "x=kept; setsid sleep 1006 &")
    assert run(sandbox, "kill -9 $PPID; sleep 1006").end_reason == "lost"
    assert run(sandbox, "echo $x; pgrep -f '^sleep 1006'").stdout == b"kept\n"


def test_a_new_container_starts_with_a_supervisor_and_outlives_it(
    own_sandbox: DockerSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    create, started = APIClient.exec_create, list[str]()

    def count(api: APIClient, container: str, *arguments: Any, **options: Any) -> Any:
        started.append(container)
        return create(api, container, *arguments, **options)

    monkeypatch.setattr(APIClient, "exec_create", count)
    assert check_output(own_sandbox, "touch /opt/kept; ps -o ppid= $PPID") != "0"
    assert run(own_sandbox, "kill -9 $PPID; sleep 1006").end_reason == "lost"
    assert check_output(own_sandbox, "ls /opt/kept; ps -o ppid= $PPID").split() == [
        "/opt/kept",
        "0",
    ]
    assert started == [own_sandbox.container]


def test_stop_works_with_a_frozen_supervisor(sandbox: DockerSandbox) -> None:
    run(sandbox, "x=kept")
    stop = Stop()
    freeze = "until [ -e gate ]; do sleep 0.01; done; kill -STOP $PPID; touch frozen; sleep 1009"
    items = sandbox.execute(f"echo up; {freeze}", timeout=60, stop=stop)
    next(items)
    (sandbox.workspace / "gate").touch()
    wait_until((sandbox.workspace / "frozen").exists)
    stop.set()
    assert collect_result(items).end_reason == "stop"
    assert check_output(sandbox, "echo $x") == "kept"


def test_a_removed_container_is_reported(own_sandbox: DockerSandbox, engine: Client) -> None:
    engine.api.remove_container(own_sandbox.container, force=True)
    with pytest.raises(SandboxError, match="no longer exists"):
        run(own_sandbox, "true")
    with pytest.raises(SandboxError, match="no longer exists"):
        own_sandbox.read("x", limit=1)
    own_sandbox.close()


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("rm -f /bin/bash /usr/bin/bash; exit", "no shell can be started"),
        ("rm -f /usr/bin/python3*; kill -9 $PPID; sleep 100", "/usr/bin/python3"),
    ],
)
def test_what_is_missing_is_reported(own_sandbox: DockerSandbox, command: str, reason: str) -> None:
    with pytest.raises(SandboxError, match=reason):
        run(own_sandbox, command)


def test_a_broken_python_does_not_end_the_shell(own_sandbox: DockerSandbox) -> None:
    run(own_sandbox, "rm -rf /usr/lib/python3* /usr/bin/python3*; x=kept")
    run(own_sandbox, "exit")
    assert run(own_sandbox, "sleep 99", timeout=3).end_reason == "timeout"
    own_sandbox.write("f", b"1")
    assert check_output(own_sandbox, "echo $x; cat f") == "kept\n1"


# Excessive use


@pytest.mark.parametrize(
    "bomb", [":(){ :|:& };:", ":(){ :|: & wait; };:", "while :; do sleep 1007 & done"]
)
@few_processes
def test_the_sandbox_survives_a_fork_bomb(sandbox: DockerSandbox, bomb: str) -> None:
    run(sandbox, "x=kept")
    run(sandbox, bomb, timeout=2)
    run(sandbox, "sleep 1", timeout=20)
    assert check_output(sandbox, "echo $x; date >/dev/null && echo on") == "kept\non"


@few_processes
def test_a_fork_bomb_is_stopped(sandbox: DockerSandbox) -> None:
    result = run_until_first_output(sandbox, "echo up; :(){ :|: & wait; };:")
    assert result.end_reason == "stop"
    assert int(check_output(sandbox, "ls -d /proc/[0-9]* | wc -l")) < 10


@little_memory
def test_an_out_of_memory_command_is_reported(sandbox: DockerSandbox) -> None:
    run(sandbox, "x=kept")
    result = run(sandbox, "python3 -c 'x = bytearray(1 << 30)'")
    assert result.code == 137
    assert "ran out of memory" in result.note
    assert run(sandbox, "echo $x").note == ""
    assert result.finished.peak_memory is not None
    assert 100 * MEGABYTE < result.finished.peak_memory <= 200 * MEGABYTE


@little_memory
def test_a_shell_killed_for_memory_is_restarted(sandbox: DockerSandbox) -> None:
    run(sandbox, "x=kept")
    result = run(sandbox, "big=x; while :; do big=$big$big; done", timeout=60)
    assert result.end_reason in ("exit", "lost")
    assert check_output(sandbox, "echo $x") == "kept"


# Limits and privileges


def test_the_container_has_limits_labels_and_minimal_privileges(
    create_sandbox: CreateSandbox, engine: Client, instance: str
) -> None:
    sandbox = create_sandbox(
        SandboxLimits(memory=512 * MEGABYTE, cpus=0.5, pids=64, open_files=128)
    )
    inspection = engine.api.inspect_container(sandbox.container)
    host = inspection["HostConfig"]
    assert host["Memory"] == host["MemorySwap"] == 512 * MEGABYTE
    assert (host["NanoCpus"], host["PidsLimit"], host["Init"]) == (500_000_000, 64, True)
    assert host["CpuShares"] < 1024
    assert not host["Privileged"]
    assert inspection["Config"]["Labels"][INSTANCE_LABEL] == instance
    assert inspection["Config"]["Labels"][SANDBOX_LABEL] == sandbox.id
    status = check_output(
        sandbox, "grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status"
    )
    values = dict(line.split(":\t") for line in status.splitlines())
    assert values["CapEff"] == values["CapBnd"] == "00000000000000eb"
    assert (values["NoNewPrivs"], values["Seccomp"]) == ("1", "2")
    assert check_output(sandbox, "ulimit -n") == "128"
    assert inspection["Config"]["NetworkDisabled"]
    assert check_output(sandbox, "ls /sys/class/net; wc -l < /proc/net/route") == "lo\n1"


def test_a_job_runs_as_another_user_of_the_container(sandbox: DockerSandbox) -> None:
    result = run_job(sandbox, "id -un; echo $HOME; touch /etc/mine", user="nobody")
    assert result.stdout == b"nobody\n/nonexistent\n"
    assert b"Permission denied" in result.stderr
    assert run_job(sandbox, "id -u", user="0").stdout == b"0\n"


def test_a_job_is_lost_with_its_container_and_the_next_one_runs(
    engine: Client, sandbox: DockerSandbox
) -> None:
    items = sandbox.spawn("echo up; sleep 100", timeout=60, stop=Stop())
    next(items)
    engine.api.kill(sandbox.container)
    assert collect_result(items).end_reason == "lost"
    assert run_job(sandbox, "echo on").stdout == b"on\n"


def test_stop_reaches_processes_of_other_users(sandbox: DockerSandbox) -> None:
    other = "setsid setpriv --reuid 65534 --clear-groups sleep 1008 & echo up"
    run_until_first_output(sandbox, f"{other}; sleep 1008")
    assert run(sandbox, "pgrep -f '^sleep 1008'").code == 1


@pytest.mark.skipif(host_certificates() is None, reason="this machine has no bundle of its own")
def test_the_hosts_certificates_are_trusted_inside(create_sandbox: CreateSandbox) -> None:
    sandbox = create_sandbox(certificates=True)
    bundle = host_certificates()
    assert bundle is not None
    names = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "CURL_CA_BUNDLE")
    inside = {check_output(sandbox, f"cat ${name} | sha256sum") for name in names}
    host = subprocess.run(["sha256sum"], input=bundle.read_bytes(), capture_output=True, check=True)
    assert inside == {host.stdout.decode().strip()}
    assert run(sandbox, "echo x >> $SSL_CERT_FILE").code != 0


# Paths of the reference implementation


def test_the_reference_folder_is_the_workspace(sandbox: DockerSandbox) -> None:
    (sandbox.workspace / "input" / "a.txt").write_text("given\n")
    assert check_output(sandbox, "cat /testbed/input/a.txt") == "given"
    assert check_output(sandbox, "cd /testbed && echo made > made; cat /workspace/made") == "made"
    assert sandbox.read("/testbed/input/a.txt", limit=10) == b"given\n"
    assert sorted(p.name for p in sandbox.workspace.iterdir()) == ["input", "made", "output"]
    assert check_output(sandbox, "echo /testbed /testbed/input") == "/testbed /testbed/input"


# Ownership of containers


def test_only_containers_of_the_instance_are_reaped_and_a_closed_sandbox_has_none(
    create_sandbox: CreateSandbox, engine: Client, instance: str
) -> None:
    other = f"test-{uuid.uuid4().hex}"
    own_sandbox, other_sandbox = create_sandbox(), create_sandbox(instance=other)
    closed_sandbox = create_sandbox()
    closed_sandbox.close()
    assert len(list_containers(engine, instance)) == 1
    assert reap(engine, instance) == []
    assert list_containers(engine, instance) == []
    with pytest.raises(SandboxError, match="no longer exists"):
        run(own_sandbox, "true")
    assert run(other_sandbox, "echo on").stdout == b"on\n"


def test_a_failed_container_creation_leaves_nothing_behind(
    engine: Client, instance: str, tmp_path: Path
) -> None:
    spec = ContainerSpec("no-such-image:none", instance, "x", tmp_path / "workspace")
    with pytest.raises(SandboxError, match="cannot be created"):
        DockerSandbox.create(engine, spec)
    assert reap(engine, instance) == []
