"""Gradio components whose content the page's own modules make.

Gradio compiles templates as code, so they stay as they are written here: whatever a model,
a file or a person says comes by the stream and becomes text nodes. They are functions and
not subclasses of ``gr.HTML``, beside whose source Gradio would write a stub at every import.
"""

from typing import Any

import gradio as gr


def mounted(mount: str, place: str, **kwargs: Any) -> gr.HTML:
    """A place in the page that a function of ``static/main.js`` fills.

    Its value, if any, is the only thing that Python and the function exchange.

    Args:
        mount: The function's name.
        place: What it finds there: HTML, fixed.
        kwargs: As for ``gr.HTML``.
    """
    main = "new URL('studio/main.js', document.baseURI).href"
    return gr.HTML(
        html_template=place,
        js_on_load=f"import({main}).then(m => m.{mount}(element, props, watch))",
        apply_default_css=False,
        **kwargs,
    )
