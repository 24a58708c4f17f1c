"""What each role sees of the page: account, tokens, shared links."""

import pytest
from playwright.sync_api import expect

from tests.support.component.events import bash, ended, started, step
from tests.support.component.recorded import recorded
from tests.support.component.server import Answer
from tests.support.component.stage import ALL, LOOKS, Look, Role, Stage

pytestmark = pytest.mark.component

USER = Look(role="user")
SHARED = "This run was shared with you"


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_viewers_of_a_shared_link_can_change_nothing(stage: Stage, look: Look) -> None:
    stage.answer("files", recorded("files_run")["GET files"])
    run = [started("Count the words."), *step(1, bash("wc -w words.txt", "12")), ended()]
    stage.mount(*ALL, run=run, look=look)
    expect(stage.timeline.locator(".task")).to_contain_text("Count the words.")
    assert stage.task.is_visible() == look.can_edit
    for name in ("Run", "Stop"):
        assert stage.button(name).is_visible() == look.can_edit
    for name in ("Settings", "History", "New run"):
        assert stage.button(name).is_visible() == (look.role != "guest")
    expect(stage.page.get_by_role("link", name="Sign in")).to_have_count(int(look.role == "guest"))
    expect(stage.page.get_by_text(SHARED)).to_have_count(0)  # it is no element


@pytest.mark.parametrize("role", ["owner", "user", "guest"])
def test_the_menu_of_a_file_has_what_the_role_may_do(stage: Stage, role: Role) -> None:
    stage.answer("files", recorded("files_run")["GET files"])
    stage.mount(*ALL, run=[started(), ended()], look=Look(role=role))
    stage.file("input").click(button="right")
    expect(stage.page.get_by_role("menuitem", name="Copy path")).to_be_visible()
    expect(stage.page.get_by_role("menuitem", name="New file")).to_have_count(int(role == "owner"))


def test_a_run_of_another_process_can_be_viewed_and_then_continued(stage: Stage) -> None:
    stage.run.elsewhere = True
    stage.mount(*ALL, run=[started(), ended()])
    root = stage.page.locator("html")
    expect(root).to_have_attribute("data-elsewhere", "")
    expect(stage.task).to_be_hidden()
    stage.run.elsewhere = False
    stage.run.disconnect()  # it connects again
    expect(stage.task).to_be_visible()
    expect(root).not_to_have_attribute("data-elsewhere", "")


def test_a_token_is_shown_once_and_can_be_revoked(stage: Stage) -> None:
    answers = recorded("page")
    stage.answer_recorded(answers)
    stage.answer("/tokens", {"tokens": []})
    stage.mount("header", look=USER)
    stage.button("Settings").click()
    account = stage.page.locator(".access")
    expect(account).to_contain_text("Signed in as ann")
    stage.answer("/tokens", answers["GET /tokens"])
    stage.page.get_by_label("Token name").fill("laptop")
    stage.button("Create token").click()
    expect(account.locator(".token")).to_have_text(answers["POST /tokens"]["text"])
    assert stage.asked("/tokens", "POST")[0].json == {"label": "laptop"}
    expect(stage.button("Revoke laptop")).to_be_visible()
    stage.answer("/tokens/*", Answer(204), "DELETE")
    stage.answer("/tokens", {"tokens": []})
    stage.button("Revoke laptop").click()
    expect(account.locator(".token")).to_have_count(0)
    expect(account.locator("li")).to_have_count(0)
    assert [each.path for each in stage.requests if each.method == "DELETE"] == [
        f"/tokens/{answers['POST /tokens']['id']}"
    ]


def test_signing_out_is_a_form_that_leads_to_the_login_page(stage: Stage) -> None:
    stage.mount("header", look=USER)
    stage.button("Settings").click()
    stage.answer("/logout", Answer(content=b"Signed out", kind="text/html"), "POST")
    stage.button("Sign out").click()
    expect(stage.page.get_by_text("Signed out")).to_be_visible()


def test_links_are_created_and_revoked(stage: Stage) -> None:
    answers = recorded("page")
    stage.has_accounts = True
    stage.mount("header", "timeline", run=[started(), ended()])
    stage.answer("links", answers["GET no links"])
    stage.button("Export").click()
    stage.page.get_by_role("menuitem", name="Share").click()
    dialog = stage.page.get_by_role("dialog", name="Share this run")
    expect(dialog).to_contain_text("No active links.")
    expect(stage.button("Revoke all links")).to_be_hidden()
    stage.answer("links", answers["POST links"], "POST")
    stage.answer("links", answers["GET links"])
    stage.button("Create link").click()
    link = f"{stage.url}{answers['POST links']['path']}"
    expect(dialog.get_by_label("Link", exact=True)).to_have_value(link)
    expect(dialog).to_contain_text("1 active link.")
    stage.answer("links", Answer(204), "DELETE")
    stage.answer("links", answers["GET no links"])
    stage.button("Revoke all links").click()
    expect(dialog).to_contain_text("No active links.")
    expect(dialog.get_by_label("Link", exact=True)).to_be_hidden()


def test_only_a_studio_with_accounts_shares_links(stage: Stage) -> None:
    stage.mount("header", "timeline", run=[started(), ended()])
    stage.button("Export").click()
    expect(stage.page.get_by_role("menuitem", name="Download everything zip")).to_be_visible()
    expect(stage.page.get_by_role("menuitem", name="Share")).to_have_count(0)
