"""Blocks with a single Gradio application, which is created when they are mounted."""

from typing import Any

import gradio as gr
import gradio.blocks
from fastapi import FastAPI
from gradio.routes import App
from starlette.routing import Mount


class MountedBlocks(gr.Blocks):
    """Blocks without an application until ``mount`` is called.

    Gradio creates an application for new Blocks, another one at the end of their layout, and a
    third one to mount. Only the third is served; each takes as long to create.
    """


def mount(app: FastAPI, blocks: gr.Blocks, **options: Any) -> Mount:
    """Mount Blocks at ``/``, and return their route.

    Args:
        app: The application that is to serve them.
        blocks: The Blocks, whose layout is complete.
        options: As for ``gr.mount_gradio_app``.
    """
    gr.mount_gradio_app(app, blocks, path="/", **options)
    route = app.router.routes[-1]
    assert isinstance(route, Mount)
    assert isinstance(route.app, App)
    blocks.app = route.app  # as Blocks.launch does: Gradio's queue uses its root path and sessions
    return route


class _AppUnlessMounted(App):
    """Replaces ``App`` in ``gradio.blocks``, which has no option for it."""

    @staticmethod
    def create_app(blocks: gr.Blocks, *args: Any, **kwargs: Any) -> App:
        """Create an application for Blocks; ``MountedBlocks`` get none here."""
        if isinstance(blocks, MountedBlocks):
            return None  # type: ignore[return-value]  # unused before they are mounted
        return App.create_app(blocks, *args, **kwargs)


gradio.blocks.App = _AppUnlessMounted  # type: ignore[attr-defined]
