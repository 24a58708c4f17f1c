"""A data folder that version 0.1.0 wrote: everything in it opens, is found, exported and continued.

``fixtures/data-0.1.0.tar.xz`` holds one run of every kind, recorded by that version with a real
engine, and ``given.json`` with their ids, a shared link, a token, a cookie and an account.
"""

import csv
import io
import json
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from gradio_client import Client

from agent.settings import Settings
from sandbox_ui.auth.passwords import verify_password
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Call, Endpoint, Turn
from tests.support.server import create_app, follow_run, run_server

RECORDED = Path(__file__).parents[2] / "fixtures" / "data-0.1.0.tar.xz"

ENDED = {
    "sandbox": ("submitted", 6),
    "plain": ("answered", 1),
    "failed": ("failed", 1),
    "stopped": ("stopped", 1),
    "step limit": ("step_limit", 2),
    "cleared": ("submitted", 6),
    "continued": ("submitted", 4),
    "demonstration": ("submitted", 5),
    "builtin": ("submitted", 2),
    "interrupted": ("failed", 2),
    "command line": ("submitted", 2),
}

WORDS = {
    "sandbox": "careful",
    "plain": "Two.",
    "failed": "Say hello",
    "stopped": "waiting",
    "step limit": "echo 2",
    "cleared": "a line of some length",
    "continued": "Go on, please",
    "demonstration": "azulene",
    "builtin": "greeting.txt",
    "interrupted": "before",
    "command line": "echo cli",
}


def turn(body: dict[str, Any]) -> Turn:
    return Turn(text="I went on.", calls=[Call("submit")] if "tools" in body else [])


class Earlier:
    """The recorded folder, unpacked and served by this version."""

    def __init__(self, folder: Path, client: httpx.Client) -> None:
        self.data = folder / "data"
        self.client = client
        self.given: dict[str, Any] = json.loads((folder / "given.json").read_text())

    def run(self, kind: str) -> str:
        return str(self.given["runs"][kind])

    def journal(self, kind: str) -> bytes:
        return (self.data / "runs" / self.run(kind) / "journal.jsonl").read_bytes()

    def get(self, path: str) -> httpx.Response:
        return self.client.get(path).raise_for_status()

    def state(self, kind: str) -> dict[str, Any]:
        with follow_run(self.client, self.run(kind)) as events:
            picture: dict[str, Any] = next(events).data["state"]
        return picture


def reaching(address: str, cookies: dict[str, str] | None = None) -> httpx.Client:
    """A browser that reaches the studio under its public name."""
    headers = {"Host": "studio.example"}
    return httpx.Client(base_url=address, headers=headers, cookies=cookies, timeout=60)


def unpacked(folder: Path) -> Path:
    with tarfile.open(RECORDED) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Earlier]:
    folder = unpacked(tmp_path_factory.mktemp("earlier"))
    with Endpoint(turn) as endpoint:
        settings = Settings(data=folder / "data", base_url=endpoint.url, model="test-model")
        app = create_app(settings, LocalSandboxProvider(folder / "data"))
        with (
            run_server(app) as address,
            httpx.Client(base_url=address, timeout=60) as client,
        ):
            yield Earlier(folder, client)


def test_every_run_is_listed(earlier: Earlier) -> None:
    listed = {row["run"]: row for row in earlier.get("/api/runs").json()["runs"]}
    assert {earlier.run(kind) for kind in ENDED} <= set(listed)
    for kind, (state, _) in ENDED.items():
        assert listed[earlier.run(kind)]["state"] == state
    row = listed[earlier.run("sandbox")]
    assert row["pinned"]
    assert "The sum" in row["title"]


@pytest.mark.parametrize("kind", ENDED)
def test_a_run_opens_in_its_final_state(earlier: Earlier, kind: str) -> None:
    state, steps = ENDED[kind]
    picture = earlier.state(kind)
    assert picture["state"] == state
    assert len(picture["steps"]) == steps
    for number in range(1, steps + 1):
        events = earlier.get(f"/api/runs/{earlier.run(kind)}/steps/{number}").json()
        assert {"step_started"} <= {event["kind"] for event in events}


@pytest.mark.parametrize("kind", ENDED)
def test_runs_are_found_by_full_text_search(earlier: Earlier, kind: str) -> None:
    found = earlier.client.get(
        f"/api/runs/{earlier.run(kind)}/find", params={"q": WORDS[kind]}
    ).json()
    assert found["found"]


@pytest.mark.parametrize("kind", ENDED)
def test_a_run_is_exported(earlier: Earlier, kind: str) -> None:
    at = f"/api/runs/{earlier.run(kind)}"
    before = earlier.journal(kind)
    assert earlier.get(f"{at}/conversation.md").text.strip()
    rows = list(csv.DictReader(io.StringIO(earlier.get(f"{at}/steps.csv").text)))
    assert len(rows) == ENDED[kind][1]
    archive = zipfile.ZipFile(io.BytesIO(earlier.get(f"{at}/run.zip").content))
    assert archive.testzip() is None
    names = {Path(name).name for name in archive.namelist()}
    assert {"journal.jsonl", "trajectory.json", "conversation.md"} <= names
    journal = next(name for name in archive.namelist() if name.endswith("journal.jsonl"))
    assert archive.read(journal) == before


def test_events_and_states_have_current_names(earlier: Earlier) -> None:
    seen = [
        event
        for kind in ("sandbox", "cleared")
        for number in range(1, ENDED[kind][1] + 1)
        for event in earlier.get(f"/api/runs/{earlier.run(kind)}/steps/{number}").json()
    ]
    kinds = {event["kind"] for event in seen}
    assert {"reminder", "observations_cleared"} <= kinds
    assert not kinds & {"told", "forgotten", "unreadable"}
    assert any(event.get("output_file") for event in seen)
    assert all("storage_note" in event for event in seen if event["kind"] == "tool_ended")
    changes = [change for event in seen for change in event.get("changes", ())]
    changes += [change for head in earlier.state("sandbox")["steps"] for change in head["changes"]]
    assert {change["kind"] for change in changes} <= {"added", "changed", "removed"}
    assert not any("what" in change for change in changes)


def test_current_and_past_files_are_available(earlier: Earlier) -> None:
    at = f"/api/runs/{earlier.run('sandbox')}/files"
    assert earlier.get(f"{at}/output/sum.py").text == "print(sum(range(102)))\n"
    assert earlier.get(f"{at}/output/sum.py?step=1").text == "print(sum(range(101)))\n"
    assert earlier.get(f"{at}/input/notizen.txt").content == "Grüße\n".encode("latin-1")


def test_a_long_output_is_complete(earlier: Earlier) -> None:
    path = next((earlier.data / "runs" / earlier.run("sandbox") / "outputs").iterdir())
    assert path.read_text().splitlines()[-1] == "60000"


def test_a_draft_keeps_its_files(earlier: Earlier) -> None:
    at = f"/api/runs/{earlier.run('draft')}/files"
    assert earlier.get(f"{at}/input/kept.txt").content == b"kept"


@pytest.mark.parametrize("kind", [kind for kind in ENDED if kind != "builtin"])
def test_a_run_can_be_continued(kind: str, tmp_path: Path) -> None:
    folder = unpacked(tmp_path)
    with Endpoint(turn) as endpoint:
        settings = Settings(data=folder / "data", base_url=endpoint.url, model="test-model")
        app = create_app(settings, LocalSandboxProvider(folder / "data"))
        with run_server(app) as address, httpx.Client(base_url=address, timeout=60) as client:
            earlier = Earlier(folder, client)
            before = earlier.journal(kind)
            programs = Client(address, verbose=False)
            run = programs.predict(earlier.run(kind), "Once more.", api_name="/message")
            *_, last = programs.submit(run, api_name="/follow")
            assert last["state"] in ("submitted", "answered"), last
            assert earlier.journal(kind).startswith(before)
            assert endpoint.history_errors == []
            assert "Once more." in json.dumps(endpoint.requests[-1].body)


def test_a_shared_link_still_opens_its_run(earlier: Earlier) -> None:
    with httpx.Client(base_url=earlier.client.base_url, follow_redirects=True) as stranger:
        shown = stranger.get(f"/{earlier.given['link']}")
    assert shown.status_code == 200
    assert earlier.run("continued") in str(shown.url)


def test_tokens_cookies_and_accounts_remain_valid(tmp_path: Path) -> None:
    folder = unpacked(tmp_path)
    settings = Settings(data=folder / "data", hosts=("studio.example",))
    app = create_app(settings, LocalSandboxProvider(folder / "data"))
    with run_server(app) as address:
        given = json.loads((folder / "given.json").read_text())
        visitor = given["visitor"]
        with reaching(address, visitor["cookie"]) as known:
            at = f"/api/runs/{visitor['draft']}/files/input/mine.txt"
            assert known.put(at, content=b"mine").status_code == 201
        with reaching(address) as stranger:
            assert stranger.get(at).status_code == 401
            bearer = {"Authorization": f"Bearer {given['token']}"}
            listed = stranger.get("/api/runs", headers=bearer).raise_for_status().json()
            assert len(listed["runs"]) >= len(ENDED)
    name, hashed = given["users"].split(":", 1)
    assert name == "ann"
    assert verify_password(given["password"], hashed)
