"""Files as they were after a step, and how they differ from the step before, over HTTP."""

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from agent.folder import RunFolder
from agent.settings import Settings
from agent.workspace.blobs import BlobStore
from agent.workspace.snapshots import Snapshots
from agent.workspace.versions import Versions
from tests.studio import LocalMachine, create, served


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def address(data: Path) -> Iterator[str]:
    with served(create(Settings(data=data), LocalMachine(data))) as address:
        yield address


class Steps:
    """A run whose files are written here; each ``take`` is what one step left."""

    def __init__(self, data: Path, client: httpx.Client) -> None:
        self.client = client
        self.run: str = client.post("/api/runs").json()["run"]
        self.folder = RunFolder.open(data, self.run)
        self.root = self.folder.workspace
        self.step = 0
        self._versions = Versions(self.folder.manifests)
        self._snapshots = Snapshots(self.root, BlobStore(data / "blobs"))
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
def steps(address: str, data: Path) -> Iterator[Steps]:
    with httpx.Client(base_url=address, timeout=30) as client:
        yield Steps(data, client)


# A file as it was


def test_a_file_is_had_as_it_was_after_each_step(steps: Steps) -> None:
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


def test_a_part_of_an_old_file_is_had(steps: Steps) -> None:
    steps.write("a.txt", "0123456789")
    steps.take()
    steps.write("a.txt", "")
    address = f"/api/runs/{steps.run}/files/a.txt?step=1"
    got = steps.client.get(address, headers={"Range": "bytes=3-5"})
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
        ("a.txt", "-1", "“-1” is not the number of a step."),
        ("a.txt", "²", "“²” is not the number of a step."),
        ("a.txt", "1" * 99, f"“{'1' * 40}” is not the number of a step."),
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


def test_any_name_has_a_past(steps: Steps) -> None:
    name = os.fsdecode("“q” \n\u202e".encode() + b"\xff")
    (steps.root / name).write_text("one")
    steps.take()
    (steps.root / name).unlink()
    assert steps.get("files", name, step=1).text == "one"


def test_a_run_without_a_record_has_no_past(address: str) -> None:
    with httpx.Client(base_url=address) as client:
        run = client.post("/api/runs").json()["run"]
        refused = client.get(f"/api/runs/{run}/files/a?step=1")
        assert refused.json()["error"] == "“a” was not there after step 1."
        assert client.get("/api/runs/nosuchrun/files/a?step=1").status_code == 404
