"""Blocks that have one Gradio application: the one that serves them."""

from typing import Any

import gradio as gr
import gradio.blocks
from gradio.routes import App


class MountedBlocks(gr.Blocks):
    """Blocks that are served only where ``gr.mount_gradio_app`` mounts them.

    Gradio gives all Blocks an application when they are created and another one when their layout
    is complete. Each takes as long as the one that is mounted, which is the third.
    """


class _AppUnlessMounted(App):
    """Takes the place of Gradio's ``App`` in ``gradio.blocks``."""

    @staticmethod
    def create_app(blocks: gr.Blocks, *args: Any, **kwargs: Any) -> App:
        """Create an application for Blocks, unless they get theirs when they are mounted."""
        if isinstance(blocks, MountedBlocks):
            return None  # type: ignore[return-value]  # nothing uses it until they are mounted
        return App.create_app(blocks, *args, **kwargs)


gradio.blocks.App = _AppUnlessMounted  # type: ignore[attr-defined]
