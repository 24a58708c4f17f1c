"""The contract of every sandbox for files; part of ``SandboxSuite``."""

import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from agent.errors import ToolError
from agent.sandbox.base import Sandbox
from tests.contract.sandbox_helpers import MEGABYTE, check_output, list_entries


class SandboxFilesSuite:
    def test_a_file_of_10_mb_is_written_and_read(self, sandbox: Sandbox) -> None:
        data = bytes(range(256)) * (10 * MEGABYTE // 256)
        sandbox.write("big", data)
        assert (sandbox.workspace / "big").stat().st_size == len(data)
        assert sandbox.read("big", limit=len(data)) == data

    @pytest.mark.parametrize(
        "name",
        ["a b.txt", 'it\'s "so"', "new\nline", "$(touch owned)", "`x`;&|", "-rf", "é☃", "*"],
    )
    def test_any_file_name_works(self, sandbox: Sandbox, name: str) -> None:
        sandbox.write(f"odd/{name}", b"content")
        assert sandbox.read(f"odd/{name}", limit=100) == b"content"
        assert [entry.path.rpartition("/")[2] for entry in list_entries(sandbox, "odd")] == [name]
        assert (sandbox.workspace / "odd" / name).read_bytes() == b"content"
        sandbox.remove(f"odd/{name}")
        assert sandbox.kind(f"odd/{name}") == "missing"

    def test_a_non_utf8_name_is_listed_and_read(self, sandbox: Sandbox) -> None:
        check_output(sandbox, "mkdir odd; echo x > odd/$'\\xff'")
        (entry,) = list_entries(sandbox, "odd")
        assert sandbox.read(entry.path, limit=10) == b"x\n"

    def test_a_read_is_limited(self, sandbox: Sandbox) -> None:
        sandbox.write("f", b"12345")
        assert sandbox.read("f", limit=5) == b"12345"
        with pytest.raises(ToolError, match="larger"):
            sandbox.read("f", limit=4)

    @pytest.mark.parametrize("path", ["/dev/zero", "pipe", "link-to-pipe"])
    def test_special_files_are_refused_without_blocking(self, sandbox: Sandbox, path: str) -> None:
        check_output(sandbox, "mkfifo pipe; ln -s pipe link-to-pipe")
        assert sandbox.kind(path) == "other"
        with pytest.raises(ToolError, match="not a regular file"):
            sandbox.read(path, limit=10)
        with pytest.raises(ToolError, match="not a regular file"):
            sandbox.write(path, b"x")

    def test_missing_files_and_folders_raise_named_errors(self, sandbox: Sandbox) -> None:
        assert sandbox.kind("none") == "missing"
        assert sandbox.kind("input") == "folder"
        with pytest.raises(ToolError, match="none does not exist"):
            sandbox.read("none", limit=10)
        with pytest.raises(ToolError, match="input is a folder"):
            sandbox.read("input", limit=10)
        with pytest.raises(ToolError, match="input is a folder"):
            sandbox.write("input", b"")
        with pytest.raises(ToolError, match="NUL"):
            sandbox.read("a\0b", limit=10)

    @pytest.mark.parametrize(
        ("path", "message"),
        [
            ("file/below", "not a folder"),
            ("new/folder/", "is a folder"),
            ("x" * 300, "too long"),
        ],
    )
    def test_a_failed_write_creates_nothing(
        self, sandbox: Sandbox, path: str, message: str
    ) -> None:
        check_output(sandbox, "echo > file")
        for exclusive in (True, False):
            with pytest.raises(ToolError, match=message):
                sandbox.write(path, b"x", exclusive=exclusive)
        assert check_output(sandbox, "ls -A") == "file\ninput\noutput"

    def test_a_rewritten_file_keeps_its_mode_and_a_new_one_has_the_default(
        self, sandbox: Sandbox
    ) -> None:
        check_output(sandbox, "echo old > script; chmod 751 script")
        sandbox.write("script", b"new")
        sandbox.write("deep/new", b"new")
        modes = [(sandbox.workspace / n).stat().st_mode for n in ("script", "deep/new")]
        assert [stat.S_IMODE(mode) for mode in modes] == [0o751, 0o644]

    def test_writing_through_a_link_changes_its_target(self, sandbox: Sandbox) -> None:
        check_output(sandbox, "echo old > target; ln -s target link; ln -s later dangling")
        sandbox.write("link", b"new")
        sandbox.write("dangling", b"made")
        links = check_output(sandbox, "readlink link dangling; cat target later")
        assert links == "target\nlater\nnewmade"

    def test_an_exclusive_write_refuses_an_existing_name(self, sandbox: Sandbox) -> None:
        sandbox.write("new", b"1", exclusive=True)
        check_output(sandbox, "ln -s nowhere dangling")
        for name in ("new", "dangling", "input"):
            with pytest.raises(ToolError, match="already exists"):
                sandbox.write(name, b"2", exclusive=True)
        assert sandbox.read("new", limit=10) == b"1"
        assert check_output(sandbox, "ls -A") == "dangling\ninput\nnew\noutput"

    def test_a_folder_is_listed_sorted_to_a_depth_without_hidden_names(
        self, sandbox: Sandbox
    ) -> None:
        check_output(sandbox, "mkdir -p t/b/c/d t/.h; echo 12 > t/b/x; touch t/a t/.z; ln -s a t/l")
        entries = list_entries(sandbox, "t", 2)
        found = [f"{each.path.partition('/t/')[2]} {each.kind}" for each in entries]
        assert found == ["a file", "b folder", "b/c folder", "b/x file", "l other"]
        assert entries[3].size == 3

    def test_a_listing_stops_at_its_limit(self, sandbox: Sandbox) -> None:
        check_output(sandbox, "mkdir many; cd many; touch $(seq 1000 2999)")
        names = [each.path[-4:] for each in list_entries(sandbox, "many", limit=3)]
        assert names == ["1000", "1001", "1002"]
        assert len(list_entries(sandbox, "many", limit=10_000)) == 2000

    def test_a_folder_is_removed_recursively_without_following_links(
        self, sandbox: Sandbox
    ) -> None:
        check_output(
            sandbox, "mkdir -p gone/deep; touch gone/{1..1500} keep; ln -s ../keep gone/deep/l"
        )
        sandbox.remove("gone")
        sandbox.remove("gone")
        assert check_output(sandbox, "ls") == "input\nkeep\noutput"

    def test_two_threads_can_use_files_concurrently(self, sandbox: Sandbox) -> None:
        def use(name: str) -> str:
            for round_ in range(20):
                sandbox.write(name, name.encode() * round_)
                assert sandbox.read(name, limit=1000) == name.encode() * round_
            return name

        names = ["one", "two", "three"]
        with ThreadPoolExecutor(3) as threads:
            assert list(threads.map(use, names)) == names
