"""The archive preview: listing, bounded extraction of one member, and hostile archives."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from sandbox_ui.preview.base import BinaryPreview, PreviewError
from sandbox_ui.preview.data import archive
from tests.sandbox_ui.preview.data.archives import make_zip
from tests.sandbox_ui.preview.documents.pdf_files import PdfPage, make_pdf
from tests.sandbox_ui.preview.file_viewer import FileViewer
from tests.sandbox_ui.preview.rendering import preview_data, preview_file

HOSTILE = "<img src=x onerror=window.hacked=1>"
TABLE = b"a,b\n1,two\n"


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


def archive_data(content: bytes, name: str = "a.zip", **options: str) -> dict[str, Any]:
    return preview_data(archive.view, content, name, **options)


def member(content: bytes, number: str = "0", name: str = "a.zip") -> BinaryPreview:
    return preview_file(archive.view, content, name, member=number, raw="1")


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
    inner = make_zip({"x": b"y"})
    content = make_zip({"t.csv": TABLE, "n.txt": b"hello", "inner.zip": inner})
    assert archive_data(content, member="0", area="0,0,0,1")["view"] == {"text": "1\ttwo"}
    assert archive_data(content, member="1")["kind"] == "text"
    assert archive_data(content, member="1", member_as="hex")["kind"] == "hex"
    assert member(content, "1") == BinaryPreview(b"hello", "application/octet-stream")
    with pytest.raises(PreviewError, match="inside an archive"):
        archive_data(content, member="2")
    assert member(content, "2").content == inner


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
    assert member(content, "3").content == b"4"


def test_a_decompression_bomb_is_listed_but_not_unpacked() -> None:
    content = make_zip({"bomb": bytes(archive.MAX_MEMBER_BYTES + 1)})
    assert archive_data(content)["unpacked_size"] == archive.MAX_MEMBER_BYTES + 1
    with pytest.raises(PreviewError, match="larger than 40 MB"):
        member(content)
    alone = gzip.compress(bytes(archive.MAX_MEMBER_BYTES + 1))
    with pytest.raises(PreviewError, match="larger than 40 MB"):
        member(alone, name="bomb.gz")


def test_a_compressed_tar_is_unpacked_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as new_archive:
        for at in range(40):
            member = tarfile.TarInfo(f"{at}")
            member.size = 1024**2
            new_archive.addfile(member, io.BytesIO(bytes(member.size)))
    monkeypatch.setattr(archive, "MAX_UNPACKED_BYTES", 10 * 1024**2)
    data = archive_data(buffer.getvalue(), "a.tar.gz")
    assert (data["truncated"], 5 < data["total"] < 15) == (True, True)
    assert "only its beginning" in data["notes"][0]


def test_encrypted_damaged_and_missing_members_are_reported() -> None:
    encrypted = bytearray(make_zip({"secret": b"x"}))
    encrypted[6] |= 1
    encrypted[encrypted.index(b"PK\x01\x02") + 8] |= 1
    assert archive_data(bytes(encrypted))["entries"][0][4] == "locked"
    with pytest.raises(PreviewError, match="password"):
        archive_data(bytes(encrypted), member="0")
    damaged = bytearray(make_zip({"a.txt": b"hello " * 100}))
    damaged[36:40] = b"\xff" * 4
    with pytest.raises(PreviewError, match="damaged or truncated"):
        archive_data(bytes(damaged), member="0")
    cut = archive_data(make_tar()[:1200], "a.tar")
    assert cut["total"] in (1, 2)
    assert "damaged or truncated" in cut["notes"][0]


def test_folders_collapse_and_members_open_and_are_extracted(viewer: FileViewer) -> None:
    files = {
        "data/t.csv": TABLE, "data/deep/naïve #1.txt": b"hello", f"{HOSTILE}/x": b"1",
        "gpj.\u202etxt.exe": b"x", "../out": b"y",
    }  # fmt: skip
    canvas = viewer.view("a.zip", make_zip(files))
    tree = canvas.get_by_role("tree")
    expect(viewer.details).to_contain_text("5 files")
    expect(tree.get_by_role("treeitem", name=HOSTILE)).to_be_visible()
    expect(tree.get_by_role("treeitem", name="gpj.⟨U+202E⟩txt.exe")).to_be_visible()
    expect(canvas).to_contain_text("One name points outside")
    tree.get_by_role("treeitem", name="deep").click()
    expect(tree.get_by_role("treeitem", name="naïve #1.txt")).to_be_hidden()
    tree.get_by_role("treeitem", name="t.csv").click()
    expect(canvas.get_by_role("gridcell", name="two")).to_be_visible()
    canvas.get_by_role("button", name="Back to archive").click()
    tree.get_by_role("treeitem", name="deep").click()
    tree.get_by_role("treeitem", name="naïve #1.txt").click()
    expect(canvas).to_contain_text("hello")
    with viewer.page.expect_download() as download:
        canvas.get_by_role("link", name="Download").click()
    assert download.value.suggested_filename == "naïve #1.txt"
    assert download.value.path().read_bytes() == b"hello"
    canvas.get_by_role("button", name="Extract to workspace").click()
    expect(viewer.stage.file("naïve #1.txt")).to_be_visible()
    expect(viewer.show("naïve #1.txt")).to_contain_text("hello")


def test_a_pdf_in_an_archive_is_shown(viewer: FileViewer) -> None:
    locked = (Path(__file__).parents[1] / "files" / "locked.pdf").read_bytes()
    files = {"open.pdf": make_pdf([PdfPage(["Words"])]), "locked.pdf": locked}
    canvas = viewer.view("a.zip", make_zip(files))
    page = canvas.get_by_role("region", name="Page 1")
    canvas.get_by_role("treeitem", name="open.pdf").click()
    expect(page.locator("img").first).not_to_have_js_property("naturalWidth", 0)
    expect(page).to_contain_text("Words")
    canvas.get_by_role("button", name="Back to archive").click()
    canvas.get_by_role("treeitem", name="locked.pdf").click()
    canvas.get_by_label("Password").fill("secret")
    canvas.get_by_role("button", name="Open").click()
    expect(page.locator("img").first).not_to_have_js_property("naturalWidth", 0)


def test_the_archive_tree_works_by_keyboard(viewer: FileViewer) -> None:
    canvas = viewer.view("a.zip", make_zip({"a/one.txt": b"first", "b/two.txt": b"second"}))
    canvas.get_by_role("tree").focus()
    for key in ("ArrowLeft", "ArrowDown", "ArrowRight", "Enter"):
        viewer.page.keyboard.press(key)
    expect(canvas).to_contain_text("second")
    viewer.page.keyboard.press("Escape")
    expect(canvas.get_by_role("treeitem", name="a", exact=True)).to_have_attribute(
        "aria-expanded", "false"
    )


def test_many_entries_render_few_elements(viewer: FileViewer) -> None:
    canvas = viewer.view("a.zip", make_zip({f"file{at:06}": b"" for at in range(10_000)}))
    expect(viewer.details).to_contain_text("10,000 files")
    expect(canvas.locator(".content")).to_have_attribute("style", "height: 270000px;")
    canvas.get_by_role("tree").focus()
    viewer.page.keyboard.press("End")
    expect(canvas.get_by_role("treeitem", name="file009999")).to_be_visible()
    assert canvas.locator("*").count() < 1000
