"""Traces of other tools on the history: chosen with the keyboard, or dropped."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.agent.traces.samples import FOLDER
from tests.support.tab import open_studio

pytestmark = pytest.mark.browser

DROP = """(names) => {
  const data = new DataTransfer();
  for (const [name, text] of names) data.items.add(new File([text], name));
  return data;
}"""
HOSTILE = '{"messages": [{"role": "<img src=x onerror=window.hacked=1>"}]}'


def test_traces_are_imported_listed_and_opened(
    browser: Browser, studio_url: str, tmp_path: Path
) -> None:
    hostile = tmp_path / "<img src=x onerror='window.hacked = 1'>.json"
    hostile.write_text(HOSTILE)
    with open_studio(browser, studio_url) as studio:
        studio.button("History").click()
        dialog = studio.page.get_by_role("dialog", name="History")
        with studio.page.expect_file_chooser() as chooser:
            dialog.get_by_role("button", name="Import…").press("Enter")
        chooser.value.set_files([FOLDER / "mini-1.1.traj.json", hostile])
        expect(dialog.get_by_role("status")).to_have_text("Imported 1 run")
        expect(dialog.get_by_role("alert")).to_contain_text("line 1, messages[0].role: “<img")
        row = dialog.get_by_role("listitem").filter(has_text="Fix a.py.")
        expect(row).to_contain_text("imported (mini-swe-agent)")
        expect(row.get_by_role("link")).to_be_focused()

        transfer = studio.page.evaluate_handle(
            DROP, [["session.jsonl", (FOLDER / "session.sts.jsonl").read_text()]]
        )
        dialog.dispatch_event("dragover", {"dataTransfer": transfer})
        expect(studio.page.get_by_text("Drop runs and traces here to import them")).to_be_visible()
        dialog.dispatch_event("drop", {"dataTransfer": transfer})
        row = dialog.get_by_role("listitem").filter(has_text="List the routes.")
        expect(row).to_contain_text("imported (STS)")
        expect(dialog.get_by_role("alert")).to_be_hidden()

        row.get_by_role("link").press("Enter")
        expect(dialog).to_be_hidden()
        expect(studio.page.get_by_text("imported from STS")).to_be_visible()
        expect(studio.page.get_by_text("grep -rn route .")).to_be_visible()
        assert studio.page.evaluate("window.hacked") is None
        (refusal,) = studio.errors  # the browser reports the refused file, too
        assert "400" in refusal
        studio.errors.clear()
