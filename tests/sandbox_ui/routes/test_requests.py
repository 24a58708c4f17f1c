"""Routes of requests: what the owner, the operator and the viewer of a shared link see."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from agent import prompts
from agent.limits import Limits
from agent.models.base import ModelConfig
from agent.models.endpoint.client import EndpointModel
from agent.runs.disk_usage import bytes_on_disk
from agent.runs.folder import RunFolder
from agent.runs.recorded_run import RecordedRun, Task
from sandbox_ui.auth.passwords import hash_password
from tests.support import httpx
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.server import serve_studio

pytestmark = pytest.mark.contract

WORD = "correct horse"
USERS = tuple((name, hash_password(WORD, log_n=10)) for name in ("ann", "root"))
SUBMIT = Turn(text="Done <b>now</b>.", calls=[("submit", {})])


class Studio:
    """A Studio with two accounts, of which ``root`` is the operator, and an endpoint."""

    def __init__(self, stack: ExitStack, data: Path) -> None:
        self.data = data
        self.url = stack.enter_context(serve_studio(data, users=USERS, operators=("root",)))
        self.endpoint = stack.enter_context(Endpoint(lambda _: SUBMIT))
        self._stack = stack
        self.ann, self.root = self.sign_in("ann"), self.sign_in("root")

    def client(self) -> httpx.Client:
        return self._stack.enter_context(httpx.Client(base_url=self.url, follow_redirects=True))

    def sign_in(self, name: str) -> httpx.Client:
        client = self.client()
        client.post("/login", data={"name": name, "password": WORD})
        return client

    def play(self, *, entered_by_owner: bool) -> str:
        """Play a run of Ann with the operator's endpoint or one that she entered."""
        run: str = self.ann.post("/api/runs").json()["run"]
        config = ModelConfig(self.endpoint.url, "m", "sk-key-of-nobody", extra_body={"user": "ann"})
        model = EndpointModel(config)
        # An address of this machine is refused to users; it stands for one on the internet.
        model._config = ModelConfig(
            config.base_url, "m", config.api_key, extra_body=config.extra_body,
            public_only=entered_by_owner,
        )  # fmt: skip
        with RecordedRun(
            RunFolder.open(self.data, run), LocalSandboxProvider(self.data)
        ) as recorded:
            list(recorded.start(Task("Do it.", prompts.get_bundled("general")), model, Limits()))
        return run


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    with ExitStack() as stack:
        yield Studio(stack, tmp_path_factory.mktemp("data"))


def test_the_owner_sees_the_exact_request_and_the_raw_response(studio: Studio) -> None:
    run = studio.play(entered_by_owner=True)
    request = studio.ann.get(f"/api/runs/{run}/steps/1/request").json()
    assert (request["fidelity"], request["attempts"]) == ("exact", 1)
    assert request["body"] == studio.endpoint.received[-1].body
    assert request["url"] == f"{studio.endpoint.url}/chat/completions"
    assert request["hidden"] == []
    answer = studio.ann.get(f"/api/runs/{run}/steps/1/response")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.text.startswith("data: {")
    curl = studio.ann.get(f"/api/runs/{run}/steps/1/request?as=curl").text
    assert "Bearer $OPENAI_API_KEY" in curl
    assert "sk-key-of-nobody" not in curl


def test_the_operators_endpoint_is_shown_to_the_operator_only(studio: Studio) -> None:
    run = studio.play(entered_by_owner=False)
    path = f"/api/runs/{run}/steps/1/request"
    assert studio.ann.get(path).json()["url"] is None
    assert studio.endpoint.url not in studio.ann.get(f"{path}?as=python").text
    assert studio.root.get(path).json()["url"]
    assert studio.ann.get(f"/api/runs/{run}/requests").json()["endpoints"] == []
    assert studio.root.get(f"/api/runs/{run}/requests").json()["endpoints"]


def test_a_shared_link_shows_the_conversation_but_nothing_of_the_endpoint(studio: Studio) -> None:
    run = studio.play(entered_by_owner=True)
    guest = studio.client()
    guest.get(f"/{studio.ann.post(f'/api/runs/{run}/links').json()['path']}")
    path = f"/api/runs/{run}/steps/1"
    request = guest.get(f"{path}/request").json()
    assert [each["role"] for each in request["body"]["messages"]] == ["system", "user"]
    assert (request["url"], request["sha256"], request["hidden"]) == (None, None, ["user"])
    refused = guest.get(f"{path}/response")
    assert (refused.status_code, "owner only" in refused.json()["error"]) == (403, True)
    texts = [
        guest.get(f"{path}/request").text,
        *(guest.get(f"{path}/request?as={form}").text for form in ("curl", "python", "json")),
        guest.get(f"/api/runs/{run}/requests").text,
    ]
    for text in texts:
        assert studio.endpoint.url not in text
        assert '"user":"ann"' not in text.replace(" ", "")


def test_a_request_that_does_not_exist_is_not_found(studio: Studio) -> None:
    run = studio.play(entered_by_owner=True)
    for path in ("steps/2/request", "steps/1/request?attempt=2", "steps/1/request?as=x"):
        assert studio.ann.get(f"/api/runs/{run}/{path}").status_code == 404
    assert studio.ann.get(f"/api/runs/{run}/steps/1/response?attempt=9").status_code == 404


def test_all_settings_of_a_run_are_in_one_place(studio: Studio) -> None:
    run = studio.play(entered_by_owner=True)
    settings = studio.ann.get(f"/api/runs/{run}/requests").json()
    (opening,) = settings["rounds"]
    assert opening["system"] == prompts.get_bundled("general").system
    assert opening["limits"]["steps"] == 100
    assert settings["parameters"]["user"] == "ann"
    assert "submit" in settings["tools"]
    assert [(each["step"], each["status"]) for each in settings["requests"]] == [(1, 200)]


def test_requests_and_responses_count_as_storage_and_go_with_the_run(studio: Studio) -> None:
    run = studio.play(entered_by_owner=True)
    folder = RunFolder.open(studio.data, run)
    assert bytes_on_disk(folder.path) >= bytes_on_disk(folder.requests) > 8_000
    assert studio.ann.delete(f"/api/runs/{run}").status_code == 200
    assert not folder.path.exists()
