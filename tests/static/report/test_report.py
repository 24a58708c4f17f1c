"""A report in the browser, opened from the disk without a network."""

import io
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from agent.documents.text import extract_text
from agent.events import Mode
from agent.experiments.description import describe
from agent.experiments.publish.rows import whole_rows
from agent.experiments.publish.selection import chosen_runs
from agent.grading.checks import Grade
from agent.history import records
from agent.models.base import Usage
from agent.report import groups
from agent.report.budget import Budget
from agent.report.report import save_parts, save_report
from agent.runs.folder import RunFolder
from agent.runs.summary import Summary
from tests.agent.experiments.test_description import TWELVE, compare, described, write_run
from tests.agent.report.recorded import PNG, Recorder, hostile_run
from tests.support.browser.page_pool import listen, release_page, take_page
from tests.support.evaluations.stored import create
from tests.support.evaluations.suites import sums
from tests.support.tab import NARROW, WIDE

pytestmark = pytest.mark.component
MODES: tuple[Mode, ...] = ("plain", "sandbox")


def attack(address: str) -> str:
    """Return text that would execute a script, and load from an address."""
    return (
        f"</script></pre><script>window.hacked=1</script><img src={address}/x onerror=hacked=1>"
        f"<svg onload=window.hacked=1></svg><a href={address}/left>leave</a>"
        f"<meta http-equiv=refresh content='0;url={address}/'>"
    )


@contextmanager
def listening() -> Iterator[tuple[str, list[str]]]:
    """Serve HTTP; yield the address and the paths that were requested."""
    paths = list[str]()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_error(404)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", paths
        finally:
            server.shutdown()


@contextmanager
def opened(
    browser: Browser, file: Path, size: tuple[int, int] = WIDE, *, offline: bool = True
) -> Iterator[Page]:
    """Open a file; its page may request nothing else and raise no error."""
    width, height = size
    page = take_page(browser, viewport={"width": width, "height": height}, offline=offline)
    requests, errors = list[str](), list[str]()
    listen(page, "request", lambda request: requests.append(request.url))
    listen(page, "pageerror", lambda error: errors.append(str(error)))
    page.clock.install()
    page.goto(file.as_uri())
    yield page
    loaded = [url.partition("#")[0] for url in requests if not url.startswith(("data:", "blob:"))]
    # With a network, Chromium also reports requests that the page's policy refuses.
    assert loaded[:1] == [file.as_uri()] if not offline else set(loaded) == {file.as_uri()}
    assert errors == []
    assert page.evaluate("window.hacked") is None
    release_page(page)


def saved(folder: RunFolder, tmp_path: Path) -> Path:
    file = tmp_path / "report.html"
    save_report(folder, file, Budget())
    return file


def later(page: Page) -> list[str | None]:
    return [each.get_attribute("data-step") for each in page.locator(".step.later").all()]


def row(page: Page, name: str) -> Locator:
    return page.get_by_role("treeitem", name=name)


def test_a_report_plays_scrubs_and_hands_out_its_files(browser: Browser, tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.step("echo one", "one\n", files={"output/a.txt": b"first", "output/b.png": PNG})
    recorder.step("echo two", "two\n", files={"output/a.txt": b"second", "output/b.png": None})
    recorder.step("false", "three\n", exit_code=1)
    with opened(browser, saved(recorder.end(), tmp_path)) as page:
        expect(page.locator("#step-2 .output")).to_have_text("two\n")
        expect(page.get_by_label("Answer", exact=True)).to_contain_text("three lakes")
        row(page, "a.txt").click()
        expect(page.get_by_role("document", name="Text of a.txt")).to_have_text("second")
        expect(row(page, "b.png")).to_have_count(0)

        page.keyboard.press("Escape")
        page.locator(".thread").focus()
        for _ in range(3):
            page.keyboard.press("[")
        expect(page.get_by_role("slider", name="Step of the run")).to_have_attribute(
            "aria-valuenow", "1"
        )
        assert later(page) == ["2", "3"]
        expect(page.get_by_role("document", name="Text of a.txt")).to_have_text("first")
        row(page, "b.png").click()
        expect(page.locator(".preview img")).to_have_js_property("naturalWidth", 1)
        with page.expect_download() as download:
            page.locator(".preview").get_by_label("Download").click()
        assert download.value.path().read_bytes() == PNG
        assert download.value.suggested_filename == "b.png"

        page.clock.pause_at(datetime.now(UTC) + timedelta(hours=1))
        page.get_by_label("Speed").select_option("1")
        page.get_by_role("button", name="Play", exact=True).click()
        page.clock.run_for(2_000)
        expect(page.locator("#step-2")).to_be_visible()
        expect(page.locator("#step-3")).to_be_hidden()
        page.get_by_label("Speed").select_option("16")
        page.clock.run_for(20_000)
        expect(page.locator("html")).not_to_have_attribute("data-playback", re.compile("."))
        assert later(page) == []


def test_a_report_is_presented_step_by_step(browser: Browser, tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.step("echo one", "one\n", files={"output/a.txt": b"first"})
    recorder.step("echo two", "two\n", files={"output/a.txt": b"second"})
    recorder.step("echo three", "three\n")
    with opened(browser, saved(recorder.end(), tmp_path)) as page:
        page.get_by_role("button", name="Present").click()
        stage = page.locator("html[data-presenting]")
        expect(stage).to_have_attribute("data-stage", "end")
        expect(page.get_by_label("Answer", exact=True)).to_contain_text("three lakes")
        expect(page.get_by_role("tree")).to_be_hidden()
        for number in ("3", "2"):
            page.keyboard.press("ArrowLeft")
            expect(page.locator(".step.onstage")).to_have_attribute("data-step", number)
        expect(page.get_by_role("document", name="Text of a.txt")).to_have_text("second")
        page.keyboard.press("Escape")
        expect(stage).to_have_count(0)
        expect(page.get_by_role("tree")).to_be_visible()
        expect(page.locator("#step-2")).to_be_in_viewport()


def test_a_report_finds_texts_and_shows_settings_and_tokens(
    browser: Browser, tmp_path: Path
) -> None:
    recorder = Recorder(tmp_path)
    for at in range(30):
        recorder.step(f"echo {at}", f"result {at}.\n")
    with opened(browser, saved(recorder.end(), tmp_path)) as page:
        page.keyboard.press("Control+f")
        page.keyboard.type("result 3.")
        expect(page.locator(".find")).to_contain_text("1 of 1 match")
        expect(page.locator("#step-4 .output")).to_have_text("result 3.\n")
        page.get_by_label("Settings and versions").click()
        expect(page.get_by_role("dialog")).to_contain_text("100 steps, 120 minutes")
        page.keyboard.press("Escape")
        page.get_by_label("Where the tokens go").click()
        expect(page.get_by_role("dialog").locator("canvas").first).to_be_visible()


def test_a_printed_report_has_all_steps(browser: Browser, tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    for at in range(40):
        recorder.step(f"echo {at}", f"result {at}.\n")
    with opened(browser, saved(recorder.end(), tmp_path)) as page:
        expect(page.locator(".step")).to_have_count(40)
        printed = extract_text(io.BytesIO(page.pdf()), "report.pdf").text
    assert [at for at in range(40) if f"result {at}." not in printed] == []
    assert "Expand all" not in printed


def test_without_scripts_a_report_is_a_text(browser: Browser, tmp_path: Path) -> None:
    file = saved(hostile_run(tmp_path, attack("http://127.0.0.1:9")), tmp_path)
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    expect(page.locator("pre.plain")).to_contain_text("<script>window.hacked=1</script>")
    expect(page.locator("pre.plain")).to_be_in_viewport()
    context.close()


def test_a_hostile_report_executes_and_requests_nothing(browser: Browser, tmp_path: Path) -> None:
    """There is a network, and what the report's texts name can be reached."""
    with listening() as (address, requested):
        file = saved(hostile_run(tmp_path, attack(address)), tmp_path)
        with opened(browser, file, NARROW, offline=False) as page:
            expect(page.locator(".task").first).to_contain_text("<script>")
            width = page.evaluate("document.documentElement.scrollWidth")
            assert width <= NARROW[0]
            page.keyboard.press("[")
            page.emulate_media(media="print")
            expect(page.locator("#step-2")).to_have_css("opacity", "1")
            page.emulate_media(media="screen")
        page = take_page(browser)  # whose frame cannot leave the report
        page.goto(file.as_uri())
        link = page.frame_locator("iframe").first.get_by_role("link", name="leave").first
        with page.expect_console_message(lambda message: "Framing" in message.text):
            link.click()
        release_page(page)
        assert requested == []


def test_a_comparisons_report_opens_without_a_network(browser: Browser, tmp_path: Path) -> None:
    runs = (
        [write_run(tmp_path, "plain", attack("http://127.0.0.1:9"))],
        [write_run(tmp_path, "sandbox", "12")],
    )
    shown = described(compare(tmp_path, *runs, expected=TWELVE))
    file = tmp_path / "comparison.html"
    save_parts(groups.parts(shown, partial(RunFolder.open, tmp_path)), file)
    with opened(browser, file) as page:
        expect(page.get_by_role("heading", name="How many?", level=1)).to_be_visible()
        expect(page.get_by_role("group", name="Verdict")).to_contain_text("With a computer")
        expect(page.get_by_role("columnheader", name="In the sandbox")).to_be_visible()
        expect(page.locator(".column .round-end")).to_have_count(2)
        expect(page.get_by_role("button", name=re.compile("Delete|Stop"))).to_have_count(0)
        page.keyboard.press("p")
        expect(page.locator("html[data-presenting]")).to_have_count(1)
        expect(page.get_by_role("group", name="Verdict")).to_be_in_viewport()
        expect(page.locator(".comparison-chart")).to_be_hidden()
        page.keyboard.press("Escape")
        expect(page.locator("html[data-presenting]")).to_have_count(0)
        page.get_by_role("button", name="Switch theme").click()
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_an_appendix_opens_each_of_its_runs_and_comes_back(
    tmp_path: Path, browser: Browser
) -> None:
    folder = create(tmp_path / "data", [sums(2)])
    summaries = dict[str, Summary | None]()
    for task in range(2):
        for member, mode in enumerate(MODES):
            run = write_run(
                folder.data, mode, f"{task} is the answer", usages=(Usage(100, 10),) * 3
            )
            folder.add_run(task, member, 1, run)
            folder.add_score(run, Grade(score=float(member), grader="math/lenient/2"), "")
            record = records.read(folder.data, run, None)
            assert record is not None
            summaries[run] = record.summary
    chosen = chosen_runs(list(whole_rows(folder, summaries)))
    file = tmp_path / "appendix.html"
    shown = describe(folder, summaries)
    save_parts(groups.parts(shown, partial(RunFolder.open, folder.data), appendix=chosen), file)
    with opened(browser, file) as page:
        links = page.get_by_role("region", name="Appendix").get_by_role("link")
        expect(links).to_have_count(4)
        links.filter(has_text="2 · sandbox").click()
        expect(page.locator(".timeline")).to_contain_text("1 is the answer")
        expect(page.get_by_role("button", name="Play")).to_be_visible()
        page.get_by_role("link", name="Back to the results").click()
        expect(links).to_have_count(4)
