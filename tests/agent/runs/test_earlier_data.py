"""A data folder written by version 0.1.0 can be listed, opened, searched, exported and continued.

``fixtures/data-0.1.0.tar.xz`` contains one run of every kind, recorded by that version with a real
engine, and ``given.json`` with their ids, a shared link, a token, a cookie and an account.
"""

import csv
import io
import json
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from gradio_client import Client

from sandbox_ui.auth.passwords import verify_password
from tests.support import httpx
from tests.support.models.endpoint import Call, Endpoint, Turn
from tests.support.server import follow_run, serve_studio

pytestmark = pytest.mark.contract

ARCHIVE = Path(__file__).parents[2] / "fixtures" / "data-0.1.0.tar.xz"

RUNS = {
    "sandbox": ("submitted", 6, "careful"),
    "plain": ("answered", 1, "Two."),
    "failed": ("failed", 1, "Say hello"),
    "stopped": ("stopped", 1, "waiting"),
    "step limit": ("step_limit", 2, "echo 2"),
    "cleared": ("submitted", 6, "a line of some length"),
    "continued": ("submitted", 4, "Go on, please"),
    "demonstration": ("submitted", 5, "azulene"),
    "builtin": ("submitted", 2, "greeting.txt"),
    "interrupted": ("failed", 2, "before"),
    "command line": ("submitted", 2, "echo cli"),
}
"""The kinds of runs: their final state, their number of steps, and words that occur in them."""


def answer(body: dict[str, Any]) -> Turn:
    return Turn(text="I went on.", calls=[Call("submit")] if "tools" in body else [])


class EarlierStudio:
    """The extracted data folder of version 0.1.0, served by this version."""

    def __init__(self, folder: Path, client: httpx.Client) -> None:
        self.data = folder / "data"
        self.client = client
        self.ids: dict[str, Any] = json.loads((folder / "given.json").read_text())

    def run(self, kind: str) -> str:
        return str(self.ids["runs"][kind])

    def journal(self, kind: str) -> bytes:
        return (self.data / "runs" / self.run(kind) / "journal.jsonl").read_bytes()

    def get(self, kind: str, path: str) -> httpx.Response:
        """Get a path below a run's."""
        return self.client.get(f"/api/runs/{self.run(kind)}/{path}").raise_for_status()

    def state(self, kind: str) -> dict[str, Any]:
        with follow_run(self.client, self.run(kind)) as events:
            state: dict[str, Any] = next(events).data["state"]
        return state


def open_client(studio_url: str, cookies: dict[str, str] | None = None) -> httpx.Client:
    """Return an HTTP client that uses the studio's public host name."""
    headers = {"Host": "studio.example"}
    return httpx.Client(base_url=studio_url, headers=headers, cookies=cookies, timeout=60)


def extract_archive(folder: Path) -> Path:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder


@contextmanager
def serve(folder: Path) -> Iterator[tuple[EarlierStudio, Endpoint]]:
    extract_archive(folder)
    with (
        Endpoint(answer) as endpoint,
        serve_studio(folder / "data", base_url=endpoint.url, model="test-model") as studio_url,
        httpx.Client(base_url=studio_url, timeout=60) as client,
    ):
        yield EarlierStudio(folder, client), endpoint


@pytest.fixture(scope="module")
def earlier_studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EarlierStudio]:
    with serve(tmp_path_factory.mktemp("earlier")) as (studio, _):
        yield studio


def test_every_run_is_listed(earlier_studio: EarlierStudio) -> None:
    listed = earlier_studio.client.get("/api/runs").raise_for_status().json()["runs"]
    rows = {row["run"]: row for row in listed}
    for kind, (state, _, _) in RUNS.items():
        assert rows[earlier_studio.run(kind)]["state"] == state
    row = rows[earlier_studio.run("sandbox")]
    assert row["pinned"]
    assert "The sum" in row["title"]


@pytest.mark.parametrize("kind", RUNS)
def test_a_run_opens_in_its_final_state_and_is_searched(
    earlier_studio: EarlierStudio, kind: str
) -> None:
    state, steps, words = RUNS[kind]
    final_state = earlier_studio.state(kind)
    assert final_state["state"] == state
    assert len(final_state["steps"]) == steps
    for number in range(1, steps + 1):
        events = earlier_studio.get(kind, f"steps/{number}").json()
        assert {"step_started"} <= {event["kind"] for event in events}
    assert earlier_studio.get(kind, f"find?q={words}").json()["matches"]


@pytest.mark.parametrize("kind", RUNS)
def test_a_run_is_exported(earlier_studio: EarlierStudio, kind: str) -> None:
    before = earlier_studio.journal(kind)
    assert earlier_studio.get(kind, "conversation.md").text.strip()
    rows = list(csv.DictReader(io.StringIO(earlier_studio.get(kind, "steps.csv").text)))
    assert len(rows) == RUNS[kind][1]
    archive = zipfile.ZipFile(io.BytesIO(earlier_studio.get(kind, "run.zip").content))
    assert archive.testzip() is None
    names = {Path(name).name: name for name in archive.namelist()}
    assert {"journal.jsonl", "trajectory.json", "conversation.md"} <= names.keys()
    assert archive.read(names["journal.jsonl"]) == before


@pytest.mark.parametrize("kind", RUNS)
def test_each_request_is_built_again_and_said_to_be(
    earlier_studio: EarlierStudio, kind: str
) -> None:
    """Earlier versions recorded no requests."""
    for number in range(1, RUNS[kind][1] + 1):
        request = earlier_studio.get(kind, f"steps/{number}/request").json()
        assert (request["fidelity"], request["url"]) == ("rebuilt", None)
        assert request["body"]["messages"]
    assert len(earlier_studio.get(kind, "tokens").json()["steps"]) == RUNS[kind][1]
    assert earlier_studio.get(kind, "requests").json()["rounds"]


def test_events_and_states_have_current_names(earlier_studio: EarlierStudio) -> None:
    events = [
        event
        for kind in ("sandbox", "cleared")
        for number in range(1, RUNS[kind][1] + 1)
        for event in earlier_studio.get(kind, f"steps/{number}").json()
    ]
    kinds = {event["kind"] for event in events}
    assert {"reminder", "observations_cleared"} <= kinds
    assert not kinds & {"told", "forgotten", "unreadable"}
    assert any(event.get("output_file") for event in events)
    assert all("storage_note" in event for event in events if event["kind"] == "tool_ended")
    heads = earlier_studio.state("sandbox")["steps"]
    changes = [change for each in (*events, *heads) for change in each.get("changes", ())]
    assert {change["kind"] for change in changes} <= {"added", "changed", "removed"}
    assert not any("what" in change for change in changes)


def test_current_and_past_files_are_available(earlier_studio: EarlierStudio) -> None:
    def file(path: str, kind: str = "sandbox") -> bytes:
        return earlier_studio.get(kind, f"files/{path}").content

    assert file("output/sum.py") == b"print(sum(range(102)))\n"
    assert file("output/sum.py?step=1") == b"print(sum(range(101)))\n"
    assert file("input/notizen.txt") == "Grüße\n".encode("latin-1")
    assert file("input/kept.txt", "draft") == b"kept"
    (output,) = (earlier_studio.data / "runs" / earlier_studio.run("sandbox") / "outputs").iterdir()
    assert output.read_text().splitlines()[-1] == "60000"


@pytest.mark.parametrize("kind", [kind for kind in RUNS if kind != "builtin"])
@pytest.mark.nightly
def test_a_run_can_be_continued(kind: str, tmp_path: Path) -> None:
    with serve(tmp_path) as (earlier_studio, endpoint):
        before = earlier_studio.journal(kind)
        gradio_client = Client(str(earlier_studio.client.base_url), verbose=False)
        run = gradio_client.predict(earlier_studio.run(kind), "Once more.", api_name="/message")
        *_, last = gradio_client.submit(run, api_name="/follow")
        assert last["state"] in ("submitted", "answered"), last
        assert earlier_studio.journal(kind).startswith(before)
        assert endpoint.history_errors == []
        assert "Once more." in json.dumps(endpoint.requests[-1].body)


def test_a_shared_link_still_opens_its_run(earlier_studio: EarlierStudio) -> None:
    with httpx.Client(base_url=earlier_studio.client.base_url, follow_redirects=True) as anonymous:
        response = anonymous.get(f"/{earlier_studio.ids['link']}")
    assert response.status_code == 200
    assert earlier_studio.run("continued") in str(response.url)


def test_tokens_cookies_and_accounts_remain_valid(tmp_path: Path) -> None:
    folder = extract_archive(tmp_path)
    ids = json.loads((folder / "given.json").read_text())
    visitor = ids["visitor"]
    url = f"/api/runs/{visitor['draft']}/files/input/mine.txt"
    with serve_studio(folder / "data", hosts=("studio.example",)) as studio_url:
        with open_client(studio_url, visitor["cookie"]) as visitor_client:
            assert visitor_client.put(url, content=b"mine").status_code == 201
        with open_client(studio_url) as anonymous:
            assert anonymous.get(url).status_code == 401
            headers = {"Authorization": f"Bearer {ids['token']}"}
            rows = anonymous.get("/api/runs", headers=headers).raise_for_status().json()
            assert len(rows["runs"]) >= len(RUNS)
    name, password_hash = ids["users"].split(":", 1)
    assert name == "ann"
    assert verify_password(ids["password"], password_hash)
