"""Directories of an image that are unpacked on the host, to be mounted into sandboxes."""

import io
import tarfile
from pathlib import Path

import pytest

from agent.errors import SandboxError
from agent.sandbox.disk import scratch


def archive(*members: tuple[str, str]) -> bytes:
    """An archive of a directory ``tmp`` with files, and links if they have a target.

    A target after ``hard:`` is that of a hard link.
    """
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for name, target in (("tmp", "/"), *members):
            member = tarfile.TarInfo(name)
            member.mode = 0o1777
            if target == "/":
                member.type = tarfile.DIRTYPE
            elif target.startswith("hard:"):
                member.type, member.linkname = tarfile.LNKTYPE, target.removeprefix("hard:")
            elif target:
                member.type, member.linkname = tarfile.SYMTYPE, target
            tar.addfile(member)
    return content.getvalue()


def test_modes_and_links_are_kept_within_their_directory(tmp_path: Path) -> None:
    packed = archive(("tmp/a", ""), ("tmp/link", "/etc"), ("tmp/b", "hard:tmp/a"))
    for home in ("first", "second"):
        unpacked = scratch._unpack(packed, tmp_path / home)
        assert unpacked == tmp_path / home / "tmp"
        assert unpacked.stat().st_mode & 0o7777 == 0o1777
        assert (unpacked / "link").readlink() == Path("/etc")
        assert (unpacked / "b").samefile(unpacked / "a")
        assert (unpacked / "b").stat().st_nlink == 2


@pytest.mark.parametrize(
    "members",
    [
        [("../outside", "")],
        [("/outside", "")],
        [("tmp/link", ".."), ("tmp/link/../../outside", "")],
        [("tmp/link", "../.."), ("tmp/link/outside", "")],
        [("tmp/link", "../.."), ("tmp/a", ""), ("tmp/link", ""), ("tmp/./link/outside", "")],
        [("tmp/link", "../../outside"), ("tmp/link", "")],
        [("tmp/link", "../.."), ("tmp/b", "hard:tmp/link"), ("tmp/b/outside", "")],
        [("tmp/outside", "hard:../secret")],
        [("tmp/outside", "hard:/etc/hostname")],
    ],
)
def test_nothing_is_unpacked_outside(tmp_path: Path, members: list[tuple[str, str]]) -> None:
    with pytest.raises(SandboxError, match="leads out of its directory"):
        scratch._unpack(archive(*members), tmp_path / "home")
    assert not list(tmp_path.rglob("outside"))
