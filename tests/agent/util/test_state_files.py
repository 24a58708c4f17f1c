"""Damaged state files are renamed and logged, and replaced by new ones."""

from pathlib import Path

import pytest

from agent.data_folder import DataFolder
from agent.errors import NotStored
from agent.util.state_files import rename_damaged
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.transfer.uploads import find, start
from sandbox_ui.auth.api_tokens import Tokens
from sandbox_ui.auth.signing import Signer

DAMAGE = [b"", b"{", b"null", b"[1]", b"\xff\xfe", b'[{"id":"x"}]']


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_tokens_are_rejected_and_new_ones_work(
    tmp_path: Path, damage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    tokens = Tokens(tmp_path)
    _, old = tokens.create("u:ann", "laptop")
    (tmp_path / "tokens.json").write_bytes(damage)
    assert tokens.find_owner(old) is None
    assert (tmp_path / "tokens.json.damaged-1").read_bytes() == damage
    assert "tokens.json cannot be read" in caplog.text
    _, new = tokens.create("u:ann", "laptop")
    assert tokens.find_owner(new) == "u:ann"


def test_a_damaged_secret_is_backed_up(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "secret").write_bytes(b"short")
    signed = Signer.from_data_folder(tmp_path).sign("p", "text")
    assert Signer.from_data_folder(tmp_path).verify("p", signed) == "text"
    assert (tmp_path / "secret.damaged-1").read_bytes() == b"short"
    assert "secret cannot be read" in caplog.text


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe", b"../..", b"0" * 31])
def test_a_damaged_instance_is_replaced(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "instance").write_bytes(damage)
    with DataFolder(tmp_path) as data:
        instance_id = data.instance_id
    assert (tmp_path / "instance.damaged-1").read_bytes() == damage
    with DataFolder(tmp_path) as data:
        assert data.instance_id == instance_id


@pytest.mark.parametrize(
    "damage", [b"[]", b"{}", b"5", b'{"path":5,"size":1,"done":null}', b"\xff"]
)
def test_an_upload_with_damaged_metadata_restarts(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "workspace").mkdir()
    workspace = Workspace(tmp_path / "workspace")
    upload = start(workspace, RelPath("input/a"), 10).id
    (metadata,) = tmp_path.rglob(f"upload-{upload}.json")
    metadata.write_bytes(damage)
    with pytest.raises(NotStored):
        find(workspace, upload)


def test_a_second_damaged_file_does_not_replace_the_first(tmp_path: Path) -> None:
    for content in ("one", "two"):
        (tmp_path / "f").write_text(content)
        rename_damaged(tmp_path / "f", "why")
    contents = [(tmp_path / f"f.damaged-{number}").read_text() for number in (1, 2)]
    assert contents == ["one", "two"]
