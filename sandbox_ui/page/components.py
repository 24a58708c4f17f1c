"""Gradio components that our modules render; templates are constants, as Gradio compiles them."""

import json
from typing import Any

import gradio as gr

from sandbox_ui.page.modules import STATIC

_MAIN = (
    "import(new URL(document.querySelector('meta[name=studio-modules]').content + 'main.js',"
    " document.baseURI).href).catch(error => {"
    " dispatchEvent(new Event('vite:preloadError')); throw error; })"
)


def js_component(function: str, template: str, **kwargs: Any) -> gr.HTML:
    """Create a component that a function of ``static/main.js`` renders."""
    return gr.HTML(
        html_template=template,
        js_on_load=f"{_MAIN}.then(m => m.{function}(element, props, watch))",
        apply_default_css=False,
        **kwargs,
    )


def js_call(function: str, first: Any) -> str:
    """Return JavaScript that calls a function of ``static/main.js``."""
    return f"async (...values) => (await {_MAIN}).{function}({json.dumps(first)}, values)"


_HEADER = """
<header class="app-header">
  <span class="brand">LLM-in-Sandbox</span>
  <h1 class="title"><span class="visually-hidden">LLM-in-Sandbox Studio</span></h1>
  <span class="pill state" hidden><span class="dot"></span><span class="label"></span><span
    class="time num" aria-hidden="true"></span></span>
  <span class="pill model" hidden></span>
  <button type="button" class="quiet new" hidden>New run</button>
  <button type="button" class="quiet history" aria-label="History" aria-haspopup="dialog"><span
    class="hide-small">History</span></button>
  <button type="button" class="quiet settings" aria-label="Settings" title="Settings"
    aria-expanded="false" aria-controls="settings"><span class="hide-small">Settings</span></button>
  <button type="button" class="quiet theme" aria-label="Switch theme"></button>
</header>
<dialog class="window history" aria-labelledby="history-title"></dialog>
"""


def page_header(**kwargs: Any) -> gr.HTML:
    """Create the header with title, state and buttons."""
    return js_component("mountHeader", _HEADER, **kwargs)


_NOTICE = """
<div class="notice" role="alert" hidden><span class="label"></span>
  <button type="button" class="quiet connect" hidden>Open settings</button>
  <button type="button" class="quiet close" aria-label="Dismiss"></button></div>
"""


def notice(**kwargs: Any) -> gr.HTML:
    """Create the error notice; its value holds the message and a suggested action."""
    return js_component("mountNotice", _NOTICE, **kwargs)


def endpoints(**kwargs: Any) -> gr.HTML:
    """Create the list of the user's named endpoints, which fill the form."""
    template = '<div class="endpoints" role="group" aria-label="Saved addresses"></div>'
    return js_component("mountEndpoints", template, **kwargs)


def endpoint_test_result(**kwargs: Any) -> gr.HTML:
    """Create the result of Test; its value is as ``ButtonHandlers.test_endpoint`` returns it."""
    template = '<div class="test-result" role="status" aria-label="Test result" hidden></div>'
    return js_component("mountTestResult", template, **kwargs)


_ATTACHMENTS = """
<div class="attachments"><div class="chips" role="group" aria-label="Attached files"></div>
  <div class="tools"><button type="button" class="quiet choose">Attach files</button>
    <button type="button" class="quiet offer" aria-haspopup="dialog">Examples</button>
    <span class="hint" id="hint" role="status"></span></div>
  <input type="file" multiple hidden aria-label="Files to attach">
  <dialog class="examples" aria-labelledby="examples-title"></dialog></div>
"""


def attachments(**kwargs: Any) -> gr.HTML:
    """Create the file attachments, the examples and the status hint for Run."""
    return js_component("mountComposer", _ATTACHMENTS, **kwargs)


_TIMELINE = (STATIC / "timeline/timeline.html").read_text()


def timeline(**kwargs: Any) -> gr.HTML:
    """Create the timeline of one run; its value is the run's id."""
    return js_component("mountTimeline", _TIMELINE, **kwargs)


_WORKSPACE = (STATIC / "workspace/workspace.html").read_text()


def workspace(**kwargs: Any) -> gr.HTML:
    """Create the panel with the files of the run in the timeline."""
    return js_component("mountWorkspace", _WORKSPACE, **kwargs)
