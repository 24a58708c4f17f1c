"""How the page loads its modules."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from sandbox_ui.page import modules
from tests.support.component.stage import ALL, Stage

pytestmark = pytest.mark.component


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
