"""Files as they were after a step, and how they differ from the step before, over HTTP."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from agent.runs.folder import RunFolder
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.log import ManifestLog
from agent.workspace.versions.snapshots import SnapshotTracker


class Steps:
    """A run whose files are written here; each ``take`` is what one step left."""

    def __init__(self, data: Path, client: httpx.Client) -> None:
        self.client = client
        self.run: str = client.post("/api/runs").json()["run"]
        self.folder = RunFolder.open(data, self.run)
        self.root = self.folder.workspace
        self.step = 0
        self._versions = ManifestLog(self.folder.manifests)
        self._snapshots = SnapshotTracker(self.root, BlobStore(data / "blobs"))
        self._versions.append(0, self._snapshots.take())

    def write(self, path: str, content: str | bytes) -> None:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)

    def take(self) -> None:
        self.step += 1
        self._versions.append(self.step, self._snapshots.take())

    def get(self, what: str, path: str, **options: object) -> httpx.Response:
        quoted = quote(os.fsencode(path))
        params = {name: str(value) for name, value in options.items()}
        return self.client.get(f"/api/runs/{self.run}/{what}/{quoted}", params=params)


@pytest.fixture
def steps(studio_url: str, data: Path) -> Iterator[Steps]:
    with httpx.Client(base_url=studio_url, timeout=30) as client:
        yield Steps(data, client)


# A file as it was


def test_each_step_has_its_version_of_a_file(steps: Steps) -> None:
    for words in ("one", "two", "three"):
        steps.write("output/a.txt", words)
        steps.take()
    steps.write("output/a.txt", "now")
    for step, words in ((1, "one"), (2, "two"), (3, "three"), (9, "three")):
        assert steps.get("files", "output/a.txt", step=step).text == words
        assert words in steps.get("view", "output/a.txt", step=step).text
    assert steps.get("files", "output/a.txt").text == "now"


def test_what_a_later_step_wrote_is_known_too(steps: Steps) -> None:
    steps.write("a.txt", "one")
    steps.take()
    assert steps.get("files", "a.txt", step=2).text == "one"
    steps.write("a.txt", "two")
    steps.take()
    assert steps.get("files", "a.txt", step=2).text == "two"


def test_old_versions_support_ranges(steps: Steps) -> None:
    steps.write("a.txt", "0123456789")
    steps.take()
    steps.write("a.txt", "")
    file_url = f"/api/runs/{steps.run}/files/a.txt?step=1"
    got = steps.client.get(file_url, headers={"Range": "bytes=3-5"})
    assert (got.status_code, got.text) == (206, "345")


@pytest.mark.parametrize("what", ["files", "view"])
def test_what_is_not_to_be_had_is_said_in_a_sentence(steps: Steps, what: str) -> None:
    steps.write("a.txt", "one")
    steps.take()
    (steps.root / "a.txt").unlink()
    (steps.root / "link").symlink_to("/etc/passwd")
    with (steps.root / "large.bin").open("wb") as large:
        large.truncate(65 * 1024**2)
    steps.take()
    for path, step, sentence in (
        ("a.txt", 0, "“a.txt” was not there after step 0."),
        ("a.txt", 2, "“a.txt” was not there after step 2."),
        ("output", 1, "“output” was a folder after step 1."),
        ("link", 2, "“link” was a link after step 2."),
        (
            "large.bin", 2,
            "“large.bin” as it was after step 2 was not kept: it is larger than 64 MB.",
        ),
        ("a.txt", "-1", "“-1” is not a step number."),
        ("a.txt", "²", "“²” is not a step number."),
        ("a.txt", "1" * 99, f"“{'1' * 40}” is not a step number."),
    ):  # fmt: skip
        refused = steps.get(what, path, step=step)
        assert (refused.status_code, refused.json()) == (400, {"error": sentence})


def test_a_content_that_left_the_store_is_said_to(steps: Steps, data: Path) -> None:
    steps.write("a.txt", "a content of its own")
    steps.take()
    (blob,) = (path for path in data.glob("blobs/*/*") if path.read_bytes().startswith(b"a cont"))
    blob.unlink()
    refused = steps.get("files", "a.txt", step=1)
    assert refused.json()["error"] == "“a.txt” as it was after step 1 is not in the store any more."


def test_any_name_has_versions(steps: Steps) -> None:
    name = os.fsdecode("“q” \n\u202e".encode() + b"\xff")
    (steps.root / name).write_text("one")
    steps.take()
    (steps.root / name).unlink()
    assert steps.get("files", name, step=1).text == "one"


def test_a_run_without_a_record_has_no_versions(studio_url: str) -> None:
    with httpx.Client(base_url=studio_url) as client:
        run = client.post("/api/runs").json()["run"]
        refused = client.get(f"/api/runs/{run}/files/a?step=1")
        assert refused.json()["error"] == "“a” was not there after step 1."
        assert client.get("/api/runs/nosuchrun/files/a?step=1").status_code == 404


# How a step changed it


def differs(steps: Steps, path: str, **options: object) -> Any:
    answer = steps.get("difference", path, **options)
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert (told["kind"], told["error"]) == ("difference", "")
    return told["view"]


def test_a_text_is_compared_with_the_step_before(steps: Steps) -> None:
    steps.write("a.py", "one\nprint('big', 1)\nthree\n")
    steps.take()
    steps.write("b", "another")
    steps.take()
    steps.write("a.py", "one\nprint('small', 1)\nthree\nfour\n")
    steps.take()
    view = differs(steps, "a.py", step=3)
    assert (view["display"], view["step"], view["reason"]) == ("text", 3, "")
    assert (view["before"]["size"], view["after"]["size"]) == (26, 33)
    assert view["text"]["rows"] == [
        ["=", 1, 1, "one"],
        ["~", 2, 2, ["print('", "big", "', 1)"], ["print('", "small", "', 1)"]],
        ["=", 3, 3, "three"],
        ["+", 4, ["four"]],
    ]
    assert (view["text"]["added"], view["text"]["removed"]) == (2, 1)
    assert differs(steps, "a.py") == view
    assert differs(steps, "a.py", step=2)["text"]["added"] == 0


def test_what_was_added_and_what_was_removed_is_all_of_it(steps: Steps) -> None:
    steps.write("a.txt", "one\ntwo")
    steps.take()
    (steps.root / "a.txt").unlink()
    steps.take()
    added, removed = differs(steps, "a.txt", step=1), differs(steps, "a.txt", step=2)
    assert (added["before"], removed["after"]) == (None, None)
    assert added["text"]["rows"] == [["+", 1, ["one"]], ["+", 2, ["two"]]]
    assert removed["text"]["rows"] == [["-", 1, ["one"]], ["-", 2, ["two"]]]


def test_lines_that_are_far_from_a_change_are_left_out_until_they_are_asked_for(
    steps: Steps,
) -> None:
    lines = [f"line {number}" for number in range(1, 101)]
    steps.write("a.txt", "\n".join(lines))
    steps.take()
    lines[49] = "another line"
    steps.write("a.txt", "\n".join(lines))
    steps.take()
    rows = differs(steps, "a.txt", step=2)["text"]["rows"]
    assert rows[0] == ["…", 1, 1, 46]
    assert rows[-1] == ["…", 54, 54, 47]
    assert [row[0] for row in rows[1:-1]] == [*"===-+==="]
    text = differs(steps, "a.txt", step=2, **{"from": 54, "count": 47})["text"]
    assert text == {"lines": lines[53:]}


def test_pictures_are_pictures_and_bytes_are_facts(steps: Steps) -> None:
    picture = b"\x89PNG\r\n\x1a\n" + bytes(20)
    steps.write("a.png", picture)
    steps.write("b.bin", b"\0\1")
    steps.take()
    steps.write("a.png", picture + b"more")
    steps.write("b.bin", b"\0\2")
    steps.take()
    assert differs(steps, "a.png", step=2)["display"] == "images"
    facts = differs(steps, "b.bin", step=2)
    assert (facts["display"], facts["reason"], facts["text"]) == ("metadata", "", None)
    assert facts["before"]["hash"] != facts["after"]["hash"]


def test_what_cannot_be_compared_says_why_and_keeps_the_facts(steps: Steps) -> None:
    steps.write("a.log", "x\n" * 5_000_000)
    with (steps.root / "large.bin").open("wb") as large:
        large.truncate(65 * 1024**2)
    steps.take()
    long = differs(steps, "a.log", step=1)
    assert (long["display"], long["reason"]) == (
        "metadata", "Only texts of up to 8 MB are compared.",
    )  # fmt: skip
    assert long["after"]["size"] == 10_000_000
    unkept = differs(steps, "large.bin", step=1)
    assert unkept["reason"].endswith("was not kept: it is larger than 64 MB.")


def test_a_file_that_became_a_link_is_told_as_facts(steps: Steps) -> None:
    steps.write("a", "one")
    steps.take()
    (steps.root / "a").unlink()
    (steps.root / "a").symlink_to("/etc/passwd")
    steps.take()
    view = differs(steps, "a", step=2)
    assert view["after"]["kind"] == "link"
    assert view["after"]["target"] == "/etc/passwd"
    assert "root:" not in str(view)


def test_what_no_step_changed_is_said_to_be_so(steps: Steps) -> None:
    for path, options, sentence in (
        ("nothing", {}, "No step changed “nothing”."),
        ("nothing", {"step": 3}, "“nothing” existed neither before nor after step 3."),
        ("a", {"step": "x"}, "“x” is not a step number."),
    ):
        refused = steps.get("difference", path, **options)
        assert (refused.status_code, refused.json()) == (400, {"error": sentence})
