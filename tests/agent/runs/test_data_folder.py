"""The data folder: its lock, its instance id and its permissions."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from agent.data_folder import DataFolder, candidate_folders, lock_unused_subfolders
from agent.errors import DataFolderLocked


def permissions(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_only_the_owner_can_read_the_data_folder(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o755)
    with DataFolder(tmp_path / "data") as data:
        workspace = data.workspace("abc")
        assert workspace == tmp_path / "data" / "sandboxes" / "abc" / "workspace"
        assert {
            permissions(data.path),
            permissions(workspace.parent),
            permissions(workspace.parent.parent),
        } == {0o700}


def test_the_instance_id_is_unique_and_persistent(tmp_path: Path) -> None:
    with DataFolder(tmp_path / "one") as first, DataFolder(tmp_path / "two") as other:
        assert first.instance_id != other.instance_id
    with DataFolder(tmp_path / "one") as reopened:
        assert reopened.instance_id == first.instance_id


def test_a_second_lock_attempt_explains_what_to_do(tmp_path: Path) -> None:
    data = DataFolder(tmp_path)
    with pytest.raises(DataFolderLocked, match="Another instance"):
        DataFolder(tmp_path)
    data.close()
    data.close()
    DataFolder(tmp_path).close()


@pytest.mark.contract
def test_the_lock_excludes_other_processes_and_ends_with_its_holder(tmp_path: Path) -> None:
    hold_lock = (
        "import sys; from pathlib import Path; from agent.data_folder import DataFolder; "
        "held = DataFolder(Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", hold_lock, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(DataFolderLocked):
            DataFolder(tmp_path)
        process.kill()
    DataFolder(tmp_path).close()


def test_unlocked_data_folders_are_found(tmp_path: Path) -> None:
    _, first, second, third, *_ = candidate_folders(tmp_path)
    with DataFolder(first) as locked, DataFolder(second) as unlocked, DataFolder(tmp_path) as outer:
        unlocked.close()
        for each in (locked, outer):
            assert [folder.path for folder in lock_unused_subfolders(each)] == [second]
        assert not third.exists()
    with DataFolder(second):
        pass
