"""The archive preview: listing, bounded extraction of one member, and hostile archives."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from typing import Any

import pytest
from playwright.sync_api import expect

from sandbox_ui.preview.base import (
    BinaryPreview,
    JsonPreview,
    Preview,
    PreviewError,
    PreviewRequest,
)
from sandbox_ui.preview.data import archive, archive_reader
from tests.sandbox_ui.preview.file_viewer import FileViewer

HOSTILE = "<img src=x onerror=window.hacked=1>"
TABLE = b"a,b\n1,two\n"


def make_zip(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new_archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name, (2024, 5, 1, 12, 30, 0))
            new_archive.writestr(info, content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def make_tar(mode: str = "w") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as new_archive:  # type: ignore[call-overload]
        for name, kind, target in (
            ("folder", tarfile.DIRTYPE, ""),
            ("folder/link", tarfile.SYMTYPE, "/etc/passwd"),
            ("dev", tarfile.CHRTYPE, ""),
        ):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            new_archive.addfile(member)
        member = tarfile.TarInfo("folder/t.csv")
        member.size = len(TABLE)
        new_archive.addfile(member, io.BytesIO(TABLE))
    return buffer.getvalue()


def render(content: bytes, name: str = "a.zip", **options: str) -> Preview:
    return archive.view(io.BytesIO(content), PreviewRequest(name, len(content), options))


def archive_data(content: bytes, name: str = "a.zip", **options: str) -> dict[str, Any]:
    answer = render(content, name, **options)
    assert isinstance(answer, JsonPreview)
    return answer.data


def test_a_zip_is_listed_with_sizes_and_times() -> None:
    data = archive_data(make_zip({"a/": b"", "a/b.txt": b"x" * 1000}))
    folder, file = data["entries"]
    assert folder[4] == "folder"
    assert file[:2] == ["a/b.txt", 1000]
    assert file[2] < 100
    assert file[3] == "2024-05-01 12:30"
    assert (data["files"], data["unpacked_size"], data["total"]) == (1, 1000, 2)


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_a_tar_is_listed_with_links_and_devices(mode: str) -> None:
    data = archive_data(make_tar(mode), "a.tgz")
    assert [[row[0], row[4], row[5]] for row in data["entries"]] == [
        ["folder", "folder", ""],
        ["folder/link", "link", "/etc/passwd"],
        ["dev", "device", ""],
        ["folder/t.csv", "", ""],
    ]
    assert archive_data(make_tar(mode), "a.tgz", member="3")["view"]["rows"] == [[1, "1", "two"]]
    with pytest.raises(PreviewError, match="link"):
        archive_data(make_tar(mode), "a.tgz", member="1")


@pytest.mark.parametrize(("compressor", "extension"), [(gzip, "gz"), (bz2, "bz2"), (lzma, "xz")])
def test_a_single_compressed_file_is_listed_as_one_member(compressor: Any, extension: str) -> None:
    content = compressor.compress(TABLE)
    data = archive_data(content, f"t.csv.{extension}")
    assert [row[0] for row in data["entries"]] == ["t.csv"]
    inner = archive_data(content, f"t.csv.{extension}", member="0")
    assert (inner["kind"], inner["name"]) == ("table", "t.csv")


def test_a_member_is_previewed_by_its_kind_and_downloaded() -> None:
    content = make_zip({"t.csv": TABLE, "n.txt": b"hello"})
    assert archive_data(content, member="0", area="0,0,0,1")["view"] == {"text": "1\ttwo"}
    assert archive_data(content, member="1")["kind"] == "text"
    assert archive_data(content, member="1", member_as="hex")["kind"] == "hex"
    download = render(content, member="1", raw="1")
    assert download == BinaryPreview(b"hello", "application/octet-stream")


def test_a_nested_archive_is_only_downloaded() -> None:
    inner = make_zip({"x": b"y"})
    content = make_zip({"inner.zip": inner})
    with pytest.raises(PreviewError, match="inside an archive"):
        archive_data(content, member="0")
    download = render(content, member="0", raw="1")
    assert isinstance(download, BinaryPreview)
    assert download.content == inner


def test_names_outside_the_archive_and_duplicates_are_only_listed() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as new_archive:
        for name, text in (("../../x", "1"), ("/abs", "2"), ("twice", "3"), ("twicf", "4")):
            new_archive.writestr(name, text)
    content = buffer.getvalue().replace(b"twicf", b"twice")
    data = archive_data(content)
    assert [row[0] for row in data["entries"]] == ["../../x", "/abs", "twice", "twice"]
    assert data["notes"] == ["2 names point outside the archive and are only listed."]
    assert [archive_data(content, member=at)["size"] for at in "23"] == [1, 1]
    download = render(content, member="3", raw="1")
    assert isinstance(download, BinaryPreview)
    assert download.content == b"4"


def test_a_decompression_bomb_is_listed_but_not_unpacked() -> None:
    content = make_zip({"bomb": bytes(archive_reader.MAX_MEMBER_BYTES + 1)})
    assert archive_data(content)["unpacked_size"] == archive_reader.MAX_MEMBER_BYTES + 1
    with pytest.raises(PreviewError, match="larger than 40 MB"):
        render(content, member="0", raw="1")
    alone = gzip.compress(bytes(archive_reader.MAX_MEMBER_BYTES + 1))
    with pytest.raises(PreviewError, match="larger than 40 MB"):
        render(alone, "bomb.gz", member="0", raw="1")


def test_a_compressed_tar_is_unpacked_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as new_archive:
        for at in range(40):
            member = tarfile.TarInfo(f"{at}")
            member.size = 1024**2
            new_archive.addfile(member, io.BytesIO(bytes(member.size)))
    monkeypatch.setattr(archive_reader, "MAX_UNPACKED_BYTES", 10 * 1024**2)
    data = archive_data(buffer.getvalue(), "a.tar.gz")
    assert data["truncated"]
    assert 5 < data["total"] < 15
    assert "only its beginning" in data["notes"][0]


def test_an_encrypted_member_is_reported() -> None:
    content = bytearray(make_zip({"secret": b"x"}))
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    data = archive_data(bytes(content))
    assert data["entries"][0][4] == "locked"
    with pytest.raises(PreviewError, match="password"):
        archive_data(bytes(content), member="0")


def test_a_damaged_member_is_reported() -> None:
    content = bytearray(make_zip({"a.txt": b"hello " * 100}))
    content[36:40] = b"\xff" * 4
    with pytest.raises(PreviewError, match="damaged or truncated"):
        archive_data(bytes(content), member="0")


def test_a_truncated_archive_is_listed_partially() -> None:
    with pytest.raises(PreviewError, match="damaged or truncated"):
        archive_data(make_zip({"a": b"x" * 100})[:-30])
    whole = make_tar()
    cut = archive_data(whole[:1200], "a.tar")
    assert cut["total"] in (1, 2)
    assert "damaged or truncated" in cut["notes"][0]
    with pytest.raises(PreviewError, match="damaged or truncated"):
        archive_data(gzip.compress(TABLE)[:12], "t.csv.gz")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x1f\x8b", b"nothing of the kind"])
def test_an_invalid_archive_is_rejected(content: bytes) -> None:
    with pytest.raises(PreviewError):
        archive_data(content)


@pytest.mark.browser
def test_folders_collapse_and_members_open(viewer: FileViewer) -> None:
    files = {"data/t.csv": TABLE, "data/deep/n.txt": b"hello", f"{HOSTILE}/x": b"1"}
    viewer.upload("a.zip", make_zip(files))
    viewer.open()
    canvas = viewer.show("a.zip")
    tree = canvas.get_by_role("tree")
    expect(viewer.preview.locator(".header small").first).to_contain_text("3 files")
    expect(tree.get_by_role("treeitem", name=HOSTILE)).to_be_visible()
    tree.get_by_role("treeitem", name="deep").click()
    expect(tree.get_by_role("treeitem", name="n.txt")).to_be_hidden()
    tree.get_by_role("treeitem", name="t.csv").click()
    expect(canvas.get_by_role("gridcell", name="two")).to_be_visible()
    canvas.get_by_role("button", name="Back to archive").click()
    tree.get_by_role("treeitem", name="deep").click()
    tree.get_by_role("treeitem", name="n.txt").click()
    expect(canvas).to_contain_text("hello")
    with viewer.page.expect_download() as download:
        canvas.get_by_role("link", name="Download").click()
    assert download.value.suggested_filename == "n.txt"
    assert download.value.path().read_bytes() == b"hello"


@pytest.mark.browser
def test_a_member_is_extracted_to_the_folder_of_its_archive(viewer: FileViewer) -> None:
    viewer.upload("a.zip", make_zip({"deep/naïve #1.txt": b"hello"}))
    viewer.open()
    canvas = viewer.show("a.zip")
    canvas.get_by_role("treeitem", name="naïve #1.txt").click()
    canvas.get_by_role("button", name="Extract to workspace").click()
    expect(viewer.studio.file("naïve #1.txt")).to_be_visible()
    expect(viewer.show("naïve #1.txt")).to_contain_text("hello")


@pytest.mark.browser
def test_the_archive_tree_works_by_keyboard(viewer: FileViewer) -> None:
    viewer.upload("a.zip", make_zip({"a/one.txt": b"first", "b/two.txt": b"second"}))
    viewer.open()
    canvas = viewer.show("a.zip")
    canvas.get_by_role("tree").focus()
    for key in ("ArrowLeft", "ArrowDown", "ArrowRight", "Enter"):
        viewer.page.keyboard.press(key)
    expect(canvas).to_contain_text("second")
    viewer.page.keyboard.press("Escape")
    expect(canvas.get_by_role("treeitem", name="a", exact=True)).to_have_attribute(
        "aria-expanded", "false"
    )


@pytest.mark.browser
def test_invisible_characters_in_names_are_escaped(viewer: FileViewer) -> None:
    viewer.upload("a.zip", make_zip({"gpj.\u202etxt.exe": b"x", "../out": b"y"}))
    viewer.open()
    canvas = viewer.show("a.zip")
    expect(canvas.get_by_role("treeitem", name="gpj.⟨U+202E⟩txt.exe")).to_be_visible()
    expect(canvas).to_contain_text("One name points outside")


@pytest.mark.browser
def test_a_hundred_thousand_entries_render_few_elements(viewer: FileViewer) -> None:
    viewer.upload("a.zip", make_zip({f"file{at:06}": b"" for at in range(100_000)}))
    viewer.open()
    canvas = viewer.show("a.zip")
    expect(viewer.preview.locator(".header small").first).to_contain_text(
        "100,000 files", timeout=60_000
    )
    sheet = canvas.locator(".content")
    expect(sheet).to_have_attribute("style", "height: 2.7e+06px;", timeout=60_000)
    canvas.get_by_role("tree").focus()
    viewer.page.keyboard.press("End")
    expect(canvas.get_by_role("treeitem", name="file099999")).to_be_visible()
    assert canvas.locator("*").count() < 1000


@pytest.mark.browser
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.zip", make_zip({}), "empty"),
        ("nothing.zip", b"", "This file is empty."),
        ("cut.zip", make_zip({"a": b"x" * 99})[:-25], "damaged or truncated"),
        ("text.tar", b"hello " * 200, "damaged or truncated"),
        ("cut.tgz", make_tar("w:gz")[:60], "damaged or truncated"),
    ],
    ids=["empty", "nothing", "cut zip", "text", "cut tar"],
)
def test_empty_damaged_and_mislabelled_archives_are_reported(
    viewer: FileViewer, name: str, content: bytes, message: str
) -> None:
    viewer.upload(name, content)
    viewer.open()
    canvas = viewer.show(name)
    if message == "empty":
        expect(canvas.locator(".empty")).to_be_visible()
    else:
        expect(canvas).to_contain_text(message)
