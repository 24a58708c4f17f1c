"""The inspector: exact requests, raw responses, settings; hostile text stays text."""

import pytest
from playwright.sync_api import Locator, expect

from agent.events import FileChange, WorkspaceChanged
from tests.agent.runs.outputs.sample_pictures import keep_picture
from tests.support.component.accessibility import violations
from tests.support.component.recorded import recorded
from tests.support.component.scenarios import HOSTILE, KEY
from tests.support.component.server import Answer
from tests.support.component.stage import LOOKS, Look, Stage, looks

pytestmark = pytest.mark.component


@pytest.fixture(autouse=True)
def _requests(stage: Stage) -> None:
    stage.answer_recorded(recorded("inspected_run"))


def mount(stage: Stage, look: Look | None = None, part: str = "") -> None:
    stage.run.add_recorded(recorded("inspected_run"))
    stage.mount("header", "timeline", run=[], look=look, part=part)


def open_request(stage: Stage, step: int) -> Locator:
    stage.button(f"Request of step {step}").press("Enter")  # it moves while steps are loaded
    inspector = stage.page.locator("dialog.inspector")
    expect(inspector.locator(".fidelity")).to_be_visible()
    return inspector


def section(inspector: Locator, title: str) -> Locator:
    return inspector.locator("details.section").filter(has_text=title)


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_a_step_shows_exactly_what_was_sent(stage: Stage, look: Look) -> None:
    mount(stage, look)
    inspector = open_request(stage, 2)
    expect(inspector.locator(".fidelity")).to_contain_text("Exact")
    expect(inspector.locator("dt", has_text="temperature")).to_be_visible()
    expect(section(inspector, "4. Tool result").locator("pre")).to_contain_text("7 gulls")
    system = section(inspector, "1. System prompt")
    expect(system.locator("pre")).to_have_count(0)
    system.locator("summary").click()
    expect(system.locator("pre")).to_contain_text("/workspace/input")
    assert KEY not in inspector.inner_text()
    expect(section(inspector, "3. Model")).to_contain_text(HOSTILE)  # as text
    expect(inspector.locator("img, script")).to_have_count(0)


def test_what_a_guest_may_not_see_is_not_shown(stage: Stage) -> None:
    answer = recorded("inspected_run")["GET steps/2/request for guests"]
    for attempt in (0, 1):
        stage.answer(f"steps/2/request?attempt={attempt}", answer)
    mount(stage, Look(role="guest"))
    inspector = open_request(stage, 2)
    expect(section(inspector, "4. Tool result").locator("pre")).to_contain_text("7 gulls")
    expect(inspector.locator("dt", has_text="Address")).to_have_count(0)
    inspector.get_by_role("tab", name="Response").click()
    expect(inspector.locator(".body")).to_contain_text("shown to the run's owner only")
    assert stage.asked("steps/2/response") == []


def test_a_button_that_is_pressed_while_its_step_changes_opens_the_request(stage: Stage) -> None:
    stage.run.add_recorded(recorded("inspected_run"))
    step = stage.step(1)
    with stage.hold("steps/1"):
        stage.mount("header", "timeline", run=[])
        stage.button("Request of step 1").hover()
        stage.page.mouse.down()
        expect(step.locator(".card-body > *")).to_have_count(0)
    expect(step.locator(".card-body > *")).not_to_have_count(0)  # it is loaded
    stage.run.add(WorkspaceChanged(step=1, changes=(FileChange("output/a", "added"),), total=1))
    expect(step).to_contain_text("+ output/a")
    stage.button("Request of step 1").hover()  # where it is now
    stage.page.mouse.up()
    inspector = stage.page.locator("dialog.inspector")
    expect(inspector.get_by_role("heading", name="Step 1")).to_be_visible()


@pytest.mark.parametrize("look", looks(roles=["owner"]), ids=str)
@pytest.mark.parametrize("page", ["Request", "Response", "Run and settings"])
def test_every_page_is_accessible(stage: Stage, look: Look, page: str) -> None:
    mount(stage, look)
    inspector = open_request(stage, 2)
    inspector.get_by_role("tab", name=page, exact=True).click()
    expect(inspector.locator(".body pre").first).to_be_visible()
    expect(inspector.locator(".body[aria-busy]")).to_have_count(0)  # which is paler
    assert violations(stage.page) == []


def test_retries_have_responses_of_their_own_and_prompts_and_settings_are_on_one_page(
    stage: Stage,
) -> None:
    mount(stage)
    inspector = open_request(stage, 1)
    chooser = inspector.get_by_role("combobox", name="Request of this step")
    expect(chooser.locator("option")).to_have_text(["Request 1 of 2", "Request 2 of 2"])
    inspector.get_by_role("tab", name="Response").click()
    expect(inspector.locator(".whole pre")).to_contain_text("data: [DONE]")
    chooser.select_option(label="Request 1 of 2")
    expect(inspector.locator("dd").first).to_have_text("503")
    inspector.get_by_role("tab", name="Run and settings").click()
    expect(inspector.locator(".facts")).to_contain_text(
        ["Network", "temperature", "Tokens of the conversation"]
    )
    expect(section(inspector, "System prompt").locator("pre")).to_contain_text("/workspace")
    expect(section(inspector, "User message").locator("pre")).to_contain_text("Count.")


def test_a_request_is_searched_and_copied_as_curl_and_python_without_the_key(stage: Stage) -> None:
    mount(stage)
    inspector = open_request(stage, 2)
    field = inspector.get_by_role("searchbox", name="Find in this request")
    field.fill("security_risk or anything else")
    expect(inspector.get_by_role("status")).to_have_text("No matches")
    field.fill("str_replace_editor")
    expect(inspector.get_by_role("status")).to_contain_text("1 of ")
    expect(section(inspector, "1. System prompt")).to_have_attribute("open", "")
    field.press("Escape")
    expect(inspector).to_be_visible()
    for label, word in (("Copy as curl", "curl -N"), ("Copy as Python", "urllib.request")):
        inspector.get_by_role("button", name=label).click()
        expect(inspector.get_by_role("button", name="Copied")).to_be_visible()
        text = stage.clipboard()
        assert word in text
        assert "OPENAI_API_KEY" in text
        assert KEY not in text
        expect(inspector.get_by_role("button", name=label)).to_be_visible()


def test_the_key_i_opens_it_and_brackets_move_between_steps(stage: Stage) -> None:
    mount(stage, part="#step-1")
    expect(stage.page.locator("#step-1.linked")).to_be_visible()
    stage.page.locator("#step-1 .step-number").focus()
    stage.page.keyboard.press("i")
    inspector = stage.page.locator("dialog.inspector")
    expect(inspector.get_by_role("heading", name="Step 1")).to_be_visible()
    stage.page.keyboard.press("]")
    expect(inspector.get_by_role("heading", name="Step 2")).to_be_visible()
    stage.page.keyboard.press("Escape")
    expect(inspector).to_have_count(0)


def test_a_run_of_an_earlier_version_says_what_is_missing(stage: Stage) -> None:
    answer = recorded("inspected_run")["GET steps/2/request without records"]
    stage.answer("steps/2/request?attempt=0", answer)
    stage.answer("steps/2/request?attempt=1", answer)
    mount(stage)
    inspector = open_request(stage, 2)
    expect(inspector.locator(".fidelity")).to_contain_text("an earlier version made this run")
    expect(section(inspector, "4. Tool result").locator("pre")).to_contain_text("7 gulls")
    inspector.get_by_role("tab", name="Response").click()
    expect(inspector.locator(".body")).to_contain_text("is not recorded")


def test_the_pictures_of_a_request_are_folded(stage: Stage) -> None:
    picture = keep_picture(stage.run.folder.outputs, "output/chart.png")
    answer = recorded("inspected_run")["GET steps/2/request?attempt=0"]
    url = f"data:image/png;base64,[{picture.file}: {picture.size:,} bytes]"
    parts = [
        {"type": "text", "text": picture.description},
        {"type": "image_url", "image_url": {"url": url}},
    ]
    answer["body"]["messages"].append({"role": "user", "content": parts})
    stage.answer("steps/2/request?attempt=0", answer)
    data = (stage.run.folder.outputs / picture.file).read_bytes()
    stage.answer(f"outputs/{picture.file}", Answer(content=data, kind="image/png"))
    mount(stage)
    inspector = open_request(stage, 2)
    assert not stage.asked(f"outputs/{picture.file}")
    inspector.get_by_text(f"Picture 1, {picture.size:,} bytes").click()
    image = inspector.get_by_role("img", name="Picture 1")
    expect(image).to_have_js_property("naturalWidth", 640)
