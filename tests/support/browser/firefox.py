"""Firefox without a window, by itself or controlled by WebDriver BiDi."""

import base64
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.browser.websocket import WebSocket
from tests.support.server import wait_until

TIMEOUT_SECONDS = 120.0


@contextmanager
def open_in_firefox(url: str, profile: Path) -> Iterator[None]:
    """Show a page in Firefox; skips the test if it is not installed."""
    with _run(profile, url, errors=subprocess.DEVNULL):
        yield


class FirefoxPage:
    """A page in Firefox."""

    def __init__(self, socket: WebSocket, zoom: float) -> None:
        self._socket, self._zoom, self._sent = socket, zoom, 0
        self._command("session.new", capabilities={})
        self._context = self._command("browsingContext.getTree")["contexts"][0]["context"]

    def goto(self, url: str) -> None:
        self._command("browsingContext.navigate", context=self._context, url=url, wait="complete")

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression, or what it resolves with, by JSON."""
        wrapped = f"(async () => JSON.stringify(await ({expression})) ?? 'null')()"
        answer = self._evaluate(wrapped)
        return json.loads(answer["value"])

    def wait_for(self, expression: str) -> None:
        """Wait until a JavaScript expression is true."""
        wait_until(lambda: bool(self.evaluate(expression)), TIMEOUT_SECONDS)

    def type(self, selector: str, text: str) -> None:
        self.evaluate(f"document.querySelector({json.dumps(selector)}).focus()")
        self.press(*text)

    def press(self, *keys: str) -> None:
        kinds = ("keyDown", "keyUp")
        actions = [{"type": kind, "value": key} for key in keys for kind in kinds]
        self._act({"type": "key", "id": "keyboard", "actions": actions})

    def click(self, selector: str) -> None:
        box = f"document.querySelector({json.dumps(selector)})"
        self.evaluate(f"{box}.scrollIntoView({{ block: 'nearest' }})")
        x, y = self.evaluate(
            f"(({{ x, y, width, height }}) => [x + width / 2, y + height / 2])"
            f"({box}.getBoundingClientRect())"
        )
        to = {"type": "pointerMove", "x": round(x), "y": round(y)}
        buttons = [{"type": kind, "button": 0} for kind in ("pointerDown", "pointerUp")]
        self._act({"type": "pointer", "id": "mouse", "actions": [to, *buttons]})

    def choose_file(self, selector: str, path: Path) -> None:
        """Choose a file in a field."""
        found = self._evaluate(f"document.querySelector({json.dumps(selector)})")
        element = {"sharedId": found["sharedId"]}
        self._command("input.setFiles", context=self._context, element=element, files=[str(path)])

    def resize(self, width: int, height: int) -> None:
        """Change the size of the page, in pixels of the screen."""
        viewport = {"width": round(width / self._zoom), "height": round(height / self._zoom)}
        self._command("browsingContext.setViewport", context=self._context, viewport=viewport)

    def screenshot(self) -> bytes:
        """Return what is visible of the page, as PNG."""
        answer = self._command("browsingContext.captureScreenshot", context=self._context)
        return base64.b64decode(answer["data"])

    def _act(self, source: dict[str, Any]) -> None:
        self._command("input.performActions", context=self._context, actions=[source])

    def _evaluate(self, expression: str) -> Any:
        answer = self._command(
            "script.evaluate", expression=expression, awaitPromise=True,
            target={"context": self._context},
        )  # fmt: skip
        assert answer["type"] == "success", answer
        return answer["result"]

    def _command(self, method: str, **params: Any) -> Any:
        self._sent += 1
        self._socket.send(json.dumps({"id": self._sent, "method": method, "params": params}))
        while True:
            answer = json.loads(self._socket.receive())
            if answer.get("id") == self._sent:
                assert answer["type"] == "success", answer
                return answer["result"]


@contextmanager
def control_firefox(
    profile: Path, zoom: float = 1, *, forced: bool = False
) -> Iterator[FirefoxPage]:
    """Run Firefox under control; skips the test if it is not installed."""
    profile.mkdir(exist_ok=True)
    preferences = {  # as on a desktop: without a screen it has no mouse, and paints no scrollbars
        "layout.css.devPixelsPerPx": str(zoom), "ui.primaryPointerCapabilities": 6,
        "ui.allPointerCapabilities": 6, "ui.useOverlayScrollbars": 1,
    }  # fmt: skip
    if forced:
        preferences |= {"browser.display.document_color_use": 2, "ui.useAccessibilityTheme": 1}
    lines = [
        f"user_pref({json.dumps(name)}, {json.dumps(value)});\n"
        for name, value in preferences.items()
    ]
    (profile / "user.js").write_text("".join(lines))
    with _run(profile, "--remote-debugging-port", "0", "about:blank") as process:
        assert process.stderr
        found = None
        while found is None:
            line = process.stderr.readline()
            assert line, "Firefox has ended"
            found = re.search(r"BiDi listening on (ws://\S+)", line)
        socket = WebSocket(f"{found[1]}/session", TIMEOUT_SECONDS)
        try:
            yield FirefoxPage(socket, zoom)
        finally:
            socket.close()


@contextmanager
def _run(
    profile: Path, *arguments: str, errors: int = subprocess.PIPE
) -> Iterator["subprocess.Popen[str]"]:
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    if program is None:
        pytest.skip("Firefox is not installed: make .make/browsers")
    profile.mkdir(exist_ok=True)
    command = [program, "--headless", "--no-remote", "--profile", str(profile), *arguments]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()
