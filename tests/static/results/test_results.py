"""The end of a run: its answer, its results and the inputs; links to files."""

import copy
from collections.abc import Collection
from contextlib import ExitStack
from typing import Any

import pytest
from playwright.sync_api import Locator, Route, expect

from agent.events import FileChange
from tests.support.component.events import SUBMIT, bash, continued, ended, started, step
from tests.support.component.recorded import recorded
from tests.support.component.routes import LocalRoutes
from tests.support.component.scenarios import IMAGES
from tests.support.component.server import Answer
from tests.support.component.stage import ALL, LOOKS, Look, Stage
from tests.support.tab import NARROW

pytestmark = pytest.mark.component


def mount(
    stage: Stage,
    look: Look | None = None,
    recording: str = "files_run",
    without: Collection[str] = (),
    *,
    is_confined: bool = True,
) -> Locator:
    """Mount the timeline with a recorded run, except some answers; returns the results."""
    answers = recorded(recording)
    stage.answer_recorded({key: answers[key] for key in answers if key not in without})
    tested = f"<script>parent.postMessage({{ confined: {str(is_confined).lower()} }}, '*')</script>"
    stage.answer("/frames/confinement", page(tested))
    stage.answer("frames", {"prefix": "framed/"}, "POST")
    stage.answer("/framed/*", page("<h1>Hello</h1>"))
    stage.run.add_recorded(answers)
    stage.mount("header", "timeline", run=[], look=look)
    return stage.timeline.locator(".outputs")


def page(html: str) -> Answer:
    return Answer(content=html.encode(), kind="text/html")


def paths(stage: Stage, where: str) -> Locator:
    return stage.timeline.locator(f"{where} a.path")


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_the_answer_comes_first_and_the_output_files_follow(stage: Stage, look: Look) -> None:
    outputs = mount(stage, look)
    ending = stage.timeline.get_by_role("region", name="Answer")
    expect(ending.locator(".answer table")).to_contain_text("size")
    expect(ending.get_by_role("heading")).to_have_text(
        ["Answer", "Final message", "Results", "Your files"]
    )
    expect(ending.get_by_role("heading", name="Answer")).to_be_in_viewport()
    expect(outputs.get_by_role("button", name="Enlarge ")).to_have_count(7)
    expect(outputs.locator("audio")).to_have_attribute("aria-label", "tone.wav")
    expect(outputs.locator(".files .name b")).to_have_text(["data.bin", "report.md", "table.csv"])
    expect(outputs.locator(".pages").get_by_role("button")).to_have_text(["page.html"])
    expect(outputs.locator(".inputs li")).to_have_text(["rows.csv8 B"])
    assert stage.page.evaluate("document.documentElement.scrollWidth") <= look.size[0]


def test_a_short_answer_is_large_and_the_message_that_explains_it_stands_below(
    stage: Stage,
) -> None:
    text = "There are **42** birds, 7 of them gulls."
    steps = [*step(1, bash("wc -l rows.csv", "42")), *step(2, SUBMIT, text=text)]
    stage.mount("timeline", run=[started(), *steps, ended(answer="42")])
    ending = stage.timeline.get_by_role("region", name="Answer")
    answer = ending.locator(".answer")
    expect(answer).to_have_text("42")
    assert answer.evaluate("each => parseFloat(getComputedStyle(each).fontSize)") >= 24
    message = ending.get_by_role("region", name="Final message")
    expect(message.locator("strong")).to_have_text("42")
    expect(stage.step(2).locator(".step-text")).to_be_hidden()  # it is not shown twice
    stage.reload()
    expect(message.locator("strong")).to_have_text("42")
    stage.run.add(continued("Sure?"), *step(3, text="Yes."), ended("answered", answer="Yes."))
    expect(ending.last.locator(".final-message")).to_have_count(0)


def test_a_file_card_shows_the_first_lines_and_opens_the_preview(stage: Stage) -> None:
    outputs = mount(stage)
    opened = stage.record_events("open-file")
    card = outputs.locator(".file").filter(has_text="table.csv")
    expect(card.locator(".lines")).to_have_text("name,size\na,1\nb,2", use_inner_text=True)
    card.click()
    assert opened() == ["output/table.csv"]
    outputs.get_by_role("button", name="Open rows.csv").click()
    assert opened() == ["output/table.csv", "input/rows.csv"]


@pytest.mark.parametrize("size", [(1280, 600), (900, 520), (390, 844), (390, 600)])
def test_a_finished_run_opens_at_its_answer_at_any_window_size(
    stage: Stage, size: tuple[int, int]
) -> None:
    outputs = mount(stage, Look(size=size))
    expect(outputs.locator(".gallery .tile")).to_have_count(7)
    stage.page.wait_for_function(
        """() => {
          const thread = document.querySelector(".thread").getBoundingClientRect();
          const ending = document.querySelector(".round-end").getBoundingClientRect();
          return Math.abs(ending.top - thread.top) < 24;
        }"""
    )
    expect(stage.timeline.get_by_role("heading", name="Answer")).to_be_in_viewport()


def mount_unconfined(stage: Stage, title: str) -> None:
    """Open a recorded run in a browser that cannot keep a page offline, as Firefox."""
    stage.use_routes(LocalRoutes(stage.data))
    unconfined = "<script>parent.postMessage({ confined: false }, '*')</script>"
    stage.answer("/frames/confinement", page(unconfined))
    stage.mount(*ALL)
    stage.page.locator(".recorded").get_by_role("button", name=title).click()
    stage.button("Pause").click()
    stage.button("Live").click()


def test_the_studios_own_page_is_shown_at_once_where_it_cannot_be_confined(stage: Stage) -> None:
    mount_unconfined(stage, "Map a journey")
    stage.timeline.locator(".outputs .pages figure").scroll_into_view_if_needed()
    result = stage.timeline.locator(".outputs .pages iframe")
    expect(result).to_have_attribute("sandbox", "")
    expect(stage.timeline.get_by_text("This browser cannot keep a page offline")).to_have_count(0)
    stage.file("journey.html").click()
    preview = stage.workspace.locator(".preview iframe")
    expect(preview).to_have_attribute("sandbox", "")
    stage.workspace.get_by_role("button", name="Run scripts").click()
    for frame in (preview, result):  # one choice for a file, wherever it is shown
        expect(frame.last).to_have_attribute("sandbox", "allow-scripts")


def test_another_page_asks_once_where_it_cannot_be_confined(stage: Stage) -> None:
    outputs = mount(stage, is_confined=False)
    outputs.locator(".pages figure").scroll_into_view_if_needed()  # pages in view are loaded
    ask = outputs.locator(".pages .message")
    expect(ask).to_contain_text("This browser cannot keep a page offline")
    assert ask.evaluate("each => getComputedStyle(each).textAlign") == "center"
    outputs.get_by_role("button", name="Show without scripts").click()
    expect(outputs.locator(".pages iframe")).to_have_attribute("sandbox", "")
    expect(outputs.get_by_role("button", name="Run scripts")).to_be_visible()


def test_images_open_in_a_lightbox_with_next_and_previous(stage: Stage) -> None:
    outputs = mount(stage)
    opened = stage.record_events("open-file")
    first = outputs.get_by_role("button", name="Enlarge chart.png")
    first.click()
    lightbox = stage.page.get_by_role("dialog", name="Images")
    picture = lightbox.get_by_role("img")
    expect(picture).to_have_attribute("alt", "chart.png")
    expect(picture).to_have_js_property("naturalWidth", 640)
    stage.page.keyboard.press("ArrowRight")
    expect(picture).to_have_attribute("alt", "frames/frame-0.png")
    expect(lightbox.get_by_role("status")).to_contain_text("2 of 7")
    stage.page.keyboard.press("ArrowLeft")
    stage.page.keyboard.press("ArrowLeft")
    expect(picture).to_have_attribute("alt", "frames/late/wide.jpg")
    lightbox.get_by_role("button", name="Next image").click()
    expect(picture).to_have_attribute("alt", "chart.png")
    stage.page.keyboard.press("Escape")
    expect(lightbox).to_have_count(0)
    expect(first).to_be_focused()
    first.press("Enter")
    lightbox.get_by_role("button", name="Open in workspace").click()
    assert opened() == ["output/chart.png"]


@pytest.mark.parametrize("look", [Look(), Look(size=NARROW)], ids=str)
def test_the_layout_does_not_shift_while_images_load(stage: Stage, look: Look) -> None:
    answers = recorded("files_run")
    images = {key: value for key, value in answers.items() if key.startswith("GET view/")}
    stage.answer_recorded(images)
    tops = "all => all.map((each) => [each.offsetTop, each.offsetHeight])"
    with ExitStack() as held:
        for name in IMAGES[:4]:  # the browser opens at most six connections
            held.enter_context(stage.hold(f"view/output/{name}"))
        outputs = mount(stage, look, without=images)
        tiles = outputs.locator("figure, .file, .inputs li")
        expect(tiles).to_have_count(13)
        expect(stage.page.locator(".answer.markdown")).to_be_visible()  # it was plain text
        before = tiles.evaluate_all(tops)
        outputs.scroll_into_view_if_needed()
    expect(outputs.locator(".gallery img").first).to_have_js_property("complete", True)
    stage.page.wait_for_function(
        "[...document.querySelectorAll('.gallery img')].some((each) => each.naturalWidth)"
    )
    assert tiles.evaluate_all(tops) == before


def test_an_unplayable_file_shows_a_message_and_a_download(stage: Stage) -> None:
    stage.fail("view/output/broken.png", 415, "This is not an image.")
    stage.expected_errors.append("view/output/broken.png")
    outputs = mount(stage, recording="mislabelled_run")
    expect(outputs.locator(".audios .file")).to_contain_text(
        "This audio file cannot be played in this browser."
    )
    expect(outputs.locator(".gallery .message")).to_have_text(["cannot be displayed"])
    expect(outputs.get_by_role("link", name="Download broken.png")).to_be_visible()
    assert stage.page.evaluate("window.hacked") is None


def test_a_second_round_shows_new_files_first(stage: Stage) -> None:
    outputs = mount(stage)
    expect(outputs.locator("figure")).to_have_count(9)
    answers = recorded("files_run")
    for kind in ("view", "files"):
        answers[f"GET {kind}/output/second.png"] = answers[f"GET {kind}/output/chart.png"]
    stage.answer_recorded(answers)
    results = answers["GET results"]
    changed = with_file(results, "chart.png", name="second.png", step=8)
    changed = with_file(changed, "report.md", replaces=True, step=8)
    stage.answer("results", changed)
    stage.run.add(continued("Once more"), *step(8, bash("cp")), ended(answer="See it."))
    for _ in range(2):
        new = outputs.locator("section.part").first
        expect(new.get_by_role("heading")).to_have_text("New in this round")
        expect(new.locator("figure .name")).to_have_text(["second.png"])
        expect(new.locator(".file b")).to_have_text(["report.md"])
        expect(outputs.locator("details.before figure")).to_have_count(9)
        expect(stage.timeline.locator(".outputs")).to_have_count(1)
        stage.reload()
    stage.answer("results", with_file(results, "report.md", replaces=True, step=8))
    stage.run.change_files("output")
    expect(outputs.locator("figure .name", has_text="second.png")).to_have_count(0)


def with_file(
    results: dict[str, Any], like: str, *, replaces: bool = False, **changes: Any
) -> dict[str, Any]:
    """Recorded results with another output file, which is like one of them."""
    results = copy.deepcopy(results)
    files = results["outputs"]["files"]
    file = next(each for each in files if each["name"] == like)
    if replaces:
        files.remove(file)
    changed = file | changes
    files.append(changed | {"path": f"output/{changed['name']}"})
    return results


def test_results_that_come_late_do_not_replace_newer_ones(stage: Stage) -> None:
    outputs = mount(stage)
    names = outputs.locator(".files .name b")
    expect(names).to_have_text(["data.bin", "report.md", "table.csv"])
    older = recorded("files_run")["GET results"]
    newer = with_file(older, "table.csv", replaces=True, name="rows.csv")
    asked: list[Route] = []

    def hold(route: Route) -> None:
        asked.append(route)  # at the server, the browser would wait for the first of two

    stage.page.route("**/results", hold)
    stage.run.change_files("output")
    stage.wait_until(lambda: len(asked) == 1)
    stage.run.change_files("output")
    stage.wait_until(lambda: len(asked) == 2)
    asked[1].fulfill(json=newer)
    expect(names).to_have_text(["data.bin", "report.md", "rows.csv"])
    with stage.page.expect_response("**/results") as late:
        asked[0].fulfill(json=older)
    late.value.finished()
    stage.page.evaluate("new Promise(requestAnimationFrame)")  # the page has taken it in
    expect(names).to_have_text(["data.bin", "report.md", "rows.csv"])
    stage.page.unroute("**/results")


def test_an_answer_with_columns_keeps_them_and_wraps_prose(stage: Stage) -> None:
    table = "Singapore    12 h 12 min\nOslo         18 h 49 min\n"
    answer = f"{'The longest and the shortest day. ' * 5}\n\n{table}"
    run = [started(), *step(1, bash("ls")), ended(answer=answer)]
    stage.mount("timeline", run=run, look=Look(size=NARROW))
    shown = stage.timeline.locator(".answer.columns")
    expect(shown).to_contain_text("Oslo")
    assert table.strip() in shown.inner_text()
    assert shown.evaluate("it => it.scrollWidth <= it.clientWidth")


def test_paths_in_task_text_and_output_are_links(stage: Stage) -> None:
    mount(stage)
    opened = stage.record_events("open-file")
    answer = paths(stage, ".answer")
    expect(answer).to_have_text(["output/chart.png", "/workspace/output/table.csv"])
    answer.last.click()
    expect(paths(stage, ".task")).to_have_text(["rows.csv"])
    expect(paths(stage, "#step-1 .step-text")).to_have_text(["draw.py", "input/rows.csv"])
    stage.page.locator("#step-3 .card > summary").click()
    output = stage.page.locator("#step-3 pre.output")
    expect(output.locator("a.path")).to_have_text(["output/chart.png", "draw.py"])
    expect(output).to_contain_text("output/chart.png:1: drawn; see draw.py:5, /etc/hosts and")
    link = f"{stage.url}look?run={stage.run.id}&path=draw.py"
    expect(output.locator("a.path").last).to_have_attribute("href", link)
    output.locator("a.path").last.press("Enter")
    assert opened() == ["output/table.csv", "draw.py"]


def test_a_control_click_opens_a_path_in_a_new_tab(stage: Stage) -> None:
    mount(stage)
    stage.answer("/look", page("The file"))
    opened = stage.record_events("open-file")
    with stage.page.context.expect_page() as tab:
        paths(stage, ".answer").first.click(modifiers=["ControlOrMeta"])
    expect(tab.value.get_by_text("The file")).to_be_visible()
    assert tab.value.url.endswith("path=output%2Fchart.png")
    assert opened() == []


LATE = {"paths": {"output/late.txt": "output/late.txt"}}
CREATED = [FileChange("output/late.txt", "added", 5)]


def test_a_path_becomes_a_link_when_its_file_exists(stage: Stage) -> None:
    mount(stage)
    task = "Write output/late.txt, and not output/never.txt."
    looking = bash("ls output/late.txt", exit_code=1)
    stage.run.add(continued(task), *step(8, looking, text="Is output/late.txt there?"))
    expect(stage.step(8)).to_contain_text("late.txt")
    expect(paths(stage, "#step-8 .step-text")).to_have_count(0)
    stage.answer("file-links", LATE, "POST")
    stage.run.add(*step(9, bash("echo late"), changes=CREATED), ended(answer="It is there."))
    expect(paths(stage, "#step-8 .step-text")).to_have_text(["output/late.txt"])
    expect(paths(stage, ".task")).to_have_text(["rows.csv", "output/late.txt"])


def test_a_path_becomes_a_link_when_its_file_is_created_while_the_server_looks(
    stage: Stage,
) -> None:
    mount(stage)
    expect(paths(stage, ".answer")).to_have_count(2)
    stage.requests.clear()
    with stage.hold("file-links", "POST"):
        stage.run.add(continued("Write output/late.txt."))
        stage.wait_until(lambda: any("output/late.txt" in words for words in asked(stage)))
        stage.run.add(*step(8, bash("echo late"), changes=CREATED), ended())
        expect(stage.timeline.locator(".round-end")).to_have_count(2)
    stage.answer("file-links", LATE, "POST")
    expect(paths(stage, ".task").last).to_have_text("output/late.txt")


def asked(stage: Stage) -> list[list[str]]:
    """The words that the page has asked about: whether they name files."""
    return [each.json for each in stage.asked("file-links", "POST")]
