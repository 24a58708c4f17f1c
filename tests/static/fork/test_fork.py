"""Forks on the page: from a step, of a message, and of a step that is done again."""

import re
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from agent.runs.folder import Parent
from tests.support.component.accessibility import check_accessible
from tests.support.component.routes import LocalStudio
from tests.support.component.stage import looks
from tests.support.models.endpoint import Endpoint, ScriptedTurns
from tests.support.models.turns import SUBMIT, bash
from tests.support.server import serve_studio
from tests.support.tab import open_studio

pytestmark = pytest.mark.component


@pytest.mark.browser
@pytest.mark.e2e("forks a run after a step for another model, and does a step again")
def test_a_step_is_forked_with_another_model_and_done_again(
    browser: Browser, tmp_path: Path
) -> None:
    script = ScriptedTurns()
    script.turns = [bash("printf one > a.txt"), bash("printf two > a.txt"), SUBMIT]
    with (
        Endpoint(script) as endpoint,
        serve_studio(tmp_path, base_url=endpoint.url, model="test-model") as at,
        open_studio(browser, at) as studio,
    ):
        page, timeline = studio.page, studio.timeline
        studio.send("Write a file")
        expect(studio.state).to_contain_text("submitted")
        parent = page.url
        page.locator("#step-1").hover()
        studio.button("Fork from here, step 1").click()
        dialog = page.get_by_role("dialog", name="Fork from step 1")
        dialog.get_by_label("Message").fill("Now write three")
        dialog.get_by_label("Model").fill("other-model")
        script.turns = [bash("cat a.txt; printf three > b.txt"), SUBMIT]
        dialog.get_by_role("button", name="Fork").click()
        expect(timeline.locator(".task").last).to_contain_text("Now write three")
        expect(studio.state).to_contain_text("submitted")
        assert page.url != parent
        sent = [each.body for each in endpoint.requests]
        assert sent[3]["model"] == "other-model"
        assert roles(sent[3]) == ["system", "user", "assistant", "tool", "user"]
        assert sent[3]["messages"][:3] == sent[1]["messages"][:3]
        expect(timeline.get_by_text("Step 1 is a copy.")).to_be_visible()
        expect(timeline.locator(".card").filter(has_text="cat a.txt")).to_contain_text("one")
        expect(studio.file("b.txt")).to_be_visible()

        timeline.get_by_role("button", name="fork of Write a file").click()
        expect(page).to_have_url(f"{parent}#step-1")
        script.turns = [bash("printf again > c.txt"), SUBMIT]
        page.locator("#step-2").hover()
        studio.button("Retry this step, step 2").click()
        expect(timeline.get_by_text("The model goes on without a message.")).to_be_visible()
        expect(studio.file("c.txt")).to_be_visible()
        expect(studio.state).to_contain_text("submitted")
        assert roles(endpoint.requests[5].body)[-1] == "tool"


def roles(request: dict[str, Any]) -> list[str]:
    return [each["role"] for each in request["messages"]]


def test_a_fork_uses_another_endpoint_whose_key_is_kept_nowhere(studio: LocalStudio) -> None:
    page, secret = studio.page, "sk-of-the-other-endpoint"
    studio.show(studio.write("Write a file"))
    studio.stage.step(1).hover()
    studio.stage.button("Continue with another model, step 1").click()
    dialog = page.get_by_role("dialog", name="Continue after step 1")
    expect(dialog.get_by_text("Running processes")).to_be_visible()
    expect(dialog.get_by_label("Model")).to_be_focused()
    dialog.get_by_label("Message").fill("Go on")
    dialog.get_by_label("Model").fill("theirs")
    dialog.get_by_text("Another endpoint").click()
    dialog.get_by_label("API key").fill(secret)
    dialog.get_by_role("button", name="Fork").click()
    expect(dialog.get_by_role("status")).to_contain_text("Enter the base URL")
    check_accessible(studio.stage, "dialog.fork", looks(roles=["owner"]))
    dialog.get_by_label("Base URL").fill("http://other.example/v1")
    dialog.get_by_role("button", name="Fork").click()
    expect(dialog).to_have_count(0)
    expect(studio.stage.timeline.get_by_text("Step 1 is a copy.")).to_be_visible()
    expect(studio.stage.timeline.locator(".task").last).to_contain_text("Go on")
    options: dict[str, Any] = {
        "base_url": "http://other.example/v1", "api_key": secret, "model": "theirs",
        "max_steps": 100,
    }  # fmt: skip
    (sent,) = studio.stage.sent
    assert sent["message"] == {"text": "Go on", "resume": False, "options": options}
    assert sent["run"] != studio.stage.run.id
    assert secret not in page.content()
    assert secret not in page.evaluate("JSON.stringify({ ...localStorage, ...sessionStorage })")
    for file in studio.data.rglob("*"):
        assert not file.is_file() or secret.encode() not in file.read_bytes(), file


def test_a_family_is_a_tree_in_the_head_of_a_run_and_in_the_history(studio: LocalStudio) -> None:
    page, timeline = studio.page, studio.stage.timeline
    first = studio.write("Chart the length of the day <b>in</b> Tromsø", model="one")
    second = studio.write(
        "Chart the length of the day in Oslo, by week and with a legend that names all",
        model="another-model", parent=Parent(first.id, 1), status="failed",
    )  # fmt: skip
    deleted = studio.write("Gone", parent=Parent(second.id, 1))
    studio.write("Chart it as a map", parent=Parent(deleted.id, 2))
    studio.write("Chart it again", parent=Parent(first.id, 0, kind="replay"))
    rmtree(deleted.path)
    studio.show(second)
    expect(timeline.get_by_role("button", name="fork of Chart the length")).to_be_visible()
    timeline.get_by_role("button", name="all forks and replays").click()
    rows = page.get_by_role("tree", name="Forks and replays").get_by_role("treeitem")
    expect(rows).to_have_count(3)
    expect(rows.nth(0)).to_contain_text("<b>in</b>")
    expect(rows.nth(1)).to_contain_text("replay")
    for text in ("this run", "fork at step 1", "failed"):
        expect(rows.nth(2)).to_contain_text(text)
    expect(rows.nth(2)).to_be_focused()
    check_accessible(studio.stage, "dialog.family", looks(roles=["owner"]))
    page.keyboard.press("ArrowLeft")
    expect(rows.nth(0)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(first.id))
    expect(timeline.get_by_role("button", name="1 fork")).to_be_visible()

    studio.open_history()
    row = page.locator(f".entry[data-run='{second.id}']")
    expect(row).to_contain_text("Fork at step 1 of Chart the length of the day <b>in</b> Tromsø")
    expect(studio.entry("Chart it as a map")).to_contain_text("cannot open")
    row.get_by_role("button", name="Forks and replays of").click()
    expect(rows).to_have_count(3)
    rows.nth(2).click()
    expect(page).to_have_url(re.compile(second.id))
    expect(page.locator("dialog[open]")).to_have_count(0)


def test_the_last_message_is_edited_and_sent_again(studio: LocalStudio) -> None:
    studio.show(studio.write("Write one", files={"input/made.txt": b"one"}))
    studio.stage.button("Edit and retry…").click()
    dialog = studio.page.get_by_role("dialog", name="Edit and retry")
    expect(dialog.get_by_label("Message")).to_have_value("Write one")
    dialog.get_by_label("Message").fill("Write two")
    dialog.get_by_role("button", name="Fork").click()
    expect(studio.stage.timeline.get_by_role("button", name="fork of Write one")).to_contain_text(
        "from its start"
    )
    expect(studio.stage.timeline.locator(".task")).to_contain_text(["Write two"])
    (sent,) = studio.stage.sent
    assert (sent["message"]["text"], sent["message"]["options"]["mode"]) == ("Write two", "sandbox")
    expect(studio.stage.file("made.txt")).to_have_count(0)
