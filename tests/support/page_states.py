"""Every state of the page, reached with real events through the real stream."""

import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, expect

from agent.events import Event, Preparing
from agent.runs.folder import RunFolder
from agent.sandbox.base import Sandbox
from agent.util.stop import Stop
from tests.support.browser.page_pool import add_init_script, release_page, take_page
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Call, Endpoint, Turn
from tests.support.models.turns import SUBMIT as SUBMIT
from tests.support.models.turns import bash as bash
from tests.support.server import serve_studio
from tests.support.tab import StudioTab

SIZES = ((1280, 860), (390, 844))
SCHEMES = ("light", "dark")
DRAWING = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 320 160">'
    '<rect width="320" height="160" fill="#f4efe4"/>'
    '<path d="M20 130 C90 20 150 20 190 90 S280 130 300 40" fill="none" stroke="#1f6f5c"'
    ' stroke-width="6"/></svg>'
)
ANSWER = "The longest day has **16 h 53 min**, the shortest 7 h 36 min.\n\n- computed\n- checked"


class StagedProvider(LocalSandboxProvider):
    """Provides sandboxes after the given preparation stages and a gate."""

    def __init__(self, data: Path) -> None:
        super().__init__(data)
        self.stages: Sequence[Preparing] = ()
        self.gate = threading.Event()

    def acquire(self, folder: RunFolder, stop: Stop) -> Generator[Event, None, Sandbox | None]:
        yield from self.stages
        while self.stages and not self.gate.is_set():
            if stop.wait(0.02):
                return None
        return (yield from super().acquire(folder, stop))


class ScriptedStudio:
    """The studio with a staged provider and a scripted endpoint."""

    def __init__(self, studio_url: str, provider: StagedProvider) -> None:
        self.studio_url = studio_url
        self.provider = provider
        self.turns: Sequence[Turn] = ()
        self.respond: Callable[[dict[str, Any]], Turn] | None = None
        """Answers instead of the turns, as for several runs at a time."""

    def set_turns(self, *turns: Turn) -> None:
        self.turns = turns

    def __call__(self, body: dict[str, Any]) -> Turn:
        if self.respond:
            return self.respond(body)
        turn, *self.turns = self.turns or (SUBMIT,)
        return turn


@contextmanager
def serve_scripted(data: Path) -> Iterator[ScriptedStudio]:
    provider = StagedProvider(data)
    stage = ScriptedStudio("", provider)
    with (
        Endpoint(stage) as endpoint,
        serve_studio(data, provider, base_url=endpoint.url, model="test-model") as stage.studio_url,
    ):
        yield stage


@contextmanager
def open_scripted(browser: Browser, stage: ScriptedStudio) -> Iterator[StudioTab]:
    """Open a tab on a scripted studio; an active run is stopped at the end."""
    viewport = {"width": 1280, "height": 860}
    studio = StudioTab(
        take_page(browser, viewport=viewport, color_scheme="light", reduced_motion="reduce")
    )
    stage.provider.stages, stage.turns, stage.respond = (), (), None
    stage.provider.gate.clear()
    try:
        studio.open(stage.studio_url)
        yield studio
        studio.page.evaluate("document.querySelector('dialog[open]')?.close()")
        studio.page.evaluate("document.querySelector('#stop')?.click()")  # a report has none
        expect(studio.page.locator("#stop:enabled")).to_have_count(0)
    finally:
        stage.provider.gate.set()
        release_page(studio.page)


def set_appearance(studio: StudioTab, size: tuple[int, int], scheme: Any) -> None:
    studio.page.set_viewport_size({"width": size[0], "height": size[1]})
    studio.page.emulate_media(color_scheme=scheme)
    studio.page.wait_for_function(f"document.documentElement.dataset.theme === '{scheme}'")


def nothing_yet(studio: StudioTab, stage: ScriptedStudio) -> None:
    expect(studio.page.locator(".welcome .tile")).to_have_count(6)


def examples(studio: StudioTab, stage: ScriptedStudio) -> None:
    studio.button("Examples").click()
    expect(studio.page.get_by_role("dialog", name="Examples")).to_be_visible()


def settings(studio: StudioTab, stage: ScriptedStudio) -> None:
    studio.button("Settings").click()
    expect(studio.page.get_by_role("dialog", name="Settings")).to_be_visible()


def draft(studio: StudioTab, stage: ScriptedStudio) -> None:
    files: list[Any] = [
        {"name": "competition.txt", "mimeType": "text/plain", "buffer": b"airlines\n" * 900},
        {"name": "barriers to entry.csv", "mimeType": "text/csv", "buffer": b"a,b\n"},
    ]
    studio.page.get_by_label("Files to attach").set_input_files(files)
    expect(studio.file("competition.txt")).to_be_visible()
    studio.task.fill("Which of the reports names the most airlines?")


def send(
    studio: StudioTab, stage: ScriptedStudio, *turns: Turn, state: str, says: str = ""
) -> None:
    """Start a run; what the header and the timeline say of it."""
    stage.turns = turns
    studio.send("Chart the length of the day")
    expect(studio.state).to_contain_text(state)
    expect(studio.timeline).to_contain_text(says)


def queued(studio: StudioTab, stage: ScriptedStudio) -> None:
    detail = "2nd in the queue; each user may have 3 runs in progress"
    stage.provider.stages = [Preparing(state="queued", detail=detail)]
    send(studio, stage, state="2nd in the queue", says=detail)


def preparing_image(studio: StudioTab, stage: ScriptedStudio) -> None:
    detail = "installing python3-numpy"
    stage.provider.stages = [Preparing(state="preparing_image", detail=detail, progress=0.42)]
    send(studio, stage, state="preparing image 42%", says="python3-numpy")


def starting_sandbox(studio: StudioTab, stage: ScriptedStudio) -> None:
    stage.provider.stages = [Preparing(state="starting_sandbox")]
    send(studio, stage, state="starting a sandbox")


def waiting_for_the_model(studio: StudioTab, stage: ScriptedStudio) -> None:
    late = Turn(text="Late", gate=threading.Event())
    send(studio, stage, late, state="waiting for the model")


def running_a_command(studio: StudioTab, stage: ScriptedStudio) -> None:
    count = bash(
        "python3 -c 'print(1 + 1)'; touch output/count.py", text="I **count** first.",
        reasoning="First I count, then I draw; the counting decides the scale.",
    )  # fmt: skip
    draw = "echo 'rendering chart …'; echo 'slow disk' >&2; sleep 600"
    send(studio, stage, count, bash(draw, text="Now I draw."), state="running a command")
    expect(studio.timeline.get_by_label("Output").last).to_contain_text("slow disk")
    expect(studio.timeline.locator(".card.run .state")).to_contain_text("running")


def waiting_for_approval(studio: StudioTab, stage: ScriptedStudio) -> None:
    studio.button("Settings").click()
    studio.page.get_by_role("radio", name="Risky ones").check()
    studio.button("Close settings").click()
    tidy = bash("rm -rf output/old", text="I tidy up first.")
    send(studio, stage, tidy, SUBMIT, state="waiting for approval")
    expect(studio.button("Allow")).to_be_visible()
    studio.task.fill("Keep the old charts, please.")
    studio.button("Send").click()
    expect(studio.timeline).to_contain_text("Waits to be delivered")


def retrying(studio: StudioTab, stage: ScriptedStudio) -> None:
    refused = Turn(fault="503 retry-after=20", message="Overloaded")
    send(studio, stage, refused, state="retrying", says="Overloaded")
    expect(studio.timeline.locator(".status .time")).to_contain_text("in ")


def stopped(studio: StudioTab, stage: ScriptedStudio) -> None:
    running_a_command(studio, stage)
    studio.button("Stop").click()
    expect(studio.timeline.get_by_role("region", name="Stopped")).to_contain_text("kept")


def limit_reached(studio: StudioTab, stage: ScriptedStudio) -> None:
    # Before the page's own scripts: they save the settings at times of their own.
    add_init_script(studio.page, "localStorage.setItem('studio-settings', '{\"steps\": 2}')")
    studio.page.reload()
    studio.task.wait_for()
    turns = (bash(f"echo {number}") for number in range(3))
    send(studio, stage, *turns, state="step limit reached", says="Step limit reached")


def failed(studio: StudioTab, stage: ScriptedStudio) -> None:
    refused = Turn(fault="401", message="Incorrect API key provided")
    send(studio, stage, refused, state="failed", says="key")


def submitted(studio: StudioTab, stage: ScriptedStudio) -> None:
    stage.set_turns(
        bash("python3 day.py", reasoning="The formula is short.", text="A first try."),
        bash(
            f"cat > output/day.svg <<'E'\n{DRAWING}\nE\ncat > output/answer.md <<'E'\n{ANSWER}\nE",
            text="The file is missing; I write it.",
        ),
        Turn(text=ANSWER, calls=[Call("submit")], usage=(2400, 120, 1900)),
    )
    studio.send("Chart the length of the day")
    ending = studio.timeline.get_by_role("region", name="Answer")
    expect(ending.locator("strong")).to_have_text("16 h 53 min")
    expect(ending.get_by_role("link", name="Download day.svg")).to_be_visible()
    expect(studio.page.get_by_role("group", name="Preview").get_by_role("img")).to_be_visible()


def tokens(studio: StudioTab, stage: ScriptedStudio) -> None:
    submitted(studio, stage)
    studio.button("Where the tokens go").click()
    expect(studio.page.locator(".token-chart canvas")).to_be_visible()
    expect(studio.page.locator(".token-chart dd").first).to_be_visible()


def request(studio: StudioTab, stage: ScriptedStudio) -> None:
    submitted(studio, stage)
    studio.button("Request of step 2").click()
    expect(studio.page.locator(".inspector .fidelity")).to_contain_text("Exact")


def answered(studio: StudioTab, stage: ScriptedStudio) -> None:
    turns = [Turn(text="The longest day has **16 h 53 min**.")] * 4
    send(studio, stage, *turns, state="answered", says="Answer")


def huge_output(studio: StudioTab, stage: ScriptedStudio) -> None:
    count = bash("seq -f 'line %.0f of a very long output' 400000; exit 1")
    send(studio, stage, count, SUBMIT, state="submitted")
    expect(studio.timeline.get_by_label("Output").first).to_contain_text("400000")


def refused(studio: StudioTab, stage: ScriptedStudio) -> None:
    studio.page.evaluate("document.querySelector('#run').click()")
    expect(studio.page.get_by_role("alert")).to_contain_text("Describe a task first")


STATES = (
    nothing_yet, examples, settings, draft, refused, queued, preparing_image, starting_sandbox,
    waiting_for_the_model, running_a_command, waiting_for_approval, retrying, stopped,
    limit_reached, failed, submitted, tokens, request, answered, huge_output,
)  # fmt: skip
