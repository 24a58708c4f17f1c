"""Forks in the browser: from a step, of a message, and of a step that is done again."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from agent.runs.parent import Parent
from agent.settings import Settings
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Call, Endpoint, Turn
from tests.support.recorded_runs import write_ended_run
from tests.support.server import create_app, run_server
from tests.support.tab import NARROW, WIDE, StudioTab, open_studio

pytestmark = pytest.mark.browser

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
SUBMIT = Turn(text="Done.", calls=[Call("submit")])


def bash(command: str) -> Turn:
    return Turn(calls=[Call("execute_bash", {"command": command})])


class Script:
    """An endpoint's turns, which a test sets, and the requests that it received."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.requests: list[dict[str, Any]] = []

    def __call__(self, body: dict[str, Any]) -> Turn:
        self.requests.append(body)
        return self.turns.pop(0)


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def studio(browser: Browser, tmp_path: Path, script: Script) -> Iterator[StudioTab]:
    with Endpoint(script) as endpoint:
        settings = Settings(data=tmp_path, base_url=endpoint.url, model="test-model")
        with (
            run_server(create_app(settings, LocalSandboxProvider(tmp_path))) as at,
            open_studio(browser, at) as studio,
        ):
            yield studio


def shoot(studio: StudioTab, name: str) -> None:
    if folder := os.environ.get("SHOTS"):
        studio.page.screenshot(path=f"{folder}/{name}.png")


def test_a_step_is_forked_with_another_model_and_done_again(
    studio: StudioTab, script: Script
) -> None:
    page, timeline = studio.page, studio.timeline
    script.turns = [bash("printf one > a.txt"), bash("printf two > a.txt"), SUBMIT]
    studio.send("Write a file")
    expect(studio.state).to_contain_text("submitted")
    parent = page.url

    page.locator("#step-1").hover()
    shoot(studio, "hover")
    studio.button("Fork from here, step 1").click()
    dialog = page.get_by_role("dialog", name="Fork from step 1")
    expect(dialog.get_by_text("Running processes")).to_be_visible()
    dialog.get_by_label("Message").fill("Now write three")
    dialog.get_by_label("Model").fill("other-model")
    shoot(studio, "dialog")
    violations = Axe().run(page, context="dialog.fork").response["violations"]
    assert [each["id"] for each in violations] == []
    script.turns = [bash("cat a.txt; printf three > b.txt"), SUBMIT]
    dialog.get_by_role("button", name="Fork").click()
    expect(timeline.locator(".task").last).to_contain_text("Now write three")
    expect(studio.state).to_contain_text("submitted")
    shoot(studio, "fork")
    assert page.url != parent
    assert script.requests[3]["model"] == "other-model"
    assert [each["role"] for each in script.requests[3]["messages"]] == [
        "system", "user", "assistant", "tool", "user",
    ]  # fmt: skip
    assert script.requests[3]["messages"][:3] == script.requests[1]["messages"][:3]
    expect(timeline.get_by_text("Step 1 is a copy.")).to_be_visible()
    expect(timeline.locator(".card").filter(has_text="cat a.txt")).to_contain_text("one")
    expect(studio.file("b.txt")).to_be_visible()

    timeline.get_by_role("button", name="fork of Write a file").click()
    expect(timeline.get_by_text("1 fork")).to_be_visible()
    expect(page).to_have_url(f"{parent}#step-1")
    timeline.get_by_role("button", name="1 fork").click()
    shoot(studio, "parent")
    tree = page.get_by_role("tree", name="Forks and replays")
    expect(tree.get_by_role("treeitem").last).to_contain_text("fork at step 1")
    page.keyboard.press("Escape")

    script.turns = [bash("printf again > c.txt"), SUBMIT]
    page.locator("#step-2").hover()
    studio.button("Retry this step, step 2").click()
    expect(timeline.get_by_text("The model goes on without a message.")).to_be_visible()
    expect(studio.file("c.txt")).to_be_visible()
    expect(studio.state).to_contain_text("submitted")
    assert [each["role"] for each in script.requests[5]["messages"]][-1] == "tool"
    shoot(studio, "retry")


def test_a_fork_uses_another_endpoint_with_its_own_key(
    studio: StudioTab, script: Script, tmp_path: Path
) -> None:
    page, secret = studio.page, "sk-of-the-other-endpoint"
    studio.button("Settings").click()
    page.locator("#key input").fill("sk-of-the-settings")
    page.keyboard.press("Escape")
    script.turns = [bash("printf one > a.txt"), SUBMIT]
    studio.send("Write a file")
    expect(studio.state).to_contain_text("submitted")
    page.locator("#step-1").hover()
    studio.button("Continue with another model, step 1").click()
    dialog = page.get_by_role("dialog", name="Continue after step 1")
    dialog.get_by_label("Model").fill("theirs")
    dialog.get_by_text("Another endpoint").click()
    dialog.get_by_label("API key").fill(secret)
    dialog.get_by_role("button", name="Fork").click()
    expect(dialog.get_by_role("status")).to_contain_text("Enter the base URL")
    violations = Axe().run(page, context="dialog.fork").response["violations"]
    assert [each["id"] for each in violations] == []
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        for size in (NARROW, WIDE):
            page.set_viewport_size({"width": size[0], "height": size[1]})
            shoot(studio, f"endpoint-{scheme}-{size[0]}")
    with Endpoint(lambda _: SUBMIT) as other:
        dialog.get_by_label("Base URL").fill(other.url)
        dialog.get_by_role("button", name="Fork").click()
        expect(studio.timeline.get_by_text("Step 1 is a copy.")).to_be_visible()
        expect(studio.state).to_contain_text("submitted")
        assert [each.headers["authorization"] for each in other.requests] == [f"Bearer {secret}"]
        assert other.requests[0].body["model"] == "theirs"
    assert secret not in page.content()
    assert secret not in page.evaluate("JSON.stringify({ ...localStorage, ...sessionStorage })")
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert secret.encode() not in file.read_bytes(), file

    with Endpoint(lambda _: SUBMIT) as third:
        page.locator("#step-1").hover()
        studio.button("Fork from here, step 1").click()
        dialog = page.get_by_role("dialog", name="Fork from step 1")
        dialog.get_by_text("Another endpoint").click()
        dialog.get_by_label("Base URL").fill(third.url)
        dialog.get_by_role("button", name="Fork").click()
        assert third.wait_for_requests(1)
        expect(studio.state).to_contain_text("submitted")
        sent = "".join(third.requests[0].headers.values())
        assert "sk-of-the-settings" not in sent
        assert secret not in sent


def test_a_family_is_a_tree_in_the_head_of_a_run_and_in_the_history(
    studio: StudioTab, tmp_path: Path
) -> None:
    page = studio.page
    first = write_ended_run(tmp_path, "Chart the length of the day <b>in</b> Tromsø", model="one")
    second = write_ended_run(
        tmp_path, "Chart the length of the day in Oslo, by week and with a legend that names all",
        model="another-model", parent=Parent(first.id, 1), status="failed",
    )  # fmt: skip
    deleted = write_ended_run(tmp_path, "Gone", parent=Parent(second.id, 1))
    write_ended_run(tmp_path, "Chart it as a map", parent=Parent(deleted.id, 2))
    write_ended_run(tmp_path, "Chart it again", parent=Parent(first.id, 0, kind="replay"))
    rmtree(deleted.path)
    studio.open(f"{page.url}?run={second.id}")
    expect(studio.timeline.get_by_role("button", name="fork of Chart the length")).to_be_visible()
    studio.timeline.get_by_role("button", name="all forks and replays").click()
    tree = page.get_by_role("tree", name="Forks and replays")
    rows = tree.get_by_role("treeitem")
    expect(rows).to_have_count(3)
    expect(rows.nth(0)).to_contain_text("<b>in</b>")
    expect(rows.nth(1)).to_contain_text("replay")
    expect(rows.nth(2)).to_contain_text("this run")
    expect(rows.nth(2)).to_contain_text("failed")
    expect(rows.nth(2)).to_be_focused()
    assert [
        each["id"] for each in Axe().run(page, context="dialog.family").response["violations"]
    ] == []
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        for size in (WIDE, NARROW):
            page.set_viewport_size({"width": size[0], "height": size[1]})
            shoot(studio, f"family-{scheme}-{size[0]}")
    page.keyboard.press("ArrowLeft")
    expect(rows.nth(0)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(first.id))
    expect(studio.timeline.get_by_role("button", name="1 fork")).to_be_visible()

    page.keyboard.press("Control+k")
    row = page.locator(f".entry[data-run='{second.id}']")
    expect(row).to_contain_text("Fork at step 1 of Chart the length of the day <b>in</b> Tromsø")
    expect(page.locator(".entry", has_text="Chart it as a map")).to_contain_text("cannot open")
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        for size in (NARROW, WIDE):
            page.set_viewport_size({"width": size[0], "height": size[1]})
            shoot(studio, f"history-{scheme}-{size[0]}")
    row.get_by_role("button", name="Forks and replays of").click()
    expect(rows).to_have_count(3)
    rows.nth(2).click()
    expect(page).to_have_url(re.compile(second.id))
    expect(page.locator("dialog[open]")).to_have_count(0)


def test_the_last_message_is_edited_and_sent_again(studio: StudioTab, script: Script) -> None:
    timeline = studio.timeline
    script.turns = [bash("printf one > input/made.txt"), SUBMIT]
    studio.send("Write one")
    expect(studio.state).to_contain_text("submitted")
    studio.button("Edit and retry…").click()
    dialog = studio.page.get_by_role("dialog", name="Edit and retry")
    expect(dialog.get_by_label("Message")).to_have_value("Write one")
    dialog.get_by_label("Message").fill("Write two")
    script.turns = [bash("ls input; printf two > two.txt"), SUBMIT]
    dialog.get_by_role("button", name="Fork").click()
    expect(timeline.locator(".task")).to_have_count(1)
    expect(timeline.locator(".task")).to_contain_text("Write two")
    expect(studio.file("two.txt")).to_be_visible()
    expect(studio.file("made.txt")).to_have_count(0)
    expect(timeline.get_by_role("button", name="fork of Write one")).to_contain_text(
        "from its start"
    )
