"""The end of a run: its answer, its results and the inputs; links to files."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import APIResponse, Browser, Locator, Route, expect

from tests.support import file_run, httpx
from tests.support.browser.page_pool import listen, release_page, take_page
from tests.support.file_run import ServedRun
from tests.support.tab import NARROW, WIDE, StudioTab

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def served_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedRun]:
    with file_run.serve_recorded_run(tmp_path_factory.mktemp("data")) as served_run:
        yield served_run


class ResultsTab(StudioTab):
    """A tab on the recorded run, with locators for its results."""

    @property
    def outputs(self) -> Locator:
        return self.timeline.locator(".outputs")

    @property
    def lightbox(self) -> Locator:
        return self.page.get_by_role("dialog", name="Images")

    @property
    def preview_title(self) -> Locator:
        return self.workspace.locator(".preview .header b")

    def paths(self, where: str) -> Locator:
        return self.timeline.locator(f"{where} a.path")


@pytest.fixture
def open_tab(browser: Browser, served_run: ServedRun) -> Iterator[Callable[..., ResultsTab]]:
    """Open the run; the test fails on console errors and on requests to other hosts."""
    opened: list[ResultsTab] = []
    requested: list[str] = []

    def open_tab(size: tuple[int, int] = WIDE, scheme: Any = "light", run: str = "") -> ResultsTab:
        viewport: Any = {"width": size[0], "height": size[1]}
        tab = ResultsTab(take_page(browser, viewport=viewport, color_scheme=scheme))
        listen(tab.page, "request", lambda request: requested.append(request.url))
        opened.append(tab)
        tab.open(f"{served_run.studio_url}/?run={run or served_run.run}")
        return tab

    yield open_tab
    for each in opened:
        release_page(each.page)
    assert [error for each in opened for error in each.errors] == []
    own = (served_run.studio_url, "data:", "blob:")
    assert [url for url in requested if not url.startswith(own)] == []


# Results


@pytest.mark.e2e("reads the answer, then opens the output files")
@pytest.mark.main_path
def test_the_answer_comes_first_and_the_output_files_follow(
    open_tab: Callable[..., ResultsTab],
) -> None:
    page = open_tab()
    ending = page.timeline.get_by_role("region", name="Answer")
    expect(ending.locator(".answer table")).to_contain_text("size")
    expect(ending.get_by_role("heading")).to_have_text(["Answer", "Results", "Your files"])
    expect(ending.get_by_role("heading", name="Answer")).to_be_in_viewport()
    pictures = page.outputs.get_by_role("button", name="Enlarge ")
    expect(pictures).to_have_count(7)
    expect(page.outputs.locator("audio")).to_have_attribute("aria-label", "tone.wav")
    cards = page.outputs.locator(".files .name b")
    expect(cards).to_have_text(["data.bin", "report.md", "table.csv"])
    expect(page.outputs.locator(".pages").get_by_role("button")).to_have_text(["page.html"])
    expect(page.outputs.locator(".inputs li")).to_have_text(["rows.csv8 B"])


def test_a_file_card_shows_the_first_lines_and_opens_the_preview(
    open_tab: Callable[..., ResultsTab],
) -> None:
    page = open_tab()
    card = page.outputs.locator(".file").filter(has_text="table.csv")
    expect(card.locator(".lines")).to_have_text("name,size\na,1\nb,2", use_inner_text=True)
    card.click()
    expect(page.preview_title).to_have_text("table.csv")
    page.outputs.get_by_role("button", name="Open rows.csv").click()
    expect(page.preview_title).to_have_text("rows.csv")


def test_an_html_result_is_shown_and_opens_automatically(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    write = "echo '<h1>Across the island</h1><script>parent.hacked = 1</script>'"
    turns = [file_run.bash("A page.", f"{write} > output/page.html"), *file_run.submit("See it.\n")]
    with file_run.serve_recorded_run(tmp_path_factory.mktemp("data"), turns) as served_run:
        for size in (WIDE, NARROW):
            page = ResultsTab(take_page(browser, viewport={"width": size[0], "height": size[1]}))
            page.open(f"{served_run.studio_url}/?run={served_run.run}")
            page.outputs.locator(".pages").scroll_into_view_if_needed()
            shown = page.outputs.frame_locator("iframe[title='page.html']")
            expect(shown.get_by_role("heading")).to_have_text("Across the island")
            if size == NARROW:  # the workspace is collapsed on narrow pages
                page.workspace.get_by_role("button", name="Workspace").click()
            expect(page.preview_title).to_have_text("page.html")
            preview = page.workspace.frame_locator("iframe[title='page.html']")
            expect(preview.get_by_role("heading")).to_have_text("Across the island")
            assert page.page.evaluate("window.hacked") is None
            release_page(page.page)


@pytest.mark.parametrize("size", [(1280, 600), (900, 520), (390, 844), (390, 600)])
def test_a_finished_run_opens_at_its_answer_at_any_window_size(
    open_tab: Callable[..., ResultsTab], size: tuple[int, int]
) -> None:
    page = open_tab(size)
    expect(page.outputs.locator(".gallery .tile")).to_have_count(7)
    heading = page.timeline.get_by_role("heading", name="Answer")
    page.page.wait_for_function(
        """() => {
          const thread = document.querySelector(".thread").getBoundingClientRect();
          const ending = document.querySelector(".round-end").getBoundingClientRect();
          return Math.abs(ending.top - thread.top) < 24;
        }"""
    )
    expect(heading).to_be_in_viewport()


def test_images_open_in_a_lightbox_with_next_and_previous(
    open_tab: Callable[..., ResultsTab],
) -> None:
    page = open_tab()
    first = page.outputs.get_by_role("button", name="Enlarge chart.png")
    first.click()
    picture = page.lightbox.get_by_role("img")
    expect(picture).to_have_attribute("alt", "chart.png")
    expect(picture).to_have_js_property("naturalWidth", 640)
    page.page.keyboard.press("ArrowRight")
    expect(picture).to_have_attribute("alt", "frames/frame-0.png")
    expect(page.lightbox.get_by_role("status")).to_contain_text("2 of 7")
    page.page.keyboard.press("ArrowLeft")
    page.page.keyboard.press("ArrowLeft")
    expect(picture).to_have_attribute("alt", "frames/late/wide.jpg")
    page.lightbox.get_by_role("button", name="Next image").click()
    expect(picture).to_have_attribute("alt", "chart.png")
    page.page.keyboard.press("Escape")
    expect(page.lightbox).to_have_count(0)
    expect(first).to_be_focused()
    first.press("Enter")
    page.lightbox.get_by_role("button", name="Open in workspace").click()
    expect(page.preview_title).to_have_text("chart.png")


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_the_layout_does_not_shift_while_images_load(
    open_tab: Callable[..., ResultsTab],
    browser: Browser,
    served_run: ServedRun,
    size: tuple[int, int],
) -> None:
    page = ResultsTab(take_page(browser, viewport={"width": size[0], "height": size[1]}))
    paused: list[Any] = []
    is_pausing = True
    page.page.route(
        "**/view/**thumb**",
        lambda route: paused.append(route) if is_pausing else route.continue_(),
    )
    page.open(f"{served_run.studio_url}/?run={served_run.run}")
    tiles = page.outputs.locator("figure, .file, .inputs li")
    expect(tiles).to_have_count(13)
    expect(page.page.locator(".answer.markdown")).to_be_visible()  # it was plain text
    tops = "all => all.map((each) => [each.offsetTop, each.offsetHeight])"
    before = tiles.evaluate_all(tops)
    page.outputs.scroll_into_view_if_needed()
    is_pausing = False
    while paused:
        paused.pop().continue_()
    picture = page.outputs.locator(".gallery img").first
    expect(picture).to_have_js_property("complete", True)
    page.page.wait_for_function(
        "[...document.querySelectorAll('.gallery img')].some((each) => each.naturalWidth)"
    )
    assert tiles.evaluate_all(tops) == before
    release_page(page.page)


def test_an_unplayable_file_shows_a_message_and_a_download(
    open_tab: Callable[..., ResultsTab], browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with file_run.serve_recorded_run(
        tmp_path_factory.mktemp("data"), file_run.mislabelled_file_turns()
    ) as broken:
        page = ResultsTab(take_page(browser))
        page.open(f"{broken.studio_url}/?run={broken.run}")
        expect(page.outputs.locator(".audios .file")).to_contain_text(
            "This audio file cannot be played in this browser."
        )
        expect(page.outputs.locator(".gallery .message")).to_have_text(["cannot be displayed"])
        expect(page.outputs.get_by_role("link", name="Download broken.png")).to_be_visible()
        assert page.page.evaluate("window.hacked") is None
        release_page(page.page)


def test_a_second_round_shows_new_files_first(
    browser: Browser, open_tab: Callable[..., ResultsTab], tmp_path_factory: pytest.TempPathFactory
) -> None:
    with file_run.serve_recorded_run(tmp_path_factory.mktemp("data")) as served_run:
        page = ResultsTab(take_page(browser))
        page.open(f"{served_run.studio_url}/?run={served_run.run}")
        expect(page.outputs.locator("figure")).to_have_count(9)
        served_run.turns = [
            file_run.bash(
                "Again.", "cp output/chart.png output/second.png; echo x >> output/report.md"
            ),
            *file_run.submit("See output/second.png.\n"),
        ]
        page.send("Once more")
        expect(page.timeline.locator(".task")).to_have_count(2)
        expect(page.state).to_have_text("submitted")
        for _ in range(2):
            new = page.outputs.locator("section.part").first
            expect(new.get_by_role("heading")).to_have_text("New in this round")
            expect(new.locator("figure .name")).to_have_text(["second.png"])
            expect(new.locator(".file b")).to_have_text(["report.md"])
            expect(page.outputs.locator("details.before figure")).to_have_count(9)
            expect(page.timeline.locator(".outputs")).to_have_count(1)
            page.page.reload()
        httpx.delete(f"{served_run.files_url}/output/second.png").raise_for_status()
        expect(page.outputs.locator("figure .name", has_text="second.png")).to_have_count(0)
        release_page(page.page)


def test_an_answer_with_columns_keeps_them_and_wraps_prose(
    browser: Browser, tmp_path: Path
) -> None:
    table = "Singapore    12 h 12 min\nOslo         18 h 49 min\n"
    answer = f"{'The longest and the shortest day. ' * 5}\n\n{table}"
    with file_run.serve_recorded_run(tmp_path, [*file_run.submit(answer)]) as served_run:
        page = ResultsTab(take_page(browser, viewport={"width": NARROW[0], "height": NARROW[1]}))
        page.open(f"{served_run.studio_url}/?run={served_run.run}")
        shown = page.timeline.locator(".answer.columns")
        expect(shown).to_contain_text("Oslo")
        assert table.strip() in shown.inner_text()
        assert shown.evaluate("it => it.scrollWidth <= it.clientWidth")
        release_page(page.page)


# Paths


def test_paths_in_task_text_and_output_are_links(
    open_tab: Callable[..., ResultsTab], served_run: ServedRun
) -> None:
    page = open_tab()
    answer = page.paths(".answer")
    expect(answer).to_have_text(["output/chart.png", "/workspace/output/table.csv"])
    answer.last.click()
    expect(page.preview_title).to_have_text("table.csv")
    expect(page.paths(".task")).to_have_text(["rows.csv"])
    expect(page.paths("#step-1 .step-text")).to_have_text(["draw.py", "input/rows.csv"])
    page.page.locator("#step-3 .card > summary").click()
    output = page.page.locator("#step-3 pre.output")
    expect(output.locator("a.path")).to_have_text(["output/chart.png", "draw.py"])
    expect(output).to_contain_text("output/chart.png:1: drawn; see draw.py:5, /etc/hosts and")
    expect(output.locator("a.path").last).to_have_attribute(
        "href", f"{served_run.studio_url}/look?run={served_run.run}&path=draw.py"
    )
    output.locator("a.path").last.press("Enter")
    expect(page.preview_title).to_have_text("draw.py")


def test_a_control_click_opens_a_path_in_a_new_tab(open_tab: Callable[..., ResultsTab]) -> None:
    page = open_tab()
    with page.page.context.expect_page() as opened:
        page.paths(".answer").first.click(modifiers=["ControlOrMeta"])
    expect(opened.value.locator(".preview .header b")).to_have_text("chart.png")


def test_a_path_becomes_a_link_when_its_file_exists(browser: Browser, tmp_path: Path) -> None:
    with file_run.serve_recorded_run(tmp_path) as served_run:
        page = ResultsTab(take_page(browser, viewport={"width": WIDE[0], "height": WIDE[1]}))
        page.open(f"{served_run.studio_url}/?run={served_run.run}")
        expect(page.outputs).to_be_visible()
        served_run.turns += [
            file_run.bash("Is output/late.txt there?", "ls output/late.txt"),
            file_run.bash("", "echo late > output/late.txt"),
            *file_run.submit("It is there.\n"),
        ]
        page.send("Write output/late.txt, and not output/never.txt.")
        expect(page.paths(".task")).to_have_text(["rows.csv", "output/late.txt"])
        expect(page.paths("#step-8 .step-text")).to_have_text(["output/late.txt"])
        expect(page.state).to_have_text("submitted")
        page.paths(".task").last.click()
        expect(page.preview_title).to_have_text("late.txt")
        assert page.errors == []
        release_page(page.page)


def test_a_path_becomes_a_link_when_its_file_is_created_while_the_server_looks(
    browser: Browser, tmp_path: Path
) -> None:
    gate, released = threading.Event(), threading.Event()
    answers: list[tuple[Route, APIResponse]] = []

    def hold(route: Route) -> None:
        if released.is_set():
            route.continue_()
        else:
            answers.append((route, route.fetch()))

    with file_run.serve_recorded_run(tmp_path) as served_run:
        page = ResultsTab(take_page(browser, viewport={"width": WIDE[0], "height": WIDE[1]}))
        page.open(f"{served_run.studio_url}/?run={served_run.run}")
        expect(page.outputs).to_be_visible()
        write = file_run.bash("", "echo late > output/late.txt")
        served_run.turns += [replace(write, gate=gate), *file_run.submit("It is there.\n")]
        page.page.route("**/file-links", hold)
        page.send("Write output/late.txt.")
        while not answers:
            page.page.wait_for_timeout(20)  # lets Playwright call the handler
        gate.set()
        expect(page.state).to_have_text("submitted")
        released.set()
        for route, answer in answers:
            route.fulfill(response=answer)
        expect(page.paths(".task").last).to_have_text("output/late.txt")
        release_page(page.page)


def resolve_paths(served_run: ServedRun, *words: str) -> dict[str, str]:
    answer = httpx.post(
        f"{served_run.studio_url}/api/runs/{served_run.run}/file-links", json=list(words)
    )
    found: dict[str, str] = answer.json()["paths"]
    return found


def test_only_existing_files_of_the_run_are_links(served_run: ServedRun) -> None:
    assert resolve_paths(
        served_run, "output/chart.png", "./draw.py", "/workspace/input/rows.csv"
    ) == {
        "output/chart.png": "output/chart.png",
        "./draw.py": "draw.py",
        "/workspace/input/rows.csv": "input/rows.csv",
    }
    assert resolve_paths(served_run, "chart.png", "rows.csv", "draw.py") == {
        "chart.png": "output/chart.png", "rows.csv": "input/rows.csv", "draw.py": "draw.py",
    }  # fmt: skip
    outside = ("/etc/hosts", "../x", "output/../draw.py", "output", "", "\0", "x" * 5000, "\ud800")
    assert resolve_paths(served_run, *outside[:-1]) == {}


@pytest.mark.parametrize("body", ["", "{}", "[1]", "[" * 100_000, '["' + "x" * 300_000 + '"]'])
def test_an_invalid_list_of_words_is_rejected(served_run: ServedRun, body: str) -> None:
    answer = httpx.post(
        f"{served_run.studio_url}/api/runs/{served_run.run}/file-links", content=body
    )
    assert answer.status_code == 400
    assert answer.json()["error"].endswith(".")


# The results route


def test_results_are_limited_and_exclude_hidden_files(
    served_run: ServedRun, tmp_path: Path
) -> None:
    run = httpx.post(f"{served_run.studio_url}/api/runs").json()["run"]
    base = f"{served_run.studio_url}/api/runs/{run}"
    for at in range(203):
        httpx.put(f"{base}/files/output/{at}.txt", content=b"x")
    httpx.put(f"{base}/files/output/.git/config", content=b"x")
    tab = httpx.get(f"{base}/results").json()["outputs"]
    assert (len(tab["files"]), tab["more"], tab["complete"]) == (200, 3, True)
    assert {each["step"] for each in tab["files"]} == {None}
