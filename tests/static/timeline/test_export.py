"""Exports of a run, from the menu to the file."""

import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from agent.events import encode
from agent.runs.folder import RunFolder
from tests.support import httpx
from tests.support.component.events import bash, ended, started, step
from tests.support.tab import open_studio


@pytest.mark.e2e("downloads a finished run as Markdown, CSV, report and ZIP archive")
@pytest.mark.browser
def test_a_finished_run_is_downloaded_as_markdown_csv_report_and_zip(
    browser: Browser, studio_url: str, data: Path
) -> None:
    run: str = httpx.post(f"{studio_url}/api/runs").json()["run"]
    events = [started("Look at every row."), *step(1, bash("wc -l rows", "3 rows")), ended()]
    journal = RunFolder.open(data, run).journal
    journal.write_bytes(b"".join(encode(event) + b"\n" for event in events))
    with open_studio(browser, f"{studio_url}/?run={run}") as studio:
        files = {}
        for name in ("conversation Markdown", "steps CSV", "everything zip", "report… HTML"):
            if studio.button("Export").get_attribute("aria-expanded") == "false":
                studio.button("Export").click()
            item = studio.page.get_by_role("menuitem", name=f"Download {name}")
            with studio.page.expect_download() as download:
                item.click()
                if "report" in name:
                    studio.page.get_by_role("link", name="Download").click()
            files[download.value.suggested_filename] = Path(download.value.path())
        expect(studio.page.get_by_role("dialog", name="Download report")).to_have_count(0)
        assert files["conversation.md"].read_text().startswith("# Look at every row.")
        assert files["steps.csv"].read_text().startswith("step,round,began")
        assert files["Look at every row.html"].read_text().startswith("<!doctype html>")
        with zipfile.ZipFile(files["Look at every row.zip"]) as archive:
            assert {"journal.jsonl", "trajectory.json", "steps.csv"} <= set(archive.namelist())
