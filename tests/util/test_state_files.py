"""Small state files that are damaged: set aside and named in the log, and the rest works."""

from pathlib import Path

import httpx
import pytest

from agent.data_folder import DataFolder
from agent.errors import NotKept
from agent.settings import Settings
from agent.util.state_files import set_aside
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.transfer.uploads import begin, find
from sandbox_ui.auth.signing import Signer
from sandbox_ui.auth.tokens import Tokens
from tests.support.local_provider import LocalMachine
from tests.support.server import create, served

DAMAGE = [b"", b"{", b"null", b"[1]", b"\xff\xfe", b'[{"id":"x"}]']


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_tokens_open_nothing_and_new_ones_work(
    tmp_path: Path, damage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    tokens = Tokens(tmp_path)
    _, old = tokens.make("u:ann", "laptop")
    (tmp_path / "tokens.json").write_bytes(damage)
    assert tokens.owner(old) is None
    assert (tmp_path / "tokens.json.damaged-1").read_bytes() == damage
    assert "tokens.json cannot be read" in caplog.text
    _, new = tokens.make("u:ann", "laptop")
    assert tokens.owner(new) == "u:ann"


def test_damaged_tokens_do_not_keep_new_ones_from_being_made(tmp_path: Path) -> None:
    (tmp_path / "tokens.json").write_bytes(b"{")
    _, text = Tokens(tmp_path).make("u:ann", "laptop")
    assert Tokens(tmp_path).owner(text) == "u:ann"
    assert (tmp_path / "tokens.json.damaged-1").read_bytes() == b"{"


def test_a_bearer_of_a_damaged_file_is_refused_as_unknown(tmp_path: Path) -> None:
    _, text = Tokens(tmp_path).make("", "laptop")
    settings = Settings(data=tmp_path, hosts=("studio.example",))
    with served(create(settings, LocalMachine(tmp_path))) as address:
        program = {"Authorization": f"Bearer {text}"}
        assert httpx.get(f"{address}/api/runs", headers=program).status_code == 200
        (tmp_path / "tokens.json").write_bytes(b"[{]")
        assert httpx.get(f"{address}/api/runs", headers=program).status_code == 401


def test_a_damaged_secret_is_kept_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "secret").write_bytes(b"short")
    signed = Signer.of(tmp_path).sign("p", "text")
    assert Signer.of(tmp_path).read("p", signed) == "text"
    assert (tmp_path / "secret.damaged-1").read_bytes() == b"short"
    assert "secret cannot be read" in caplog.text


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe", b"../..", b"0" * 31])
def test_a_damaged_instance_is_replaced(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "instance").write_bytes(damage)
    with DataFolder(tmp_path) as held:
        known = held.instance
    assert (tmp_path / "instance.damaged-1").read_bytes() == damage
    with DataFolder(tmp_path) as held:
        assert held.instance == known


@pytest.mark.parametrize(
    "damage", [b"[]", b"{}", b"5", b'{"path":5,"size":1,"done":null}', b"\xff"]
)
def test_an_upload_whose_notes_are_damaged_is_begun_anew(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "workspace").mkdir()
    workspace = Workspace(tmp_path / "workspace")
    upload = begin(workspace, RelPath("input/a"), 10).id
    (notes,) = tmp_path.rglob(f"upload-{upload}.json")
    notes.write_bytes(damage)
    with pytest.raises(NotKept):
        find(workspace, upload)


def test_a_second_damaged_file_does_not_replace_the_first(tmp_path: Path) -> None:
    for content in ("one", "two"):
        (tmp_path / "f").write_text(content)
        set_aside(tmp_path / "f", "why")
    kept = [(tmp_path / f"f.damaged-{number}").read_text() for number in (1, 2)]
    assert kept == ["one", "two"]
