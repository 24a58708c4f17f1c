"""Blocks that get their application where they are mounted."""

from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from gradio.routes import App

from agent.settings import Settings
from tests.support.local_provider import LocalSandboxProvider
from tests.support.server import create_app, run_coroutine


@pytest.fixture
def created(monkeypatch: pytest.MonkeyPatch) -> list[gr.Blocks]:
    """Record for which Blocks Gradio creates applications."""
    created: list[gr.Blocks] = []
    original = App.create_app

    def create(blocks: gr.Blocks, *args: Any, **kwargs: Any) -> App:
        created.append(blocks)
        return original(blocks, *args, **kwargs)

    monkeypatch.setattr(App, "create_app", staticmethod(create))
    return created


def test_the_page_has_one_gradio_application(created: list[gr.Blocks], tmp_path: Path) -> None:
    create_app(Settings(data=tmp_path), LocalSandboxProvider(tmp_path))
    assert len(created) == 1


def test_the_queue_uses_the_mounted_application(created: list[gr.Blocks], tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, root_path="/studio")
    create_app(settings, LocalSandboxProvider(tmp_path))
    assert created[0].app.get_blocks() is created[0]
    assert created[0].app.root_path == "/studio"


def test_other_blocks_have_their_own(created: list[gr.Blocks]) -> None:
    async def build() -> gr.Blocks:
        page = gr.Blocks(analytics_enabled=False)
        with page:
            gr.Textbox()
        return page

    page = run_coroutine(build())
    assert isinstance(page.app, App)
    assert set(created) == {page}
