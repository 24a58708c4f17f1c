"""The inspector in a browser: exact requests, raw responses, settings; hostile text stays text."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from agent import prompts
from agent.limits import Limits
from agent.models.base import ModelConfig
from agent.models.endpoint.client import EndpointModel
from agent.runs.folder import RunFolder
from agent.runs.recorded_run import RecordedRun, Task
from agent.settings import Settings
from tests.agent.runs.test_recorded_run import LocalProvider
from tests.static.test_states import violations
from tests.support import httpx
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.server import create_app, run_server
from tests.support.tab import NARROW, WIDE, StudioTab, open_studio

pytestmark = pytest.mark.browser

KEY = "sk-secret-0123456789"
HOSTILE = "<img src=x onerror=alert(1)></pre><script>alert(2)</script>"
TURNS = (
    Turn(fault="503"),
    Turn(reasoning="Gulls?", text=HOSTILE, calls=[("execute_bash", {"command": "echo 7 gulls"})]),
    Turn(text="Seven gulls.", calls=[("submit", {})]),
)


class Server:
    """A running application with runs that an endpoint has answered."""

    def __init__(self, url: str, data: Path) -> None:
        self.url, self.data = url, data

    def play(self) -> str:
        run: str = httpx.post(f"{self.url}/api/runs").json()["run"]
        task = Task(f"Count. {HOSTILE}", prompts.get_bundled("general"))
        with (
            Endpoint(TURNS) as endpoint,
            RecordedRun(RunFolder.open(self.data, run), LocalProvider(self.data)) as recorded,
        ):
            model = EndpointModel(ModelConfig(endpoint.url, "m", KEY, temperature=0.7))
            list(recorded.start(task, model, Limits(backoff=0.0)))
        return run


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data = tmp_path_factory.mktemp("data")
    with run_server(create_app(Settings(data=data), LocalSandboxProvider(data))) as url:
        yield Server(url, data)


@pytest.fixture(scope="module")
def run(server: Server) -> str:
    return server.play()


def open_request(studio: StudioTab, step: int) -> Locator:
    studio.button(f"Request of step {step}").click()
    inspector = studio.page.locator("dialog.inspector")
    expect(inspector.locator(".fidelity")).to_be_visible()
    return inspector


def section(inspector: Locator, title: str) -> Locator:
    return inspector.locator("details.section").filter(has_text=title)


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_a_step_shows_exactly_what_was_sent(
    browser: Browser, server: Server, run: str, size: tuple[int, int]
) -> None:
    with open_studio(browser, f"{server.url}/?run={run}", size) as studio:
        inspector = open_request(studio, 2)
        expect(inspector.locator(".fidelity")).to_contain_text("Exact")
        expect(inspector.locator("dt", has_text="temperature")).to_be_visible()
        expect(section(inspector, "4. Tool result").locator("pre")).to_contain_text("7 gulls")
        system = section(inspector, "1. System prompt")
        expect(system.locator("pre")).to_have_count(0)
        system.locator("summary").click()
        expect(system.locator("pre")).to_contain_text("/workspace/input")
        assert KEY not in inspector.inner_text()


@pytest.mark.parametrize("page", ["Request", "Response", "Run and settings"])
def test_every_page_is_accessible(browser: Browser, server: Server, run: str, page: str) -> None:
    with open_studio(browser, f"{server.url}/?run={run}") as studio:
        inspector = open_request(studio, 2)
        inspector.get_by_role("tab", name=page, exact=True).click()
        expect(inspector.locator(".body pre").first).to_be_visible()
        assert violations(studio.page) == []


def test_hostile_text_stays_text(browser: Browser, server: Server, run: str) -> None:
    with open_studio(browser, f"{server.url}/?run={run}") as studio:
        inspector = open_request(studio, 2)
        expect(section(inspector, "3. Model")).to_contain_text(HOSTILE)
        expect(inspector.locator("img, script")).to_have_count(0)


def test_retries_are_requests_of_their_own_with_their_responses(
    browser: Browser, server: Server, run: str
) -> None:
    with open_studio(browser, f"{server.url}/?run={run}") as studio:
        inspector = open_request(studio, 1)
        chooser = inspector.get_by_role("combobox", name="Request of this step")
        expect(chooser.locator("option")).to_have_text(["Request 1 of 2", "Request 2 of 2"])
        inspector.get_by_role("tab", name="Response").click()
        expect(inspector.locator(".whole pre")).to_contain_text("data: [DONE]")
        chooser.select_option(label="Request 1 of 2")
        expect(inspector.locator("dd").first).to_have_text("503")


def test_all_sections_are_searched_and_the_ones_with_matches_open(
    browser: Browser, server: Server, run: str
) -> None:
    with open_studio(browser, f"{server.url}/?run={run}") as studio:
        inspector = open_request(studio, 2)
        field = inspector.get_by_role("searchbox", name="Find in this request")
        field.fill("security_risk or anything else")
        expect(inspector.get_by_role("status")).to_have_text("No matches")
        field.fill("str_replace_editor")
        expect(inspector.get_by_role("status")).to_contain_text("1 of ")
        expect(section(inspector, "1. System prompt")).to_have_attribute("open", "")
        field.press("Escape")
        expect(inspector).to_be_visible()


def test_a_request_is_copied_as_curl_and_python_without_the_key(
    browser: Browser, server: Server, run: str
) -> None:
    with open_studio(browser, f"{server.url}/?run={run}") as studio:
        studio.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        inspector = open_request(studio, 2)
        for label, word in (("Copy as curl", "curl -N"), ("Copy as Python", "urllib.request")):
            inspector.get_by_role("button", name=label).click()
            expect(inspector.get_by_role("button", name="Copied")).to_be_visible()
            text = studio.page.evaluate("navigator.clipboard.readText()")
            assert word in text
            assert "OPENAI_API_KEY" in text
            assert KEY not in text
            expect(inspector.get_by_role("button", name=label)).to_be_visible()


def test_the_key_i_opens_it_and_brackets_move_between_steps(
    browser: Browser, server: Server, run: str
) -> None:
    with open_studio(browser, f"{server.url}/?run={run}#step-1") as studio:
        expect(studio.page.locator("#step-1.linked")).to_be_visible()
        studio.page.locator("#step-1 .step-number").focus()
        studio.page.keyboard.press("i")
        inspector = studio.page.locator("dialog.inspector")
        expect(inspector.get_by_role("heading", name="Step 1")).to_be_visible()
        studio.page.keyboard.press("]")
        expect(inspector.get_by_role("heading", name="Step 2")).to_be_visible()
        studio.page.keyboard.press("Escape")
        expect(inspector).to_have_count(0)


def test_the_prompts_and_settings_of_a_run_are_on_one_page(
    browser: Browser, server: Server, run: str
) -> None:
    with open_studio(browser, f"{server.url}/?run={run}") as studio:
        inspector = open_request(studio, 1)
        inspector.get_by_role("tab", name="Run and settings").click()
        expect(inspector.locator(".facts")).to_contain_text(
            ["Network", "temperature", "Tokens of the conversation"]
        )
        expect(section(inspector, "System prompt").locator("pre")).to_contain_text("/workspace")
        expect(section(inspector, "User message").locator("pre")).to_contain_text("Count.")


def test_a_run_of_an_earlier_version_says_what_is_missing(browser: Browser, server: Server) -> None:
    run = server.play()
    for path in RunFolder.open(server.data, run).requests.iterdir():
        path.unlink()
    with open_studio(browser, f"{server.url}/?run={run}") as studio:
        inspector = open_request(studio, 2)
        expect(inspector.locator(".fidelity")).to_contain_text("an earlier version made this run")
        expect(section(inspector, "4. Tool result").locator("pre")).to_contain_text("7 gulls")
        inspector.get_by_role("tab", name="Response").click()
        expect(inspector.locator(".body")).to_contain_text("is not recorded")
