"""Archives are listed whatever they claim, and only one bounded member is unpacked at a time."""

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


def zipped(files: dict[str, bytes]) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files.items():
            info = zipfile.ZipInfo(name, (2024, 5, 1, 12, 30, 0))
            made.writestr(info, content, zipfile.ZIP_DEFLATED)
    return written.getvalue()


def tarred(mode: str = "w") -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode=mode) as made:  # type: ignore[call-overload]
        for name, kind, target in (
            ("folder", tarfile.DIRTYPE, ""),
            ("folder/link", tarfile.SYMTYPE, "/etc/passwd"),
            ("dev", tarfile.CHRTYPE, ""),
        ):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            made.addfile(member)
        member = tarfile.TarInfo("folder/t.csv")
        member.size = len(TABLE)
        made.addfile(member, io.BytesIO(TABLE))
    return written.getvalue()


def asked(content: bytes, name: str = "a.zip", **options: str) -> Preview:
    return archive.view(io.BytesIO(content), PreviewRequest(name, len(content), options))


def told(content: bytes, name: str = "a.zip", **options: str) -> dict[str, Any]:
    answer = asked(content, name, **options)
    assert isinstance(answer, JsonPreview)
    return answer.data


def test_a_zip_is_listed_with_sizes_and_times() -> None:
    data = told(zipped({"a/": b"", "a/b.txt": b"x" * 1000}))
    folder, file = data["entries"]
    assert folder[4] == "folder"
    assert file[:2] == ["a/b.txt", 1000]
    assert file[2] < 100
    assert file[3] == "2024-05-01 12:30"
    assert (data["files"], data["unpacked"], data["total"]) == (1, 1000, 2)


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_a_tar_is_listed_with_what_is_no_file(mode: str) -> None:
    data = told(tarred(mode), "a.tgz")
    assert [[row[0], row[4], row[5]] for row in data["entries"]] == [
        ["folder", "folder", ""],
        ["folder/link", "link", "/etc/passwd"],
        ["dev", "device", ""],
        ["folder/t.csv", "", ""],
    ]
    assert told(tarred(mode), "a.tgz", member="3")["view"]["rows"] == [[1, "1", "two"]]
    with pytest.raises(PreviewError, match="link"):
        told(tarred(mode), "a.tgz", member="1")


@pytest.mark.parametrize(("pack", "ending"), [(gzip, "gz"), (bz2, "bz2"), (lzma, "xz")])
def test_one_packed_file_is_its_only_member(pack: Any, ending: str) -> None:
    content = pack.compress(TABLE)
    data = told(content, f"t.csv.{ending}")
    assert [row[0] for row in data["entries"]] == ["t.csv"]
    inner = told(content, f"t.csv.{ending}", member="0")
    assert (inner["kind"], inner["name"]) == ("table", "t.csv")


def test_a_member_is_seen_by_its_kind_and_taken_as_bytes() -> None:
    content = zipped({"t.csv": TABLE, "n.txt": b"hello"})
    assert told(content, member="0", area="0,0,0,1")["view"] == {"text": "1\ttwo"}
    assert told(content, member="1")["kind"] == "text"
    assert told(content, member="1", inner="bytes")["kind"] == "bytes"
    taken = asked(content, member="1", take="1")
    assert taken == BinaryPreview(b"hello", "application/octet-stream")


def test_an_archive_within_is_not_opened_but_taken() -> None:
    inner = zipped({"x": b"y"})
    content = zipped({"inner.zip": inner})
    with pytest.raises(PreviewError, match="inside an archive"):
        told(content, member="0")
    taken = asked(content, member="0", take="1")
    assert isinstance(taken, BinaryPreview)
    assert taken.content == inner


def test_names_that_lead_out_or_come_twice_are_only_shown() -> None:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as made:
        for name, text in (("../../x", "1"), ("/abs", "2"), ("twice", "3"), ("twicf", "4")):
            made.writestr(name, text)
    content = written.getvalue().replace(b"twicf", b"twice")
    data = told(content)
    assert [row[0] for row in data["entries"]] == ["../../x", "/abs", "twice", "twice"]
    assert data["notes"] == ["2 names point outside the archive and are only listed."]
    assert [told(content, member=at)["size"] for at in "23"] == [1, 1]
    taken = asked(content, member="3", take="1")
    assert isinstance(taken, BinaryPreview)
    assert taken.content == b"4"


def test_a_bomb_is_listed_and_not_unpacked() -> None:
    content = zipped({"bomb": bytes(archive_reader.MAX_MEMBER_BYTES + 1)})
    assert told(content)["unpacked"] == archive_reader.MAX_MEMBER_BYTES + 1
    with pytest.raises(PreviewError, match="larger than 40 MB"):
        asked(content, member="0", take="1")
    alone = gzip.compress(bytes(archive_reader.MAX_MEMBER_BYTES + 1))
    with pytest.raises(PreviewError, match="larger than 40 MB"):
        asked(alone, "bomb.gz", member="0", take="1")


def test_a_compressed_tar_is_unpacked_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as made:
        for at in range(40):
            member = tarfile.TarInfo(f"{at}")
            member.size = 1024**2
            made.addfile(member, io.BytesIO(bytes(member.size)))
    monkeypatch.setattr(archive_reader, "MAX_UNPACKED_BYTES", 10 * 1024**2)
    data = told(written.getvalue(), "a.tar.gz")
    assert data["more"]
    assert 5 < data["total"] < 15
    assert "only its beginning" in data["notes"][0]


def test_a_locked_member_says_so() -> None:
    content = bytearray(zipped({"secret": b"x"}))
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    data = told(bytes(content))
    assert data["entries"][0][4] == "locked"
    with pytest.raises(PreviewError, match="password"):
        told(bytes(content), member="0")


def test_a_member_that_is_broken_says_so() -> None:
    content = bytearray(zipped({"a.txt": b"hello " * 100}))
    content[36:40] = b"\xff" * 4
    with pytest.raises(PreviewError, match="damaged or truncated"):
        told(bytes(content), member="0")


def test_what_is_cut_is_listed_as_far_as_it_goes() -> None:
    with pytest.raises(PreviewError, match="damaged or truncated"):
        told(zipped({"a": b"x" * 100})[:-30])
    whole = tarred()
    cut = told(whole[:1200], "a.tar")
    assert cut["total"] in (1, 2)
    assert "damaged or truncated" in cut["notes"][0]
    with pytest.raises(PreviewError, match="damaged or truncated"):
        told(gzip.compress(TABLE)[:12], "t.csv.gz")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x1f\x8b", b"nothing of the kind"])
def test_what_is_no_archive_says_so(content: bytes) -> None:
    with pytest.raises(PreviewError):
        told(content)


@pytest.mark.browser
def test_folders_are_folded_and_a_member_is_looked_at(viewer: FileViewer) -> None:
    files = {"data/t.csv": TABLE, "data/deep/n.txt": b"hello", f"{HOSTILE}/x": b"1"}
    viewer.upload("a.zip", zipped(files))
    viewer.open()
    place = viewer.show("a.zip")
    tree = place.get_by_role("tree")
    expect(viewer.preview.locator(".hd small").first).to_contain_text("3 files")
    expect(tree.get_by_role("treeitem", name=HOSTILE)).to_be_visible()
    tree.get_by_role("treeitem", name="deep").click()
    expect(tree.get_by_role("treeitem", name="n.txt")).to_be_hidden()
    tree.get_by_role("treeitem", name="t.csv").click()
    expect(place.get_by_role("gridcell", name="two")).to_be_visible()
    place.get_by_role("button", name="Back to archive").click()
    tree.get_by_role("treeitem", name="deep").click()
    tree.get_by_role("treeitem", name="n.txt").click()
    expect(place).to_contain_text("hello")
    with viewer.page.expect_download() as taken:
        place.get_by_role("link", name="Download").click()
    assert taken.value.suggested_filename == "n.txt"
    assert taken.value.path().read_bytes() == b"hello"


@pytest.mark.browser
def test_a_member_is_extracted_to_the_folder_of_its_archive(viewer: FileViewer) -> None:
    viewer.upload("a.zip", zipped({"deep/naïve #1.txt": b"hello"}))
    viewer.open()
    place = viewer.show("a.zip")
    place.get_by_role("treeitem", name="naïve #1.txt").click()
    place.get_by_role("button", name="Extract to workspace").click()
    expect(viewer.studio.file("naïve #1.txt")).to_be_visible()
    expect(viewer.show("naïve #1.txt")).to_contain_text("hello")


@pytest.mark.browser
def test_the_keys_go_through_it(viewer: FileViewer) -> None:
    viewer.upload("a.zip", zipped({"a/one.txt": b"first", "b/two.txt": b"second"}))
    viewer.open()
    place = viewer.show("a.zip")
    place.get_by_role("tree").focus()
    for key in ("ArrowLeft", "ArrowDown", "ArrowRight", "Enter"):
        viewer.page.keyboard.press(key)
    expect(place).to_contain_text("second")
    viewer.page.keyboard.press("Escape")
    expect(place.get_by_role("treeitem", name="a", exact=True)).to_have_attribute(
        "aria-expanded", "false"
    )


@pytest.mark.browser
def test_names_that_cannot_be_seen_are_written_out(viewer: FileViewer) -> None:
    viewer.upload("a.zip", zipped({"gpj.\u202etxt.exe": b"x", "../out": b"y"}))
    viewer.open()
    place = viewer.show("a.zip")
    expect(place.get_by_role("treeitem", name="gpj.⟨U+202E⟩txt.exe")).to_be_visible()
    expect(place).to_contain_text("One name points outside")


@pytest.mark.browser
def test_a_hundred_thousand_entries_are_few_elements(viewer: FileViewer) -> None:
    viewer.upload("a.zip", zipped({f"file{at:06}": b"" for at in range(100_000)}))
    viewer.open()
    place = viewer.show("a.zip")
    expect(viewer.preview.locator(".hd small").first).to_contain_text(
        "100,000 files", timeout=60_000
    )
    sheet = place.locator(".sheet")
    expect(sheet).to_have_attribute("style", "height: 2.7e+06px;", timeout=60_000)
    place.get_by_role("tree").focus()
    viewer.page.keyboard.press("End")
    expect(place.get_by_role("treeitem", name="file099999")).to_be_visible()
    assert place.locator("*").count() < 1000


@pytest.mark.browser
@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("empty.zip", zipped({}), "empty"),
        ("nothing.zip", b"", "This file is empty."),
        ("cut.zip", zipped({"a": b"x" * 99})[:-25], "damaged or truncated"),
        ("text.tar", b"hello " * 200, "damaged or truncated"),
        ("cut.tgz", tarred("w:gz")[:60], "damaged or truncated"),
    ],
    ids=["empty", "nothing", "cut zip", "text", "cut tar"],
)
def test_something_right_is_shown_of_everything(
    viewer: FileViewer, name: str, content: bytes, says: str
) -> None:
    viewer.upload(name, content)
    viewer.open()
    place = viewer.show(name)
    if says == "empty":
        expect(place.locator(".nothing")).to_be_visible()
    else:
        expect(place).to_contain_text(says)
