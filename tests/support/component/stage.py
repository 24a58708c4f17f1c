"""The bare page in which a component test mounts components."""

import base64
import json
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Locator,
    Page,
    expect,
)

from agent.events import Event
from agent.runs.inputs import list_inputs
from agent.workspace.files import Workspace
from sandbox_ui.page import modules
from tests.support.browser.page_pool import TIMEOUT_MS
from tests.support.component.events import continued, started
from tests.support.component.recorded import bare_page, recorded
from tests.support.component.runs import RUN, PageRun, render_markdown
from tests.support.component.server import CONTAINER, Answer, FixtureServer, Request, Stream
from tests.support.tab import CONFINEMENT_PROBE, NARROW, WIDE, StudioPage

if TYPE_CHECKING:  # what it imports takes seconds
    from tests.support.component.routes import LocalRoutes

T = TypeVar("T")
Role = Literal["owner", "user", "guest"]
Theme = Literal["light", "dark"]
Component = Literal["header", "timeline", "notice", "attachments", "workspace"]
ALL: tuple[Component, ...] = ("header", "timeline", "notice", "attachments", "workspace")
"""All components of the page; a view needs only its own."""

_MOUNT = Path(__file__).with_name("mount.js").read_text()
# What Gradio's components say of its rows and columns.
_LAYOUT = ".row{display:flex}.column{display:flex;flex-direction:column}"


@dataclass(frozen=True)
class Look:
    """Who looks at a view, how wide it is and in which theme; users and guests have a link."""

    role: Role = "owner"
    size: tuple[int, int] = WIDE
    theme: Theme = "light"

    def __str__(self) -> str:
        return f"{self.role}-{self.size[0]}-{self.theme}"

    @property
    def can_edit(self) -> bool:
        return self.role == "owner"


def looks(
    roles: Iterable[Role] = ("owner", "user", "guest"),
    sizes: Iterable[tuple[int, int]] = (WIDE, NARROW),
    themes: Iterable[Theme] = ("light", "dark"),
) -> Sequence[Look]:
    return tuple(Look(*each) for each in product(roles, sizes, themes))


LOOKS = looks()


class Stage(StudioPage):
    """One test's page: what it shows, asks for and reports.

    Attributes:
        requests: What the page has asked for; the paths are as those of ``answer``.
        errors: Errors in the console, uncaught errors, dialogs, and requests without an answer.
        script: A script that runs before those of the page.
        expected_errors: Parts of errors that the test causes.
        has_accounts: Whether the studio has accounts although its owner looks at the page.
        settings: Values of the operator for fields of the settings, such as ``base_url``.
    """

    def __init__(self, page: Page, data: Path, on_document: Callable[[], None]) -> None:
        super().__init__(page)
        self.thread = page.get_by_role("group", name="Steps")  # the timeline's part that scrolls
        self.url = ""
        self.run = PageRun(data)
        self.requests: list[Request] = []
        self.errors: list[str] = []
        self.look = Look()
        self.script = ""
        self.expected_errors: list[str] = []
        self.has_accounts = False
        self.data = data
        self.settings: dict[str, Any] = {}
        self._on_document = on_document
        self._listeners: list[tuple[Any, Any]] = []
        self._runs: dict[str, PageRun] = {}
        self._answers: dict[str, Answer | Stream] = {**_page_answers()}
        self._gates: dict[str, threading.Event] = {}
        self._presence: list[Stream] = []
        self._is_lost = False
        self._routes: LocalRoutes | None = None
        self._lock = threading.Lock()  # the server's threads open runs

    # What the page gets

    def add_run(self, events: Iterable[Event], run: str) -> PageRun:
        self._runs[run] = PageRun(self.data, events, run=run)
        return self._runs[run]

    def answer(self, path: str, value: Any, method: str = "GET", status: int = 200) -> None:
        """Answer a request with a value as JSON, or with an ``Answer`` or a ``Stream``.

        The path is relative to the URL of the run; with a slash before it, to ``/api``. With a
        query it holds for that query only. A ``*`` at its end stands for the rest.
        """
        answer = value if isinstance(value, Answer | Stream) else Answer.of(value, status)
        self._answers[f"{method} {path}"] = answer

    def answer_recorded(self, answers: dict[str, Any]) -> None:
        """Answer requests as recorded; see ``recorded``."""
        self._answers |= {
            key: _recorded_answer(value) for key, value in answers.items() if " " in key
        }

    def use_routes(self, routes: "LocalRoutes") -> None:
        """Let the server's own routes answer what the test does not; call it before mounting."""
        self._routes = routes
        self._answers = {}

    def fail(self, path: str, status: int = 0, error: str = "", method: str = "GET") -> None:
        """Answer a request with an error of the server; the status 0 drops the connection."""
        self.answer(path, {"error": error}, method, status)

    def answer_again(self, path: str) -> None:
        """Answer a request as before ``answer`` or ``fail``."""
        del self._answers[f"GET {path}"]

    @contextmanager
    def hold(self, path: str, method: str = "GET") -> Iterator[None]:
        """Delay the answers to a request until the end of the context."""
        gate = self._gates[f"{method} {path}"] = threading.Event()
        yield
        gate.set()

    @contextmanager
    def lose_server(self) -> Iterator[None]:
        """Drop every connection until the end of the context, as if the server were gone."""
        self._is_lost = True
        self._end_streams()
        yield
        self._is_lost = False

    def asked(self, path: str, method: str = "GET") -> list[Request]:
        """Return the requests for a path so far, which may end with ``*``."""
        return [
            each for each in self.requests if each.method == method and _matches(path, each.path)
        ]

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition; meanwhile the page goes on."""
        end = time.monotonic() + TIMEOUT_MS / 1000
        while not condition():
            assert time.monotonic() < end, "the condition did not come true in time"
            self.page.wait_for_timeout(10)

    # The page

    def mount(
        self,
        *components: Component,
        run: Iterable[Event] | None = None,
        look: Look | None = None,
        part: str = "",
        waits: bool = True,
    ) -> None:
        """Load the bare page and mount components, with the events of a run or without a run.

        Args:
            part: The fragment of the page's URL, such as ``#step-3``.
            waits: Whether to wait until the run is shown; it never is where its stream is refused.
        """
        self._set_look(look or self.look)
        if run is not None:
            self.run.add(*run)
        self._listen()
        self.page.goto(self.url if run is None else f"{self.shown_url}{part}")
        self._on_document()
        self._mount(components, waits and run is not None)

    def reload(self) -> None:
        self.page.reload()
        self._mount(*self._mounted)

    def _mount(self, components: Sequence[str], waits: bool) -> None:
        self._mounted = components, waits
        mount = "([ids, waits, settings]) => mountComponents(ids, waits, settings)"
        self.page.evaluate(mount, [list(components), waits, self.settings])

    def evaluate(self, path: str, script: str, argument: Any = None) -> Any:
        """Call a function with the exports of one of the page's modules, and an argument.

        A module that is within the bundle is imported a second time, with a state of its own; the
        page's state is in ``core/event_stream.js``, which is not.
        """
        call = f"async ([path, argument]) => ({script})(await import(path), argument)"
        return self.page.evaluate(call, [_address(path), argument])

    def change_look(self, look: Look) -> None:
        assert look.role == self.look.role
        self._set_look(look)

    def record_events(self, name: str) -> Callable[[], list[Any]]:
        """Record what views tell each other by an event; returns what was told so far."""
        script = "({ on }, name) => on(name, (data) => (window.recorded ??= []).push(data))"
        self.evaluate("core/event_stream.js", script, name)
        return lambda: self.page.evaluate("window.recorded ?? []")

    def _set_look(self, look: Look) -> None:
        if look.size != self.look.size:
            self.page.set_viewport_size({"width": look.size[0], "height": look.size[1]})
        if look.theme != self.look.theme:
            self.page.emulate_media(color_scheme=look.theme)
        self.look = look
        self.run.is_own = look.can_edit
        if look.role != "owner" or self.has_accounts:
            me = "guest" if look.role == "guest" else "user"
            self.answer("/me", recorded("page")[f"GET /me as {me}"])

    @property
    def shown_url(self) -> str:
        return f"{self.url}?run={self.run.id}"

    @property
    def run_url(self) -> str:
        return f"{self.url}api/runs/{self.run.id}/"

    def send(self, text: str) -> None:
        """Send a message with Run; without an answer of the test it begins a run or a round."""
        self.task.fill(text)
        self.button("Run").click()
        expect(self.timeline.locator(".task").last).to_contain_text(text)

    @property
    def sent(self) -> list[dict[str, Any]]:
        """What Run gave to its handler so far: ``text``, ``run`` and ``message``."""
        return [each.json for each in self.asked("/page_run", "POST")]

    # Locators

    def step(self, number: int) -> Locator:
        return self.page.locator(f"#step-{number}")

    def clipboard(self) -> str:
        text: str = self.page.evaluate("navigator.clipboard.readText()")
        return text

    # The site

    def document(self) -> bytes:
        head, body = bare_page()
        prefix = self.url.removesuffix("/").rpartition("/")[2]
        is_single = self.look.role == "owner" and not self.has_accounts
        owner = '<meta name="studio-single-owner">' if is_single else ""
        scripts = json.dumps({"imports": {f"/{prefix}/ui/": "/ui/"}})  # one address in all tests
        text = f"""<!doctype html><html lang="en"><head><meta charset="utf-8">
            <base href="/{prefix}/"><script type="importmap">{scripts}</script>
            <title>Component</title>{owner}
            {(head + modules.head()).replace('"ui/', '"/ui/')}
            <style>{_LAYOUT}</style><script>{_MOUNT}{self.script}</script></head><body>
            <div class="gradio-container {CONTAINER}"><div class="main"><div class="wrap">
            <main class="contain"><div class="column">{body}</div></main>
            </div></div></div></body></html>"""
        return text.encode()

    def respond(self, request: Request) -> Answer | Stream:
        """Return the answer to a request."""
        path = f"/{request.path.removeprefix('api/')}"
        if self._is_lost:
            return Answer(status=0)
        if path == "/presence":
            self._presence.append(Stream())
            return self._presence[-1]
        run = self._run_of(path)
        if run is not None:
            path = path.removeprefix(f"/runs/{run.id}/")
        asked = replace(request, path=path)
        self.requests.append(asked)
        answer = self._answer(asked, request, run)
        gate = _matching(self._gates, asked)
        return replace(answer, gate=gate) if gate and isinstance(answer, Answer) else answer

    def _answer(self, asked: Request, request: Request, run: PageRun | None) -> Answer | Stream:
        path = asked.path
        answer: Answer | Stream | None = _matching(self._answers, asked)
        if answer is None and run is not None and request.method == "GET":
            answer = run.respond(path, asked)
        if answer is None and (request.method, path) == ("POST", "/markdown"):
            answer = render_markdown(asked)
        if answer is None and (request.method, path) == ("POST", "/page_run"):
            answer = self._begin_round(**asked.json)
        if answer is None and (request.method, path) == ("POST", "/page_stop"):
            answer = Answer.of(None)
        if answer is None and self._routes:
            return self._respond_by_routes(self._routes, request)
        if answer is None:
            query = "&".join(f"{name}={value}" for name, value in asked.query.items())
            self.errors.append(f"no answer: {request.method} {path}?{query}")
            return Answer.of({"error": "The test has no answer to this."}, 404)
        return answer

    def _begin_round(self, text: str, run: str | None, message: dict[str, Any] | None) -> Answer:
        """Answer as ``ButtonHandlers.send`` does: a text begins a run, or a run's next round."""
        shown = self._runs.get(run or "", self.run)
        if run is None and shown.has_begun:
            shown = self.add_run([], f"{RUN}-{len(self._runs) + 2}")
        task = message["text"] if message else text
        inputs = [each.to_url() for each in list_inputs(Workspace(shown.folder.workspace))]
        event = continued(task) if shown.has_begun else started(task, inputs=tuple(inputs))
        shown.add(event)
        return Answer.of([shown.id, None, None if message else ""])

    def _run_of(self, path: str) -> PageRun | None:
        """Return the run whose URL is asked for; with routes, any run of the data folder."""
        parts = path.split("/")
        if parts[1] != "runs" or len(parts) < 4:
            return None
        with self._lock:
            runs = {each.id: each for each in (self.run, *self._runs.values())}
            run = runs.get(parts[2])
            if not self._routes:
                return run
            if not (self.data / "runs" / parts[2]).exists():
                return None
            return run or self._runs.setdefault(parts[2], PageRun(self.data, run=parts[2]))

    def _respond_by_routes(self, routes: "LocalRoutes", request: Request) -> Answer:
        answer = routes.respond(request)
        if request.method != "GET" and answer.status < 400:
            for run in (self.run, *self._runs.values()):
                if run.folder.path.exists():
                    run.add()  # what the route recorded
                    run.change_files()
                else:
                    run.disconnect()
        return answer

    def close(self) -> None:
        """Release what is held, end the streams."""
        for gate in self._gates.values():
            gate.set()
        self._end_streams()
        if self._routes:
            self._routes.close()

    def _end_streams(self) -> None:
        for run in (self.run, *self._runs.values()):
            run.disconnect()
        for stream in self._presence:
            stream.close()

    def _listen(self) -> None:
        """Note errors in the console, uncaught errors and dialogs."""
        if not self._listeners:
            self._listeners = [
                ("console", self._on_console),
                ("pageerror", lambda error: self._note_error(str(error))),
                ("dialog", self._on_dialog),
            ]
            for event, listener in self._listeners:
                self.page.on(event, listener)

    def ignore(self) -> None:
        for event, listener in self._listeners:
            self.page.remove_listener(event, listener)

    def _on_dialog(self, dialog: Dialog) -> None:
        self.errors.append(dialog.message)
        dialog.dismiss()

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not message.location["url"].endswith(CONFINEMENT_PROBE):
            self._note_error(f"{message.text} {message.location}")

    def _note_error(self, error: str) -> None:
        """Note an error; Chromium repeats those of the frames of earlier tests."""
        is_other = self.url not in error and re.search(r"//127\.0\.0\.1:\d+/\d+/", error)
        if not is_other and not any(each in error for each in self.expected_errors):
            self.errors.append(error)


def _address(path: str) -> str:
    """Return the address of a module: of its source, unless the page's bundle has it."""
    found = re.search(r'content="ui/([^"]*)"', modules.head())
    assert found
    folder = found[1] if (modules.STATIC / found[1] / path).is_file() else ""
    return f"/ui/{folder}{path}"


def _matching(by_key: Mapping[str, T], request: Request) -> T | None:
    """Return what is kept for a request: its query, its path, or the start of its path."""
    query = "&".join(f"{name}={value}" for name, value in request.query.items())
    for path in (f"{request.path}?{query}", request.path):
        found = by_key.get(f"{request.method} {path}")
        if found is not None:
            return found
    for key, each in by_key.items():
        method, _, path = key.partition(" ")
        if method == request.method and path.endswith("*") and _matches(path, request.path):
            return each
    return None


def _matches(pattern: str, path: str) -> bool:
    return path.startswith(pattern[:-1]) if pattern.endswith("*") else path == pattern


def _page_answers() -> dict[str, Answer]:
    answers = recorded("page") | {"POST file-links": {"paths": {}}}
    return {key: _recorded_answer(value) for key, value in answers.items()}


def _recorded_answer(value: Any) -> Answer:
    """Return a recorded answer: JSON, or another kind of content."""
    if isinstance(value, dict) and value.keys() == {"kind", "base64"}:
        return Answer(content=base64.b64decode(value["base64"]), kind=value["kind"])
    if isinstance(value, dict) and value.keys() == {"kind", "text"}:
        return Answer(content=value["text"].encode(), kind=value["kind"])
    return Answer.of(value)


class Stages:
    """The pages of a worker's component tests: one, of which each test gets a fresh document.

    The page of the previous test is served until the next one's document is there: it causes no
    errors meanwhile.
    """

    def __init__(self, browser: Browser, server: FixtureServer) -> None:
        self._browser, self._server = browser, server
        self._context: BrowserContext | None = None
        self._previous = ExitStack()

    @contextmanager
    def open(self, data: Path) -> Iterator[Stage]:
        """Open a test's page; fails if it has reported errors at the end."""
        serving = ExitStack()
        previous, self._previous = self._previous, serving
        stage = Stage(self._page(), data, previous.close)
        stage.url = serving.enter_context(self._server.serve(stage))
        serving.callback(stage.close)
        yield stage
        previous.close()
        stage.ignore()
        self._reset(stage)
        assert not stage.errors, "\n".join(stage.errors)

    def close(self) -> None:
        """Close the page."""
        if self._context:
            self._context.close()
        self._previous.close()

    def _page(self) -> Page:
        if self._context is None:
            viewport: Any = {"width": WIDE[0], "height": WIDE[1]}
            self._context = self._browser.new_context(viewport=viewport, reduced_motion="reduce")
            self._context.set_default_timeout(TIMEOUT_MS)
            self._context.grant_permissions(["clipboard-read", "clipboard-write"])
            self._context.new_page()
        return self._context.pages[0]

    def _reset(self, stage: Stage) -> None:
        """Forget what the test has stored, and how it has changed the page."""
        page, context = stage.page, stage.page.context
        for other in context.pages:
            if other != page:
                other.close()
        if page.evaluate("localStorage.clear(); sessionStorage.clear(); '__pwClock' in window"):
            context.close()
            self._context = None
            return
        page.unroute_all()
        if stage.look.size != WIDE:
            page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
        if stage.look.theme != "light":
            page.emulate_media(color_scheme="light")
