"""WebKitGTK's browser on a virtual display, controlled by WebDriver (https://www.w3.org/TR/webdriver2)."""

import base64
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from sandbox_ui.listen import bind_sockets
from tests.support import httpx
from tests.support.server import wait_until

LIBRARIES = Path("/usr/lib")
TIMEOUT_SECONDS = 120.0


class WebKitPage:
    """A page in WebKit."""

    def __init__(self, session: httpx.Client, zoom: float) -> None:
        self._session, self._zoom = session, zoom

    def goto(self, url: str) -> None:
        self._post("url", url=url)

    def evaluate(self, expression: str) -> Any:
        return self._post("execute/sync", script=f"return {expression}", args=[])

    def wait_for(self, expression: str) -> None:
        """Wait until a JavaScript expression is true."""
        wait_until(lambda: self.evaluate(expression), TIMEOUT_SECONDS)

    def type(self, selector: str, text: str) -> None:
        self._post(f"element/{self._find(selector)}/value", text=text)

    def press(self, *keys: str) -> None:
        kinds = ("keyDown", "keyUp")
        actions = [{"type": kind, "value": key} for key in keys for kind in kinds]
        self._post("actions", actions=[{"type": "key", "id": "keyboard", "actions": actions}])

    def choose_file(self, selector: str, path: Path) -> None:
        """Choose a file in a field."""
        self._post(f"element/{self._find(selector)}/value", text=str(path))

    def click(self, selector: str) -> None:
        self._post(f"element/{self._find(selector)}/click")

    def resize(self, width: int, height: int) -> None:
        """Change the size of the page, in pixels of the screen; the window has bars around it."""
        outer, inner = self.evaluate("[outerHeight, innerHeight]")
        bars = outer - round(inner * self._zoom)
        self._post("window/rect", x=0, y=0, width=width, height=height + bars)
        sizes = f"[innerWidth - {width / self._zoom}, innerHeight - {height / self._zoom}]"
        self.wait_for(f"{sizes}.every((each) => Math.abs(each) <= 1)")

    def screenshot(self) -> bytes:
        """Return what is visible of the page, as PNG."""
        answer = self._session.get("screenshot")
        assert answer.is_success, answer.text
        return base64.b64decode(answer.json()["value"])

    def _find(self, selector: str) -> str:
        (found,) = self._post("element", using="css selector", value=selector).values()
        return str(found)

    def _post(self, command: str, **body: Any) -> Any:
        answer = self._session.post(command, json=body)
        assert answer.is_success, answer.text
        return answer.json()["value"]


@contextmanager
def open_webkit(zoom: float = 1) -> Iterator[WebKitPage]:
    """Run WebKit's browser; skips the test if a part of it is not installed."""
    browser = next(LIBRARIES.glob("*/webkit2gtk-*/MiniBrowser"), None)
    if browser is None or not shutil.which("WebKitWebDriver") or not shutil.which("Xvfb"):
        pytest.skip("WebKit, its driver or Xvfb is not installed: make .make/browsers")
    options = {"binary": str(browser), "args": ["--automation"]}
    capabilities = {"alwaysMatch": {"webkitgtk:browserOptions": options}}
    with ExitStack() as stack:
        url = stack.enter_context(_run_driver(stack.enter_context(_run_display()), zoom))
        client = stack.enter_context(httpx.Client(base_url=url, timeout=TIMEOUT_SECONDS))
        answer = client.post("session", json={"capabilities": capabilities})
        assert answer.is_success, answer.text
        session = f"session/{answer.json()['value']['sessionId']}"
        stack.callback(client.delete, session)
        client.base_url = f"{url}/{session}/"
        yield WebKitPage(client, zoom)


@contextmanager
def _run_display() -> Iterator[str]:
    """Run an X server without a screen; yields its name."""
    read, write = os.pipe()
    command = ["Xvfb", "-displayfd", str(write), "-screen", "0", "2600x1800x24", "-nolisten", "tcp"]
    with (
        os.fdopen(read) as name,
        subprocess.Popen(command, pass_fds=[write], stderr=subprocess.DEVNULL) as server,
    ):
        os.close(write)
        try:
            yield f":{name.readline().strip()}"
        finally:
            server.terminate()


@contextmanager
def _run_driver(display: str, zoom: float) -> Iterator[str]:
    with bind_sockets("127.0.0.1", 0) as (free,):
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    environment = os.environ | {"DISPLAY": display, "NO_AT_BRIDGE": "1"}
    environment["GDK_DPI_SCALE"] = str(zoom)  # which WebKit adds to the page's zoom
    if os.geteuid() == 0:  # its sandbox needs an ordinary user
        environment["WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS"] = "1"
    with subprocess.Popen(
        ["WebKitWebDriver", f"--port={port}"], env=environment, stderr=subprocess.DEVNULL
    ) as driver:
        try:
            wait_until(lambda: _responds(url))
            yield url
        finally:
            driver.terminate()


def _responds(url: str) -> bool:
    try:
        return httpx.get(f"{url}/status").is_success
    except httpx.TransportError:
        return False
