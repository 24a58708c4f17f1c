"""Browsers other than Chromium, each with one page that WebDriver controls."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

from tests.support.browser.firefox import control_firefox
from tests.support.browser.webkit import open_webkit

MOUNTED = "'mounted' in document.documentElement.dataset"


class ControlledPage(Protocol):
    """A page in a browser that WebDriver controls."""

    def goto(self, url: str) -> None: ...
    def evaluate(self, expression: str) -> Any: ...
    def wait_for(self, expression: str) -> None: ...
    def type(self, selector: str, text: str) -> None: ...
    def press(self, *keys: str) -> None: ...
    def click(self, selector: str) -> None: ...
    def choose_file(self, selector: str, path: Path) -> None: ...
    def resize(self, width: int, height: int) -> None:
        """Change the size of the page, in pixels of the screen."""
        ...

    def screenshot(self) -> bytes: ...


class Open(Protocol):
    """Runs a browser: its profile's folder, how far it is zoomed, whether colours are forced."""

    def __call__(
        self, profile: Path, zoom: float = 1, /, *, forced: bool = False
    ) -> AbstractContextManager[ControlledPage]: ...


@contextmanager
def _webkit(_profile: Path, zoom: float = 1, *, forced: bool = False) -> Iterator[ControlledPage]:
    assert not forced, "WebKit has no forced colours"
    with open_webkit(zoom) as page:
        yield page


BROWSERS: dict[str, Open] = {"firefox": control_firefox, "webkit": _webkit}


def shown(selector: str) -> str:
    """Return the expression for: an element of a selector is visible."""
    return f"[...document.querySelectorAll({selector!r})].some((each) => each.checkVisibility())"
