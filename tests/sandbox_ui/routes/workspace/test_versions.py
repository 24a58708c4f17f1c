"""Versions of files after each step, and their differences to the step before."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from agent.runs.folder import RunFolder
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.manifest import ManifestLog
from agent.workspace.versions.snapshots import SnapshotTracker
from tests.support import httpx

pytestmark = pytest.mark.contract


class RecordedSteps:
    """A run whose steps are recorded by the test."""

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
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)

    def end(self) -> None:
        """Record the files as they are now."""
        self.step += 1
        self._versions.append(self.step, self._snapshots.take())

    def take(self, files: Mapping[str, str | bytes]) -> None:
        """Record a step that writes files."""
        for path, content in files.items():
            self.write(path, content)
        self.end()

    def get(self, what: str, path: str, **options: object) -> httpx.Response:
        quoted = quote(os.fsencode(path))
        params = {name: str(value) for name, value in options.items()}
        return self.client.get(f"/api/runs/{self.run}/{what}/{quoted}", params=params)


@pytest.fixture
def steps(client: httpx.Client, data: Path) -> RecordedSteps:
    return RecordedSteps(data, client)


# Versions


def test_each_step_has_its_version_of_a_file(steps: RecordedSteps) -> None:
    steps.take({"output/a.txt": "one"})
    assert steps.get("files", "output/a.txt", step=2).text == "one"
    for words in ("two", "three"):
        steps.take({"output/a.txt": words})
    steps.write("output/a.txt", "now")
    for step, words in ((1, "one"), (2, "two"), (3, "three"), (9, "three")):
        assert steps.get("files", "output/a.txt", step=step).text == words
        assert words in steps.get("view", "output/a.txt", step=step).text
    assert steps.get("files", "output/a.txt").text == "now"
    file_url = f"/api/runs/{steps.run}/files/output/a.txt?step=3"
    got = steps.client.get(file_url, headers={"Range": "bytes=1-3"})
    assert (got.status_code, got.text) == (206, "hre")


@pytest.mark.parametrize("what", ["files", "view"])
def test_an_unavailable_version_is_reported(steps: RecordedSteps, what: str) -> None:
    steps.take({"a.txt": "one"})
    (steps.root / "a.txt").unlink()
    (steps.root / "link").symlink_to("/etc/passwd")
    with (steps.root / "large.bin").open("wb") as large:
        large.truncate(65 * 1024**2)
    steps.end()
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


def test_a_missing_blob_is_reported(steps: RecordedSteps, data: Path) -> None:
    steps.take({"a.txt": "a content of its own"})
    (blob,) = (path for path in data.glob("blobs/*/*") if path.read_bytes().startswith(b"a cont"))
    blob.unlink()
    refused = steps.get("files", "a.txt", step=1)
    assert refused.json()["error"] == "“a.txt” as it was after step 1 is not in the store any more."


def test_a_file_with_an_unusual_name_has_versions(steps: RecordedSteps) -> None:
    name = os.fsdecode("“q” \n\u202e".encode() + b"\xff")
    steps.take({name: "one"})
    (steps.root / name).unlink()
    assert steps.get("files", name, step=1).text == "one"


def test_a_run_without_a_journal_has_no_versions(client: httpx.Client, run: str) -> None:
    refused = client.get(f"/api/runs/{run}/files/a?step=1")
    assert refused.json()["error"] == "“a” was not there after step 1."
    assert client.get("/api/runs/nosuchrun/files/a?step=1").status_code == 404


# Differences


def difference(steps: RecordedSteps, path: str, **options: object) -> Any:
    answer = steps.get("difference", path, **options)
    assert answer.status_code == 200, answer.text
    answer_body = answer.json()
    assert (answer_body["kind"], answer_body["error"]) == ("difference", "")
    return answer_body["view"]


def test_a_text_is_compared_with_the_previous_step(steps: RecordedSteps) -> None:
    before, after = "one\nprint('big', 1)\nthree\n", "one\nprint('small', 1)\nthree\nfour\n"
    for files in ({"a.py": before}, {"b": "another"}, {"a.py": after}):
        steps.take(files)
    view = difference(steps, "a.py", step=3)
    assert (view["display"], view["step"], view["reason"]) == ("text", 3, "")
    assert (view["before"]["size"], view["after"]["size"]) == (26, 33)
    assert view["text"] == {"before": before, "after": after}
    assert difference(steps, "a.py") == view
    unchanged = difference(steps, "a.py", step=2)["text"]
    assert unchanged["before"] == unchanged["after"]


def test_added_and_removed_files_are_compared_completely(steps: RecordedSteps) -> None:
    steps.take({"a.txt": "one\ntwo"})
    (steps.root / "a.txt").unlink()
    steps.end()
    added, removed = difference(steps, "a.txt", step=1), difference(steps, "a.txt", step=2)
    assert (added["before"], removed["after"]) == (None, None)
    assert added["text"] == {"before": "", "after": "one\ntwo"}
    assert removed["text"] == {"before": "one\ntwo", "after": ""}


def test_versions_are_decoded_and_invisible_characters_named(steps: RecordedSteps) -> None:
    steps.take({"a.txt": "für 5 €\r\n".encode("cp1252") * 9})
    steps.take({"a.txt": "\ufefffür\u202e\x1b\n".encode("utf-16")})
    text = difference(steps, "a.txt", step=2)["text"]
    assert text["before"] == "für 5 €␍\n" * 9
    assert text["after"].endswith("für⟨U+202E⟩␛\n")


def test_images_are_compared_as_images_and_binary_files_by_metadata(steps: RecordedSteps) -> None:
    image = b"\x89PNG\r\n\x1a\n" + bytes(20)
    steps.take({"a.png": image, "b.bin": b"\0\1"})
    steps.take({"a.png": image + b"more", "b.bin": b"\0\2"})
    assert difference(steps, "a.png", step=2)["display"] == "images"
    metadata = difference(steps, "b.bin", step=2)
    assert (metadata["display"], metadata["reason"], metadata["text"]) == ("metadata", "", None)
    assert metadata["before"]["hash"] != metadata["after"]["hash"]


def test_an_impossible_comparison_gives_a_reason_and_metadata(steps: RecordedSteps) -> None:
    with (steps.root / "large.bin").open("wb") as large:
        large.truncate(65 * 1024**2)
    steps.take({"a.log": "x\n" * 5_000_000})
    long_text = difference(steps, "a.log", step=1)
    assert (long_text["display"], long_text["reason"]) == (
        "metadata", "Only texts of up to 8 MB are compared.",
    )  # fmt: skip
    assert long_text["after"]["size"] == 10_000_000
    unstored = difference(steps, "large.bin", step=1)
    assert unstored["reason"].endswith("was not kept: it is larger than 64 MB.")


def test_a_file_that_became_a_symlink_is_compared_by_metadata(steps: RecordedSteps) -> None:
    steps.take({"a": "one"})
    (steps.root / "a").unlink()
    (steps.root / "a").symlink_to("/etc/passwd")
    steps.end()
    view = difference(steps, "a", step=2)
    assert view["after"]["kind"] == "link"
    assert view["after"]["target"] == "/etc/passwd"
    assert "root:" not in str(view)


def test_a_file_that_no_step_changed_is_reported(steps: RecordedSteps) -> None:
    for path, options, sentence in (
        ("nothing", {}, "No step changed “nothing”."),
        ("nothing", {"step": 3}, "“nothing” existed neither before nor after step 3."),
        ("a", {"step": "x"}, "“x” is not a step number."),
    ):
        refused = steps.get("difference", path, **options)
        assert (refused.status_code, refused.json()) == (400, {"error": sentence})


def test_folders_and_versions_are_served_as_of_a_step(steps: RecordedSteps) -> None:
    steps.take({"output/a.txt": "one"})
    steps.take({"output/a.txt": "three", "output/b.txt": "b"})
    url = f"/api/runs/{steps.run}"
    listing = steps.client.get(f"{url}/files", params={"folder": "output", "step": 1}).json()
    assert [(row["name"], row["size"], row.get("later")) for row in listing["entries"]] == [
        ("a.txt", 3, None),
        ("b.txt", 1, True),
    ]
    assert steps.get("entries", "output/b.txt", step=1).json() is None
    assert steps.get("entries", "output/b.txt", step=2).json()["step"] == 2
    listed = steps.get("versions", "output/a.txt").json()["versions"]
    assert [(row["step"], row["size"]) for row in listed] == [(2, 5), (1, 3)]
    assert steps.client.get(f"{url}/files", params={"step": "x"}).status_code == 400
    assert steps.client.get("/api/runs/nosuchrun/files?step=1").status_code == 404


def test_any_two_versions_are_compared(steps: RecordedSteps) -> None:
    for text in ("one", "two", "three"):
        steps.take({"a.txt": text})
    view = difference(steps, "a.txt", step=3, base=1)
    assert (view["base"], view["text"]["before"], view["text"]["after"]) == (1, "one", "three")
    created = difference(steps, "a.txt", step=2, base=0)
    assert (created["before"], created["text"]["before"]) == (None, "")
    refused = steps.get("difference", "b.txt", step=3, base=1)
    assert refused.json()["error"] == "“b.txt” existed neither after step 1 nor 3."
