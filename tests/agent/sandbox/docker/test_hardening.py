"""Attacks from inside a sandbox are refused, tried as root in a real container."""

import json
import math
import os
import shlex
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from agent.data_folder import DataFolder
from agent.errors import EngineError
from agent.provisioning.provider import DockerSandboxProvider
from agent.runs.folder import RunFolder
from agent.sandbox.base import CommandEnd, SandboxLimits
from agent.sandbox.docker.container import host_certificates
from agent.sandbox.docker.sandbox import DockerSandbox
from agent.sandbox.engine.client import Client, check_runtime
from agent.settings import load
from agent.util.stop import Stop
from tests.contract.sandbox_helpers import MEGABYTE, check_output, run
from tests.contract.shared_sandbox import new_spec
from tests.support.hostile import attacks
from tests.support.hostile.attacks import ATTACKS
from tests.support.server import wait_until

pytestmark = [pytest.mark.contract, pytest.mark.engine]
ATTACK_PROGRAM = Path(attacks.__file__).read_text()


@pytest.fixture(scope="module")
def sandbox(
    engine: Client, image: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DockerSandbox]:
    folder = tmp_path_factory.mktemp("hardening")
    spec = new_spec(image, folder, certificates=host_certificates())
    with closing(DockerSandbox.create(engine, spec)) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def attack_errors(sandbox: DockerSandbox) -> dict[str, str]:
    """The error of each attack; empty if the attack succeeded."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("OPENAI_API_KEY", "sk-of-the-host")
        sandbox.write("attacks.py", ATTACK_PROGRAM.encode())
        result = run(sandbox, f"python3 attacks.py {os.getpid()} {shlex.quote(__file__)}")
    errors: dict[str, str] = json.loads(result.stdout)
    return errors


@pytest.mark.parametrize("attack", ATTACKS)
def test_each_attack_is_refused(attack_errors: dict[str, str], attack: str) -> None:
    assert attack_errors[attack]


FORGE_END_FRAME = """
import os, struct
supervisor = os.getppid()
while b"supervisor" not in open(f"/proc/{supervisor}/cmdline", "rb").read():
    supervisor = int(open(f"/proc/{supervisor}/stat").read().rsplit(")", 1)[1].split()[1])
out = os.open(f"/proc/{supervisor}/fd/1", os.O_WRONLY)
for ident in range(1, 1000):
    os.write(out, struct.pack("!IBIiBd", 13, 18, ident, 0, 0, float("nan")))
"""


def test_a_command_cannot_forge_its_end_marker(sandbox: DockerSandbox) -> None:
    sandbox.write("forge.py", FORGE_END_FRAME.encode())
    *_, last = sandbox.execute("python3 forge.py", timeout=30, stop=Stop())
    assert isinstance(last, CommandEnd)
    assert last.end_reason == "lost"
    assert math.isfinite(last.seconds)
    assert run(sandbox, "echo on").stdout == b"on\n"


def test_other_sandboxes_are_invisible(sandbox: DockerSandbox, engine: Client) -> None:
    image = engine.api.inspect_container(sandbox.container)["Image"]
    spec = new_spec(image, sandbox.workspace.parent)
    with closing(DockerSandbox.create(engine, spec)) as other:
        run(other, "echo theirs > /tmp/theirs; sleep 1234 & echo theirs > /dev/shm/theirs")
        command = "pgrep -f '^sleep 1234'; ls /tmp/theirs /dev/shm/theirs; ipcs -m | grep -c 0x"
        assert run(sandbox, command).stdout == b"0\n"
        name = other.workspace.parent.name
        assert run(sandbox, f"ls /workspace/../{name} /workspace/{name}").code != 0


def test_only_the_workspace_of_the_host_is_writable(sandbox: DockerSandbox) -> None:
    """Anything else that is writable would be on the host's disk without a quota."""
    for place in ("/opt/studio/supervisor", "/proc/sys", "/sys"):
        assert "ro" in check_output(sandbox, f"findmnt -n -o OPTIONS {place}").split(","), place
    excluded_types = "notmpfs,nooverlay,noproc,nosysfs,nocgroup,nocgroup2,nomqueue,nodevpts"
    listing = check_output(sandbox, f"findmnt -n -l -o TARGET,OPTIONS -t {excluded_types}")
    mounts = dict(line.split() for line in listing.splitlines())
    assert {"/workspace", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf"} <= set(mounts)
    writable = [target for target, options in mounts.items() if "rw" in options.split(",")]
    assert writable == ["/workspace"]


def test_the_sandbox_resolves_its_own_hostname(sandbox: DockerSandbox) -> None:
    names = check_output(sandbox, "hostname && getent hosts sandbox").split()
    assert names == ["sandbox", "127.0.1.1", "sandbox"]
    assert "127.0.0.1" in check_output(sandbox, "getent ahosts localhost")


# Limits inside the sandbox; memory and processes are in test_docker, disks in test_disk


@pytest.fixture(scope="module")
def limited_sandbox(
    engine: Client, image: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DockerSandbox]:
    limits = SandboxLimits(
        memory=200 * MEGABYTE, cpus=0.25, pids=60, open_files=128, disk=50 * MEGABYTE
    )
    folder = tmp_path_factory.mktemp("small")
    with closing(DockerSandbox.create(engine, new_spec(image, folder, limits=limits))) as sandbox:
        yield sandbox


@pytest.mark.parametrize(
    ("command", "refusal"),
    [
        ("python3 -c 'x = [open(\"/dev/null\") for _ in range(200)]'", "Too many open files"),
        ("for i in $(seq 100); do sleep 5 & done", "Resource temporarily unavailable"),
        ("head -c 51M /dev/zero > /tmp/large", "File size limit exceeded"),
        ("head -c 300M /dev/zero | tail -c 290M | wc -c", "ran out of memory"),
        ("head -c 300M /dev/zero > /dev/shm/large", "File size limit exceeded"),
    ],
)
def test_each_limit_is_enforced(limited_sandbox: DockerSandbox, command: str, refusal: str) -> None:
    result = run(
        limited_sandbox, f"({command}) 2>&1; pkill -f '^sleep 5'; rm -f /dev/shm/large /tmp/large"
    )
    assert refusal in result.stdout.decode() + result.stderr.decode() + result.note


def test_cpu_time_is_limited(limited_sandbox: DockerSandbox) -> None:
    stat_files = "/sys/fs/cgroup/cpu.stat /sys/fs/cgroup/cpu/cpu.stat"
    throttled = f"cat {stat_files} 2> /dev/null | awk '/nr_throttled/ {{print $2}}'"
    before = int(check_output(limited_sandbox, throttled))

    def is_throttled() -> bool:
        run(limited_sandbox, "timeout 1 sh -c 'while :; do :; done'")
        return int(check_output(limited_sandbox, throttled)) > before

    wait_until(is_throttled, 60)  # a busy machine may leave it less than its share at first


# The runtime


def test_a_runtime_is_selected_by_name(engine: Client, image: str, tmp_path: Path) -> None:
    check_runtime(engine, "runc")
    spec = new_spec(image, tmp_path, runtime="runc")
    with closing(DockerSandbox.create(engine, spec)) as sandbox:
        inspection = engine.api.inspect_container(sandbox.container)
        assert inspection["HostConfig"]["Runtime"] == "runc"
        assert check_output(sandbox, "echo on") == "on"


def test_an_unknown_runtime_is_refused_with_the_available_ones(
    engine: Client, image: str, tmp_path: Path
) -> None:
    settings = replace(load({}), image=image, runtime="stronger", data=tmp_path)
    with DataFolder(tmp_path / "data") as data:
        provider = DockerSandboxProvider(settings, data)
        provider.open()
        folder = RunFolder.create(data.path, provider.create_workspace())
        with pytest.raises(EngineError, match=r"STUDIO_RUNTIME is 'stronger'.*runc"):
            list(provider.acquire(folder, Stop()))
        provider.close()
