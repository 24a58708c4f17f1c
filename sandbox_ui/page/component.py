"""Gradio components whose content the page's JavaScript modules render.

Gradio compiles templates as code, so the templates are constants: text from models, files and
users arrives by the stream and becomes text nodes. These are functions instead of subclasses of
``gr.HTML`` because Gradio would write a stub next to a subclass's source at every import.
"""

import json
from typing import Any

import gradio as gr

_MAIN = (
    "import(new URL(document.querySelector('meta[name=studio-modules]').content + 'main.js',"
    " document.baseURI).href)"
)


def js_component(function: str, template: str, **kwargs: Any) -> gr.HTML:
    """Create a component that a function of ``static/main.js`` renders.

    Python and the function exchange data only through the component's value.

    Args:
        function: The function's name.
        template: The constant HTML that the function finds.
        kwargs: As for ``gr.HTML``.
    """
    return gr.HTML(
        html_template=template,
        js_on_load=f"{_MAIN}.then(m => m.{function}(element, props, watch))",
        apply_default_css=False,
        **kwargs,
    )


def js_call(function: str, first: Any) -> str:
    """Return JavaScript that passes input values to a ``static/main.js`` function.

    Args:
        function: The function's name.
        first: Its first argument, before the inputs; must be JSON serializable.
    """
    return f"async (...values) => (await {_MAIN}).{function}({json.dumps(first)}, values)"
