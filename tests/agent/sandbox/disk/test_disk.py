"""A sandbox's disk: its own where that can be, watched elsewhere; what comes when it is full."""

import io
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import docker
import httpx
import pytest

from agent.data_folder import DataFolder
from agent.history.deletion import RunDeleter
from agent.provisioning.migrate import is_cheap_to_move
from agent.provisioning.provider import DockerSandboxProvider
from agent.runs import summary
from agent.runs.disk_usage import bytes_on_disk
from agent.runs.folder import RunFolder
from agent.sandbox.base import Sandbox
from agent.sandbox.disk import scratch, volume
from agent.sandbox.docker import lifecycle
from agent.sandbox.docker.container import ContainerSpec
from agent.sandbox.docker.sandbox import DockerSandbox
from agent.settings import load
from agent.workspace.files import STAGING
from agent.workspace.versions.blobs import BlobStore
from tests.contract.sandbox_use import MEGABYTE, eventually, run, say, taken
from tests.support.local_provider import LocalSandboxProvider
from tests.support.recorded_runs import write_ended_run
from tests.support.server import create_app, run_server

SIZE = 100 * MEGABYTE
own_disk = pytest.mark.skipif(
    os.geteuid() != 0 or not Path("/dev/loop-control").exists(),
    reason="a disk of one's own needs root and loop devices",
)


@pytest.fixture
def data(tmp_path: Path) -> Iterator[DataFolder]:
    with DataFolder(tmp_path / "data") as folder:
        yield folder
    volume.detach_all(tmp_path / "data")


@pytest.fixture
def folder(data: DataFolder) -> Path:
    """A sandbox's folder with a disk of its own."""
    made = data.path / "sandboxes" / "one"
    assert volume.create(made, SIZE)
    return made


# A disk of its own


@own_disk
def test_the_disk_is_full_exactly_at_the_quota(folder: Path) -> None:
    (folder / "most").write_bytes(bytes(int(SIZE * 0.85)))
    with (folder / "more").open("wb") as file, pytest.raises(OSError, match="No space left"):
        os.posix_fallocate(file.fileno(), 0, int(SIZE * 0.15))


@own_disk
def test_unused_space_takes_nothing_from_the_host(folder: Path) -> None:
    assert bytes_on_disk(volume.disk_image(folder).parent) < 5 * MEGABYTE
    (folder / "file").write_bytes(os.urandom(20 * MEGABYTE))
    os.sync()
    assert bytes_on_disk(volume.disk_image(folder).parent) > 20 * MEGABYTE
    (folder / "file").unlink()
    subprocess.run(["sync", "-f", folder], check=True)
    assert eventually(lambda: bytes_on_disk(volume.disk_image(folder).parent) < 10 * MEGABYTE)


@own_disk
def test_a_runs_size_is_what_its_deletion_frees(data: DataFolder) -> None:
    run = write_ended_run(data.path)
    shutil.rmtree(run.sandbox_folder)
    assert volume.create(run.sandbox_folder, SIZE)
    (run.sandbox_folder / "file").write_bytes(os.urandom(3 * MEGABYTE))
    os.sync()
    told = summary.derive(run)
    assert told is not None
    removal = RunDeleter(data.path, BlobStore(data.path / "blobs"), lambda _: None)
    assert told.size == pytest.approx(removal.freed_bytes([run.id]), abs=MEGABYTE // 4)


@own_disk
def test_the_disk_is_mounted_nodev_and_nosuid(folder: Path) -> None:
    os.mknod(folder / "null", 0o666 | 0o020000, os.makedev(1, 3))
    with pytest.raises(PermissionError):
        (folder / "null").read_bytes()
    options = said("findmnt", "-n", "-o", "OPTIONS", "--mountpoint", str(folder)).strip().split(",")
    assert {"nosuid", "nodev"} <= set(options)


@own_disk
def test_disks_of_a_killed_process_are_found_by_the_next(folder: Path) -> None:
    (folder / "file").write_text("kept")
    volume.detach(folder)
    assert not volume.is_attached(folder)
    assert list(folder.iterdir()) == []
    threads = [threading.Thread(target=volume.attach, args=(folder,)) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert (folder / "file").read_text() == "kept"
    volume.detach(folder)
    assert not volume.is_attached(folder), "it was mounted more than once"


@own_disk
def test_an_open_file_stays_readable_while_its_disk_is_detached(folder: Path) -> None:
    (folder / "file").write_text("kept")
    with (folder / "file").open() as file:
        volume.detach(folder, idle=True)
        assert volume.is_attached(folder), "somebody has a file open"
        volume.detach(folder)
        volume.attach(folder)
        assert (folder / "file").read_text() == file.read() == "kept"


@own_disk
def test_discarding_removes_mount_and_image(folder: Path) -> None:
    (folder / "deep" / "er").mkdir(parents=True)
    image = volume.disk_image(folder)
    volume.discard(folder)
    assert not folder.exists()
    assert not image.exists()
    assert str(image) not in Path("/proc/self/mountinfo").read_text()
    assert eventually(lambda: str(image) not in said("losetup", "--list"))


@own_disk
def test_the_disk_moves_with_its_folder(folder: Path, tmp_path: Path) -> None:
    (folder / "file").write_text("kept")
    there = tmp_path / "data" / "headless" / "0" / "sandboxes" / "one"
    there.parent.mkdir(parents=True)
    volume.move(folder, there)
    volume.attach(there)
    assert (there / "file").read_text() == "kept"
    assert not volume.disk_image(folder).exists()
    volume.discard(there)


def test_without_loop_devices_a_plain_folder_is_used(
    data: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(volume, "_TOOL_PATH", str(data.path))
    folder = data.path / "sandboxes" / "plain"
    assert not volume.create(folder, SIZE)
    assert not volume.disk_image(folder).exists()
    folder.mkdir(parents=True)
    assert volume.is_attached(folder)
    monkeypatch.undo()
    volume.discard(folder)
    assert not folder.exists()


def test_an_upload_larger_than_the_disk_is_refused(tmp_path: Path) -> None:
    app = create_app(
        replace(load({}), data=tmp_path, disk=MEGABYTE), LocalSandboxProvider(tmp_path)
    )
    with run_server(app) as address, httpx.Client(base_url=address) as client:
        run = client.post("/api/runs", json={}).json()["run"]
        asked = {"path": "input/large", "size": 2 * MEGABYTE}
        answer = client.post(f"/api/runs/{run}/uploads", json=asked)
    assert answer.status_code == 507
    assert "this run can take" in answer.json()["error"]


# In a sandbox, with a disk of its own and without


@pytest.fixture(
    params=[pytest.param(True, marks=own_disk, id="own"), pytest.param(False, id="watched")]
)
def own(request: pytest.FixtureRequest) -> bool:
    value: bool = request.param
    return value


Machine = Callable[[bool, int], DockerSandboxProvider]


@pytest.fixture(scope="module")
def machine(image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """Computers whose sandboxes have disks of their own or not, with a pool or without."""
    host = {key: os.environ[key] for key in ("DOCKER_HOST",) if key in os.environ}
    settings = replace(load(host), image=image, disk=SIZE)
    opened: dict[tuple[bool, int], DockerSandboxProvider] = {}
    with ExitStack() as held:

        def get(own: bool, pool: int) -> DockerSandboxProvider:
            if (own, pool) not in opened:
                data = held.enter_context(DataFolder(tmp_path_factory.mktemp("disk") / "data"))
                made = DockerSandboxProvider(
                    replace(settings, warm_sandboxes=pool), data, disks=own
                )
                opened[own, pool] = held.enter_context(closing(made))
                made.open()
            assert opened[own, pool].wait_for_pool(60)
            return opened[own, pool]

        yield get


Make = Callable[..., "Given"]


class Given(NamedTuple):
    folder: RunFolder
    sandbox: Sandbox
    draft: str


@pytest.fixture
def make(machine: Machine) -> Iterator[Make]:
    """Gives a new run its sandbox, with files in it before."""

    def create(own: bool, pool: int = 0, **files: int) -> Given:
        computers = machine(own, pool)
        folder = RunFolder.create(computers.data.path, draft := computers.create_workspace())
        for name, size in files.items():
            (folder.workspace / "input" / name).write_bytes(b"x" * size)
        made.append(taken(computers, folder))
        return Given(folder, made[-1], draft)

    made: list[Sandbox] = []
    yield create
    for sandbox in made:
        sandbox.close()


FILL = "for i in 1 2 3 4; do head -c 40M /dev/zero > big$i; done; sleep 20"


@pytest.mark.engine
def test_filling_the_workspace_is_stopped_and_reported(make: Make, own: bool) -> None:
    sandbox = make(own).sandbox
    inside = say(sandbox, "findmnt -n -o OPTIONS /workspace").split(",")
    assert ({"nosuid", "nodev"} <= set(inside)) == own
    run(sandbox, "x=kept")
    result = run(sandbox, FILL)
    assert result.ending == "full"
    assert "of 100 MB used" in result.finished.storage_note
    assert "in /workspace" in result.finished.storage_note
    after = run(sandbox, "rm big*; echo $x")
    assert (after.stdout, after.code) == (b"kept\n", 0)
    assert run(sandbox, "head -c 20M /dev/zero > small").finished.storage_note == ""


@pytest.mark.engine
def test_filling_the_container_layer_is_stopped(make: Make, own: bool) -> None:
    sandbox = make(own).sandbox
    fill = "for i in $(seq 50); do head -c 50M /dev/zero > /opt/$i; done; sleep 20"
    result = run(sandbox, fill)
    assert result.ending == "full"
    used = int(say(sandbox, "du -sm /opt | cut -f1"))
    assert used < 2000, "it was stopped long before its end"
    assert run(sandbox, "rm /opt/*; true").code == 0
    assert run(sandbox, "echo on").finished.storage_note == ""


HOLD = """
import os, sys, time
held = []
for number in range(40):
    file = open(f"{sys.argv[1]}/{number}", "wb")
    os.unlink(file.name)
    file.write(bytes(20_000_000))
    file.flush()
    held.append(file)
time.sleep(20)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may inspect a container's processes")
@pytest.mark.engine
@pytest.mark.parametrize("place", ["/opt", "/var/tmp", "/workspace"])
def test_deleted_open_files_are_counted(make: Make, own: bool, place: str) -> None:
    sandbox = make(own).sandbox
    sandbox.write("hold.py", HOLD.encode())
    result = run(sandbox, f"python3 hold.py {place}")
    if own and place != "/opt":
        assert b"No space left on device" in result.stderr
    else:
        assert result.ending == "full"
        assert "in deleted files that were still open" in result.finished.storage_note
    after = run(sandbox, "head -c 50M /dev/zero > /var/tmp/more && echo on")
    assert (after.stdout, after.finished.storage_note) == (b"on\n", "")


@own_disk
@pytest.mark.engine
@pytest.mark.parametrize("place", scratch.SCRATCH_DIRECTORIES)
def test_temporary_files_homes_and_caches_are_on_the_sandbox_disk(make: Make, place: str) -> None:
    sandbox = make(True).sandbox
    result = run(
        sandbox, f"for i in 1 2 3 4; do head -c 40M /dev/zero > {place}/$i; done; sleep 20"
    )
    assert b"No space left on device" in result.stderr
    assert result.ending == "full"
    assert "in /workspace, /tmp, caches and homes" in result.finished.storage_note
    after = run(sandbox, f"du -sm {place} | cut -f1; rm {place}/[1-4]; echo on > {place}/small")
    assert int(after.stdout) < SIZE // MEGABYTE
    assert (after.code, after.finished.storage_note) == (0, "")


@pytest.mark.engine
def test_directories_start_with_the_contents_of_the_image(
    make: Make, own: bool, image: str
) -> None:
    folder, sandbox, _ = make(own)
    owned = "%p %m %U %G"  # the size of a directory is a matter of its file system
    tell = f"-type d -printf '{owned}\\n' -o -printf '{owned} %s %l\\n'"
    look = f"find {' '.join(scratch.SCRATCH_DIRECTORIES)} {tell} | sort"
    as_built = said("docker", "run", "--rm", "--network", "none", image, "bash", "-c", look)
    assert say(sandbox, look) == as_built.strip()
    assert sorted(path.name for path in folder.workspace.iterdir()) == ["input", "output"]


@own_disk
@pytest.mark.engine
def test_directories_that_differ_in_an_image_are_left_alone(
    engine: docker.DockerClient, image: str, data: DataFolder
) -> None:
    """Much in a home is not copied for each sandbox, and a link is not mounted over."""
    large = "head -c 9M /dev/zero > /root/large"
    built = f"FROM {image}\nRUN {large} && rmdir /home && ln -s /srv /home && rm -r /var/cache\n"
    other, _ = engine.images.build(fileobj=io.BytesIO(built.encode()), rm=True)
    folder = data.path / "sandboxes" / "other"
    assert volume.create(folder, SIZE)
    spec = ContainerSpec(str(other.id), "test", "other", folder / "workspace")
    try:
        with closing(DockerSandbox.create(engine, spec)) as sandbox:
            assert say(sandbox, "stat -c %s /root/large; readlink /home") == "9437184\n/srv"
            mounted = set(say(sandbox, "findmnt -n -l -o TARGET -t ext4").split())
    finally:
        engine.images.remove(str(other.id), force=True)
    assert mounted & set(scratch.SCRATCH_DIRECTORIES) == {"/tmp", "/var/tmp", "/var/lib/apt/lists"}


@own_disk
@pytest.mark.engine
def test_directories_survive_a_stop_and_are_fresh_in_a_new_sandbox(
    machine: Machine, make: Make
) -> None:
    folder, sandbox, _ = make(True)
    run(sandbox, "touch /tmp/kept /root/kept /workspace/kept")
    sandbox.stop()
    woken = taken(machine(True, 0), folder)
    assert say(woken, "ls /tmp/kept /root/kept /workspace/kept | wc -l") == "3"
    assert isinstance(woken, DockerSandbox)
    woken.stop()
    lifecycle.remove(docker.from_env(), woken.container)
    remade = taken(machine(True, 0), folder)
    assert run(remade, "ls /tmp/kept /root/kept /workspace/kept").stdout == b"/workspace/kept\n"
    remade.close()


@pytest.mark.engine
def test_background_writers_are_stopped_between_commands(make: Make, own: bool) -> None:
    folder, sandbox, _ = make(own)
    run(sandbox, "(until [ -e go ]; do sleep 0.05; done; cat /dev/zero > big) & echo $! > job")
    (folder.workspace / "go").touch()
    assert eventually(lambda: run(sandbox, "kill -0 $(cat job)").code != 0, 20)


@pytest.mark.long
@pytest.mark.engine
def test_a_process_that_freezes_the_supervisor_is_killed(make: Make) -> None:
    sandbox = make(False).sandbox
    fill = "while :; do head -c 20M /dev/zero > /opt/$RANDOM; done"
    result = run(sandbox, f"kill -STOP $PPID; {fill}", timeout=60)
    assert result.ending == "full"
    assert run(sandbox, "rm /opt/*; echo on").stdout == b"on\n"


@pytest.mark.engine
def test_a_file_larger_than_the_disk_is_refused_immediately(make: Make, own: bool) -> None:
    sandbox = make(own).sandbox
    for place in ("/opt/large", "large"):
        assert b"File size limit" in run(sandbox, f"truncate -s 101M {place}").stderr
        assert b"not supported" in run(sandbox, f"fallocate -l 50M {place}").stderr


@pytest.mark.engine
def test_low_host_space_stops_commands_but_allows_deletion(
    engine: docker.DockerClient, image: str, tmp_path: Path
) -> None:
    floor = 2 * shutil.disk_usage(tmp_path).free
    workspace = tmp_path / "sandboxes" / "one" / "workspace"
    spec = ContainerSpec(
        image, "test", "floor", workspace, count_usage=bytes_on_disk, min_free=floor
    )
    with closing(DockerSandbox.create(engine, spec)) as sandbox:
        assert run(sandbox, "echo on").stdout == b"on\n"
        result = run(sandbox, "head -c 300M /dev/urandom > big; sleep 20")
        assert result.ending == "full"
        assert "disk of the host machine" in result.finished.storage_note
        assert run(sandbox, "rm big").code == 0


@own_disk
@pytest.mark.engine
def test_a_few_files_are_copied_into_a_warm_sandbox(
    make: Make,
) -> None:
    folder, sandbox, draft = make(True, 1, little=1000)
    assert say(sandbox, "wc -c < input/little") == "1000"
    assert draft != folder.sandbox


@own_disk
@pytest.mark.engine
def test_large_files_are_not_copied(make: Make) -> None:
    folder, sandbox, draft = make(True, 1, large=70 * MEGABYTE)
    assert say(sandbox, "wc -c < input/large") == str(70 * MEGABYTE)
    assert draft == folder.sandbox


@own_disk
def test_a_run_with_an_upload_in_progress_is_not_moved(data: DataFolder) -> None:
    computers = DockerSandboxProvider(replace(load({}), warm_sandboxes=0), data)
    folder = RunFolder.create(data.path, computers.create_workspace())
    staging = folder.sandbox_folder / STAGING
    staging.mkdir()
    (staging / "upload-0.json").touch()
    assert is_cheap_to_move(folder)
    (staging / "upload-1").touch()
    assert not is_cheap_to_move(folder)
    computers.close()


@own_disk
@pytest.mark.engine
def test_removing_a_run_frees_its_disk(make: Make) -> None:
    folder, sandbox, _ = make(True)
    run(sandbox, "head -c 30M /dev/urandom > big; sync")
    image = volume.disk_image(folder.sandbox_folder)
    sandbox.close()
    removal = RunDeleter(folder.data, BlobStore(folder.data / "blobs"), lambda _: None)
    assert removal.freed_bytes([folder.id]) > 30 * MEGABYTE
    assert removal.delete([folder.id]) > 30 * MEGABYTE
    assert not image.exists()
    assert not folder.sandbox_folder.exists()


def said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
