"""Traces of other tools on the history: chosen with the keyboard, or dropped."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.agent.traces.samples import FOLDER
from tests.support.component.routes import LocalStudio

DROP = """(names) => {
  const data = new DataTransfer();
  for (const [name, text] of names) data.items.add(new File([text], name));
  return data;
}"""
HOSTILE = '{"messages": [{"role": "<img src=x onerror=window.hacked=1>"}]}'


@pytest.mark.component
def test_traces_are_imported_listed_and_opened(studio: LocalStudio, tmp_path: Path) -> None:
    studio.stage.expected_errors = ["/imports"]  # the browser reports the refused file, too
    page, hostile = studio.page, tmp_path / "<img src=x onerror='window.hacked = 1'>.json"
    hostile.write_text(HOSTILE)
    studio.show()
    dialog = studio.open_history()
    with page.expect_file_chooser() as chooser:
        dialog.get_by_role("button", name="Import…").press("Enter")
    chooser.value.set_files([FOLDER / "mini-1.1.traj.json", hostile])
    expect(dialog.get_by_role("status")).to_have_text("Imported 1 run")
    expect(dialog.get_by_role("alert")).to_contain_text("line 1, messages[0].role: “<img")
    row = studio.entry("Fix a.py.")
    expect(row).to_contain_text("imported (mini-swe-agent)")
    expect(row.get_by_role("link")).to_be_focused()

    trace = (FOLDER / "session.sts.jsonl").read_text()
    transfer = page.evaluate_handle(DROP, [["session.jsonl", trace]])
    dialog.dispatch_event("dragover", {"dataTransfer": transfer})
    expect(page.get_by_text("Drop runs and traces here to import them")).to_be_visible()
    dialog.dispatch_event("drop", {"dataTransfer": transfer})
    row = studio.entry("List the routes.")
    expect(row).to_contain_text("imported (STS)")
    expect(dialog.get_by_role("alert")).to_be_hidden()

    row.get_by_role("link").press("Enter")
    expect(dialog).to_be_hidden()
    expect(page.get_by_text("imported from STS")).to_be_visible()
    expect(page.get_by_text("grep -rn route .")).to_be_visible()
    assert page.evaluate("window.hacked") is None
