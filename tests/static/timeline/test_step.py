"""Steps and their cards in the browser: while the model writes, and when collapsed."""

import base64
import io
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Browser, Locator, expect

from agent.settings import Settings
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Call, Endpoint, ScriptedTurns, Turn
from tests.support.server import create_app, run_server
from tests.support.tab import StudioTab, open_studio

pytestmark = pytest.mark.browser

SUBMIT = Turn(text="Done.", calls=[Call("submit")])
EDITOR = "str_replace_editor"


@pytest.fixture(scope="module")
def script() -> ScriptedTurns:
    return ScriptedTurns()


@pytest.fixture(scope="module")
def studio_url(data: Path, script: ScriptedTurns) -> Iterator[str]:
    with Endpoint(script) as endpoint:
        settings = Settings(data=data, base_url=endpoint.url, model="test-model")
        with run_server(create_app(settings, LocalSandboxProvider(data))) as studio_url:
            yield studio_url


@pytest.fixture
def run_turns(
    browser: Browser, studio_url: str, script: ScriptedTurns
) -> Iterator[Callable[..., StudioTab]]:
    """Send a task whose run takes the given turns."""
    with open_studio(browser, studio_url) as studio:

        def run_turns(*turns: Turn) -> StudioTab:
            script.turns = list(turns)
            studio.send("Do it")
            return studio

        yield run_turns


def bash(command: str) -> Turn:
    return Turn(calls=[Call("execute_bash", {"command": command})])


def edit(command: str, **arguments: str) -> Turn:
    return Turn(calls=[Call(EDITOR, {"command": command, "path": "notes.md", **arguments})])


def unfinished(turn: Turn, chunks: int) -> Turn:
    """A turn whose stream stalls after so many chunks."""
    return Turn(text=turn.text, calls=turn.calls, fault=f"silent at={chunks}")


def cards(studio: StudioTab) -> Locator:
    return studio.timeline.locator(".card")


def test_a_collapsed_card_shows_the_last_lines_of_its_output(
    run_turns: Callable[..., StudioTab],
) -> None:
    studio = run_turns(bash("seq 40"), bash("true"), SUBMIT)
    expect(studio.state).to_have_text("submitted")
    first = cards(studio).first
    expect(first).not_to_have_attribute("open", "")
    expect(first.get_by_text("37\n38\n39\n40", exact=True)).to_be_visible()
    first.locator("summary").click()
    expect(first.locator(".tail")).to_be_hidden()
    expect(first.get_by_label("Output")).to_contain_text("40")
    expect(cards(studio).nth(1).locator(".tail")).to_have_count(0)


def test_the_path_of_a_file_is_shown_while_its_text_streams(
    run_turns: Callable[..., StudioTab],
) -> None:
    turn = edit("create", file_text="All that is known of it.\n" * 40)
    studio = run_turns(unfinished(turn, 20))
    expect(cards(studio).first).to_contain_text("All that is known of it.")
    expect(cards(studio).first.locator(".call-summary")).to_have_text("create notes.md")
    studio.button("Stop").click()
    expect(studio.state).to_have_text("stopped")


def test_a_failed_edit_shows_no_line_counts(run_turns: Callable[..., StudioTab]) -> None:
    replace = edit("str_replace", old_str="two", new_str="three")
    studio = run_turns(edit("create", file_text="one\n"), replace, SUBMIT)
    expect(studio.state).to_have_text("submitted")
    failed = cards(studio).nth(1)
    expect(failed.locator(".state")).to_contain_text("failed")
    expect(failed.locator(".call-summary")).to_have_text("str_replace notes.md")
    studio.page.reload()
    expect(failed.locator(".call-summary")).to_have_text("str_replace notes.md")


@pytest.mark.parametrize(
    ("opens", "closes"), [("\n$$", "$$\n"), ("$$", "$$"), ("\\[", "\\]"), ("\n\\[", "\\]\n")]
)
def test_formula_delimiters_are_never_visible_while_streaming(
    run_turns: Callable[..., StudioTab], opens: str, closes: str
) -> None:
    text = f"# The sum\n\nIt is:\n{opens}\na^2 + b^2\n{closes}\nand so on.\n\n"
    text += f"It goes on:\n{opens}\nc^2 + d^2"
    studio = run_turns(unfinished(Turn(text=text + " + e^2" * 20), 3 + len(text) // 12))
    text_block = studio.timeline.locator(".step-text")
    expect(text_block.locator("h1")).to_have_text("The sum")
    expect(text_block.locator("math")).to_have_count(1)
    expect(text_block.locator(".tex")).to_contain_text("c^2")
    expect(text_block).not_to_contain_text(opens.strip())
    studio.button("Stop").click()
    expect(studio.state).to_have_text("stopped")


def draw(colour: str) -> Turn:
    """A turn that draws the same chart in a colour."""
    drawn = io.BytesIO()
    Image.new("RGB", (60, 40), colour).save(drawn, "PNG")
    encoded = base64.b64encode(drawn.getvalue()).decode()
    return bash(f"echo {encoded} | base64 -d > output/chart.png")


def test_a_previewed_image_that_a_step_changes_can_be_compared(
    run_turns: Callable[..., StudioTab],
) -> None:
    studio = run_turns(draw("teal"), draw("crimson"), SUBMIT)
    expect(studio.state).to_have_text("submitted")
    studio.button("Compare").click()
    compared = studio.page.locator(".preview .difference")
    expect(compared.locator(".about")).to_contain_text("changed by step 2")
    expect(compared.get_by_role("img")).to_have_count(2)


def test_the_page_has_a_heading_with_and_without_a_run(run_turns: Callable[..., StudioTab]) -> None:
    studio = run_turns(SUBMIT)
    expect(studio.page.get_by_role("heading", level=1)).to_have_text("Do it")
    studio.button("New run").click()
    expect(studio.page.get_by_role("heading", level=1)).to_have_text("LLM-in-Sandbox Studio")
    found = Axe().run(studio.page, options={"runOnly": ["empty-heading", "page-has-heading-one"]})
    assert found.response["violations"] == []


def test_the_age_of_a_file_is_updated(
    browser: Browser, studio_url: str, script: ScriptedTurns
) -> None:
    with open_studio(browser, studio_url) as studio:
        studio.page.clock.install()
        studio.page.reload()
        script.turns = [bash("echo x > output/x.txt"), SUBMIT]
        studio.send("Write")
        expect(studio.state).to_have_text("submitted")
        studio.file("x.txt").click()
        about = studio.page.locator(".preview .header small")
        expect(about).to_contain_text("modified just now")
        studio.page.clock.fast_forward("05:00")
        expect(about).to_contain_text("modified 5 min ago")


def test_formula_delimiters_in_code_are_kept(run_turns: Callable[..., StudioTab]) -> None:
    text = "Run this:\n\n```sh\necho $$\n\necho \\[\n```\n\nThe variable `$$` is the process."
    studio = run_turns(unfinished(Turn(text=text + " It is." * 20), 3 + len(text) // 12))
    text_block = studio.timeline.locator(".step-text")
    expect(text_block.locator("pre code")).to_have_text("echo $$\n\necho \\[\n")
    expect(text_block).to_contain_text("The variable `$$` is")
    studio.button("Stop").click()
    expect(studio.state).to_have_text("stopped")
