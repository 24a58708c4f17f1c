"""Routes of requests: what the owner, the operator and the viewer of a shared link see."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from agent import prompts
from agent.limits import Limits
from agent.models.base import ModelConfig
from agent.models.endpoint.client import EndpointModel
from agent.runs.disk_usage import bytes_on_disk
from agent.runs.folder import RunFolder
from agent.runs.recorded_run import RecordedRun, Task
from tests.sandbox_ui.accounts import accounts, signed_in
from tests.support import httpx
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.server import serve_studio

pytestmark = pytest.mark.contract

SUBMIT = Turn(text="Done <b>now</b>.", calls=[("submit", {})])


class Studio:
    """A Studio with two accounts, of which ``root`` is the operator, and an endpoint."""

    def __init__(self, stack: ExitStack, data: Path) -> None:
        self.data = data
        users = accounts("ann", "root")
        self.url = stack.enter_context(serve_studio(data, users=users, operators=("root",)))
        self.endpoint = stack.enter_context(Endpoint(lambda _: SUBMIT))
        self.ann = stack.enter_context(signed_in(self.url, "ann"))
        self.root = stack.enter_context(signed_in(self.url, "root"))

    def play(self, *, entered_by_owner: bool) -> str:
        """Play a run of Ann with the operator's endpoint or one that she entered."""
        run: str = self.ann.post("/api/runs").json()["run"]
        config = ModelConfig(self.endpoint.url, "m", "sk-key-of-nobody", extra_body={"user": "ann"})
        model = EndpointModel(config)
        # An address of this machine is refused to users; it stands for one on the internet.
        model._config = replace(config, public_only=entered_by_owner)
        folder, provider = RunFolder.open(self.data, run), LocalSandboxProvider(self.data)
        with RecordedRun(folder, provider) as recorded:
            list(recorded.start(Task("Do it.", prompts.get_bundled("general")), model, Limits()))
        return run


@pytest.fixture(scope="module")
def studio(data: Path) -> Iterator[Studio]:
    with ExitStack() as stack:
        yield Studio(stack, data)


@pytest.fixture(scope="module")
def run(studio: Studio) -> str:
    """A run of Ann with an endpoint that she entered."""
    return studio.play(entered_by_owner=True)


def test_the_owner_sees_the_settings_the_exact_request_and_the_raw_response(
    studio: Studio, run: str
) -> None:
    step = f"/api/runs/{run}/steps/1"
    request = studio.ann.get(f"{step}/request").json()
    assert (request["fidelity"], request["attempts"]) == ("exact", 1)
    assert request["body"] == studio.endpoint.received[-1].body
    assert request["url"] == f"{studio.endpoint.url}/chat/completions"
    assert request["hidden"] == []
    answer = studio.ann.get(f"{step}/response")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.text.startswith("data: {")
    curl = studio.ann.get(f"{step}/request?as=curl").text
    assert "Bearer $OPENAI_API_KEY" in curl
    assert "sk-key-of-nobody" not in curl
    missing = (f"{step[:-1]}2/request", f"{step}/request?attempt=2", f"{step}/request?as=x")
    for path in (*missing, f"{step}/response?attempt=9"):
        assert studio.ann.get(path).status_code == 404, path
    settings = studio.ann.get(f"/api/runs/{run}/requests").json()
    (opening,) = settings["rounds"]
    assert opening["system"] == prompts.get_bundled("general").system
    assert opening["limits"]["steps"] == 100
    assert settings["parameters"]["user"] == "ann"
    assert "submit" in settings["tools"]
    assert [(each["step"], each["status"]) for each in settings["requests"]] == [(1, 200)]


def test_the_operators_endpoint_is_shown_to_the_operator_only(studio: Studio) -> None:
    run = studio.play(entered_by_owner=False)
    path = f"/api/runs/{run}/steps/1/request"
    assert studio.ann.get(path).json()["url"] is None
    assert studio.endpoint.url not in studio.ann.get(f"{path}?as=python").text
    assert studio.root.get(path).json()["url"]
    assert studio.ann.get(f"/api/runs/{run}/requests").json()["endpoints"] == []
    assert studio.root.get(f"/api/runs/{run}/requests").json()["endpoints"]


def test_a_shared_link_shows_the_conversation_but_nothing_of_the_endpoint(
    studio: Studio, run: str
) -> None:
    path = f"/api/runs/{run}/steps/1"
    with httpx.Client(base_url=studio.url, follow_redirects=True) as guest:
        guest.get(f"/{studio.ann.post(f'/api/runs/{run}/links').json()['path']}")
        request = guest.get(f"{path}/request").json()
        refused = guest.get(f"{path}/response")
        texts = [
            guest.get(f"{path}/request").text,
            *(guest.get(f"{path}/request?as={form}").text for form in ("curl", "python", "json")),
            guest.get(f"/api/runs/{run}/requests").text,
        ]
    assert [each["role"] for each in request["body"]["messages"]] == ["system", "user"]
    assert (request["url"], request["sha256"], request["hidden"]) == (None, None, ["user"])
    assert (refused.status_code, "owner only" in refused.json()["error"]) == (403, True)
    for text in texts:
        assert studio.endpoint.url not in text
        assert '"user":"ann"' not in text.replace(" ", "")


def test_requests_and_responses_count_as_storage_and_go_with_the_run(studio: Studio) -> None:
    run = studio.play(entered_by_owner=True)
    folder = RunFolder.open(studio.data, run)
    assert bytes_on_disk(folder.path) >= bytes_on_disk(folder.requests) > 8_000
    assert studio.ann.delete(f"/api/runs/{run}").status_code == 200
    assert not folder.path.exists()
