"""How the page loads its modules."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from sandbox_ui.page import modules
from tests.support.component.server import Answer
from tests.support.component.stage import ALL, Stage

pytestmark = pytest.mark.component

ADD = """async ([name, properties]) => {
  const element = Object.assign(document.createElement(name), properties);
  const failed = new Promise((resolve) => element.addEventListener("error", resolve));
  document.head.append(element);
  await failed;
  return document.querySelector("[role=status].loading")?.textContent ?? "";
}"""
"""Adds an element, and returns what the page says once it has failed."""
TRYING = "Loading was interrupted. Trying again…"
MODULE = ("script", {"type": "module", "src": "late.js"})
STYLES = ("link", {"rel": "stylesheet", "href": "late.js"})
PRELOAD = ("link", {"rel": "modulepreload", "href": "late.js"})
CLASSIC = ("script", {"src": "late.js"})
Element = tuple[str, dict[str, Any]]


@pytest.fixture
def loading(stage: Stage) -> Stage:
    """A page that is still loading, and cannot get ``late.js``."""
    stage.script = (modules.STATIC / "core" / "loading" / "reload_guard.js").read_text()
    stage.answer("/late.js", Answer(status=0))
    stage.page.goto(stage.url)
    return stage


@pytest.mark.parametrize("element", [MODULE, STYLES], ids=str)
def test_a_file_that_is_needed_is_fetched_until_it_is_there_and_the_page_loads_once_more(
    loading: Stage, element: Element
) -> None:
    with loading.page.expect_navigation():
        assert loading.page.evaluate(ADD, element) == TRYING
        loading.wait_until(lambda: len(loading.asked("/late.js")) > 2)
        loading.answer("/late.js", Answer(kind="text/javascript"))
    assert loading.page.evaluate("sessionStorage['studio-reloads']").startswith("1 ")


@pytest.mark.parametrize("element", [PRELOAD, CLASSIC], ids=str)
def test_a_file_that_the_page_does_without_loads_nothing_again(
    loading: Stage, element: Element
) -> None:
    assert loading.page.evaluate(ADD, element) == ""


def test_an_import_loads_the_page_again_only_until_it_is_shown_and_five_times(
    loading: Stage,
) -> None:
    says = "document.querySelector('[role=status].loading')?.textContent ?? ''"
    fail = f"(dispatchEvent(new Event('vite:preloadError')), {says})"
    rejected = f"(dispatchEvent(new Event('unhandledrejection')), {says})"
    assert loading.page.evaluate(rejected) == ""
    for _ in range(5):
        with loading.page.expect_navigation():
            assert loading.page.evaluate(fail) == TRYING
    assert loading.page.evaluate(fail) == "Part of the page could not be loaded. Reload it."
    loading.page.reload()
    shown = "document.documentElement.dataset.mounted = ''"
    assert loading.page.evaluate(f"({shown}, {fail})") == ""


@pytest.mark.parametrize("bundled", [True, False])
def test_the_page_works_with_and_without_the_bundle(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, *, bundled: bool
) -> None:
    if not bundled:
        monkeypatch.setattr(modules, "BUNDLE", Path("/nonexistent"))
    elif "bundle" not in modules.head():
        pytest.skip("the modules are not bundled: make static/bundle/.stamp")
    urls: list[str] = []
    stage.page.on("request", lambda request: urls.append(request.url))
    stage.mount(*ALL)
    expect(stage.workspace).to_be_visible()
    own = [url for url in urls if "/ui/" in url and url.endswith(".js")]
    assert len(own) == len(set(own))
    assert all(("/ui/bundle/" in url) == bundled for url in own)
    assert (len(own) < 6) == bundled
