"""The files of a finished run, from its answer to their previews."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support import file_run, httpx
from tests.support.browser.page_pool import listen
from tests.support.tab import NARROW, WIDE, open_studio

pytestmark = pytest.mark.browser
PAGE = "echo '<h1>Across the island</h1><script>parent.hacked = 1</script>' > output/page.html"


@pytest.mark.e2e("reads the answer, then opens the output files")
@pytest.mark.main_path
def test_a_user_opens_the_files_that_a_run_has_made(browser: Browser, tmp_path: Path) -> None:
    requested: list[str] = []
    deleted = "/output/second.png?"  # perhaps while it is loaded
    with (
        file_run.serve_recorded_run(tmp_path) as served,
        open_studio(browser, f"{served.studio_url}/?run={served.run}", excused=deleted) as it,
    ):
        listen(it.page, "request", lambda request: requested.append(request.url))
        it.page.reload()
        title = it.workspace.locator(".preview .header b")
        ending = it.timeline.get_by_role("region", name="Answer")
        expect(ending.get_by_role("heading")).to_have_text(
            ["Answer", "Final message", "Results", "Your files"]
        )
        pictures = ending.get_by_role("button", name="Enlarge ")
        expect(pictures).to_have_count(7)
        ending.locator(".file").filter(has_text="table.csv").click()
        expect(title).to_have_text("table.csv")
        ending.locator(".answer a.path").first.click()
        expect(title).to_have_text("chart.png")
        pictures.nth(1).click()
        picture = it.page.get_by_role("dialog", name="Images").get_by_role("img")
        expect(picture).to_have_js_property("naturalWidth", 300)
        it.button("Open in workspace").click()
        expect(title).to_have_text("frame-0.png")
        served.turns = [
            file_run.bash("", "cp output/chart.png output/second.png"),
            *file_run.submit("See output/second.png.\n"),
        ]
        it.send("Once more")
        expect(it.state).to_have_text("submitted")
        new = it.timeline.locator("section.part").first
        expect(new.locator("figure .name")).to_have_text(["second.png"])
        httpx.delete(f"{served.files_url}/output/second.png").raise_for_status()
        expect(it.timeline.locator("figure .name", has_text="second.png")).to_have_count(0)
        own = (served.studio_url, "data:", "blob:", "about:")
        assert [url for url in requested if not url.startswith(own)] == []


@pytest.mark.e2e("sees a page that a run has made, below the answer and as preview")
@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_a_page_that_a_run_has_made_is_shown_confined(
    browser: Browser, tmp_path: Path, size: tuple[int, int]
) -> None:
    turns = [file_run.bash("A page.", PAGE), *file_run.submit("See it.\n")]
    with (
        file_run.serve_recorded_run(tmp_path, turns) as served,  # it tries to leave its frame
        open_studio(
            browser, f"{served.studio_url}/?run={served.run}", size, excused="cross-origin"
        ) as studio,
    ):
        outputs = studio.timeline.locator(".outputs .pages")
        outputs.scroll_into_view_if_needed()
        shown = outputs.frame_locator("iframe[title='page.html']")
        expect(shown.get_by_role("heading")).to_have_text("Across the island")
        if size == NARROW:  # the workspace is collapsed on narrow pages
            studio.workspace.get_by_role("button", name="Workspace").click()
        expect(studio.workspace.locator(".preview .header b")).to_have_text("page.html")
        preview = studio.workspace.frame_locator("iframe[title='page.html']")
        expect(preview.get_by_role("heading")).to_have_text("Across the island")
        assert studio.page.evaluate("window.hacked") is None
