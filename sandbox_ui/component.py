"""Gradio components whose content the page's own modules make.

Gradio compiles templates as code, so they stay as they are written here: whatever a model,
a file or a person says comes by the stream and becomes text nodes. They are functions and
not subclasses of ``gr.HTML``, beside whose source Gradio would write a stub at every import.
"""

import json
from typing import Any

import gradio as gr

_MAIN = "import(new URL('ui/main.js', document.baseURI).href)"


def mounted(mount: str, place: str, **kwargs: Any) -> gr.HTML:
    """A place in the page that a function of ``static/main.js`` fills.

    Its value, if any, is the only thing that Python and the function exchange.

    Args:
        mount: The function's name.
        place: What it finds there: HTML, fixed.
        kwargs: As for ``gr.HTML``.
    """
    return gr.HTML(
        html_template=place,
        js_on_load=f"{_MAIN}.then(m => m.{mount}(element, props, watch))",
        apply_default_css=False,
        **kwargs,
    )


def calling(function: str, first: Any) -> str:
    """An event's JavaScript: a function of ``static/main.js``, given the inputs' values.

    Args:
        function: Its name.
        first: What it is given before them, as JSON can hold it.
    """
    return f"async (...values) => (await {_MAIN}).{function}({json.dumps(first)}, values)"
