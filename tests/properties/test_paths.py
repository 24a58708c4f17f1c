"""Path validation and resolution, compared with a simple walk of the tree."""

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

from hypothesis import strategies as st

from agent.errors import WorkspaceError
from agent.workspace import paths
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.tree import name_candidates, walk
from tests.properties import property_test

NAMES = st.sampled_from([b"a", b"b", b"c", b"\xff", "é".encode(), b"..", b".", b"", b"a\0", b"%2e"])
PATHS = st.lists(NAMES, min_size=1, max_size=5).map(b"/".join)
TEXT = st.text(st.characters(), max_size=30)
PARTS = [b"a", b"b", b"c", b"\xff", "é".encode()]
TREES = st.lists(
    st.tuples(
        st.lists(st.sampled_from(PARTS), min_size=1, max_size=4).map(b"/".join),
        st.sampled_from(["file", "folder", "fifo", "in", "out", "up", "self"]),
    ),
    max_size=14,
)


@property_test(st.one_of(TEXT, PATHS.map(os.fsdecode), PATHS))
def test_any_path_is_rejected_or_stays_below_the_root(text: str | bytes) -> None:
    try:
        path = RelPath(text)
    except WorkspaceError:
        return
    assert os.fsencode(path) == (text if isinstance(text, bytes) else os.fsencode(text))
    assert RelPath.from_url(path.to_url()) == path
    inside = os.path.normpath(os.path.join(b"/root", os.fsencode(path)))  # noqa: PTH118
    assert inside == b"/root/" + os.fsencode(path)
    path.display.encode()


@property_test(
    TEXT
    | st.just("a\ud800")
    | PATHS.map(lambda raw: raw.decode("latin-1"))
    | st.binary(max_size=20)
)
def test_any_url_path_is_parsed_or_rejected(quoted: str | bytes) -> None:
    with suppress(WorkspaceError):
        RelPath.from_url(quoted)


@property_test(NAMES.filter(lambda raw: raw and b"\0" not in raw), st.integers(1, 260))
def test_name_candidates_are_distinct_and_within_the_length_limit(name: bytes, times: int) -> None:
    expected = os.fsdecode(name * times)[:255]
    found = [each for _, each in zip(range(30), name_candidates(expected), strict=False)]
    assert found[0] == expected
    assert len(set(found)) == len(found)
    assert all(len(os.fsencode(each)) <= 255 for each in found[1:])


def create_tree(root: Path, outside: Path, tree: list[tuple[bytes, str]]) -> None:
    """Create the tree, as far as possible in this order and without following links."""
    link_targets = {"in": "a", "out": str(outside), "up": "..", "self": "."}
    for name, kind in tree:
        target = root / os.fsdecode(name)
        inner = [target.parent, *target.parent.parents]
        if any(each.is_symlink() for each in inner if each.is_relative_to(root)):
            continue
        with suppress(FileExistsError, NotADirectoryError):
            target.parent.mkdir(parents=True, exist_ok=True)
            if kind == "file":
                with target.open("xb") as file:
                    file.write(b"inside")
            elif kind == "folder":
                target.mkdir()
            elif kind == "fifo":
                os.mkfifo(target)
            else:
                target.symlink_to(link_targets[kind])


def kind_by_lstat(root: Path, path: bytes) -> str:
    """The kind of a path by a walk with ``lstat``, which follows no links."""
    at, parts = os.fsencode(root), path.split(b"/")
    for number, name in enumerate(parts, start=1):
        at = os.path.join(at, name)  # noqa: PTH118
        try:
            mode = os.lstat(at).st_mode
        except OSError:
            return "nothing"
        if number < len(parts) and not stat.S_ISDIR(mode):
            return "nothing"
    return "file" if stat.S_ISREG(mode) else "other"


@property_test(TREES, PATHS, st.booleans())
def test_a_path_resolves_like_a_walk_that_follows_no_links(
    tree: list[tuple[bytes, str]], path: bytes, kernel: bool
) -> None:
    """Both with openat2 and with the fallback, in trees with links of every direction."""
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.object(paths, "HAS_OPENAT2", kernel and paths.HAS_OPENAT2),
    ):
        root, outside = Path(folder, "root"), Path(folder, "outside")
        outside.mkdir()
        for name in PARTS:
            (outside / os.fsdecode(name)).write_bytes(b"secret")
        root.mkdir()
        create_tree(root, outside, tree)
        workspace = Workspace(root)
        try:
            with workspace.open_read(RelPath(path)) as file:
                content = file.read()
        except WorkspaceError:
            content = b""
        is_file = b"\0" not in path and b".." not in path and kind_by_lstat(root, path) == "file"
        expected = is_file and not {b"", b"."} & set(path.split(b"/"))
        assert content == (b"inside" if expected else b"")
        with paths.host_folder_fd(root) as opened:
            found = [os.fsencode(each) for each, _ in walk(opened, "")]
        assert all(kind_by_lstat(root, each) != "nothing" for each in found)
        with suppress(WorkspaceError):
            workspace.remove(RelPath(path))
            assert kind_by_lstat(root, path) == "nothing"
        assert all((outside / os.fsdecode(name)).read_bytes() == b"secret" for name in PARTS)
