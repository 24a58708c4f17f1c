"""The dialog of storage and limits."""

import os

import pytest
from playwright.sync_api import expect

from tests.support.component.accessibility import check_accessible
from tests.support.component.routes import LocalStudio
from tests.support.component.stage import Stage, looks

pytestmark = pytest.mark.component


def test_usage_is_keyboard_operable(stage: Stage) -> None:
    studio = LocalStudio(stage, retention_days=30.0, retention_bytes=2_000_000)
    large = studio.write("<b>large</b>", files={"output/a": os.urandom(400_000)})
    studio.write("pinned", files={"output/a": os.urandom(200_000)}).set_pinned(True)
    studio.show()
    studio.page.keyboard.press("Control+k")
    studio.history.get_by_role("button", name="Storage and limits").press("Enter")
    dialog = studio.page.get_by_role("dialog", name="Storage and limits")
    expect(dialog.get_by_role("status")).to_contain_text("2 runs, 1 pinned")
    expect(dialog).to_contain_text("deleted 30 days after their end")
    expect(dialog.get_by_role("link")).to_have_text(["<b>large</b>", "pinned"])
    expect(dialog.get_by_role("button", name="Delete “pinned”")).to_be_disabled()
    check_accessible(stage, ".usage[open]", looks(roles=["owner"]))
    dialog.get_by_role("button", name="Pin “pinned”").press("Enter")
    expect(dialog.get_by_role("button", name="Delete “pinned”")).to_be_enabled()
    delete = dialog.get_by_role("button", name="Delete “<b>large</b>”")
    delete.press("Enter")
    expect(dialog).to_contain_text("This frees")
    studio.page.keyboard.press("Escape")
    expect(delete).to_be_focused()
    studio.page.keyboard.press("Enter")
    expect(dialog.get_by_role("button", name="Delete", exact=True)).to_be_focused()
    studio.page.keyboard.press("Enter")
    expect(dialog.get_by_role("link")).to_have_text(["pinned"])
    expect(dialog.get_by_role("status")).to_contain_text("freed")
    assert not large.path.exists()
    dialog.get_by_role("link", name="pinned").press("Enter")
    expect(dialog).to_be_hidden()
    expect(studio.page).to_have_title("pinned")
