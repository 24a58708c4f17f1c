"""Gradio components whose content the page's JavaScript modules render.

Gradio compiles templates as code, so the templates are constants: text from models, files and
users arrives by the stream and becomes text nodes.
"""

import json
from typing import Any

import gradio as gr

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
  <span class="pill state" role="status" aria-live="polite" hidden><span class="dot"></span><span
    class="label"></span><span class="time num" aria-hidden="true"></span></span>
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


_TIMELINE = """
<section class="timeline" aria-label="Timeline">
  <div class="badge" hidden>Demonstration: scripted model, real sandbox</div>
  <div class="overview" hidden>
    <div class="meter num" aria-label="Totals" role="group"></div>
    <div class="run-tools"></div>
    <div class="origin" aria-label="Origin" role="group" hidden></div>
    <div class="run-capabilities" aria-label="Capability usage" role="group" hidden></div>
    <div class="find" role="search" aria-label="This run" hidden></div>
  </div>
  <div class="thread" tabindex="0" aria-label="Steps" role="group"></div>
  <button type="button" class="latest" hidden>Jump to latest</button>
</section>
"""


def timeline(**kwargs: Any) -> gr.HTML:
    """Create the timeline of one run; its value is the run's id."""
    return js_component("mountTimeline", _TIMELINE, **kwargs)


_WORKSPACE = """
<section class="workspace" aria-label="Workspace">
  <div class="divider vertical" role="separator" tabindex="0" aria-orientation="vertical"
    aria-label="Resize conversation"></div>
  <div class="bar"><button type="button" class="workspace-toggle"
      aria-expanded="false">Workspace</button>
    <nav class="crumbs" aria-label="Current folder"></nav>
    <small class="count num" aria-live="polite"></small>
    <button type="button" class="quiet create" aria-haspopup="menu">Create…</button>
    <button type="button" class="quiet upload">Upload</button>
    <button type="button" class="quiet more" aria-haspopup="menu"
      aria-label="More actions">⋯</button></div>
  <div class="finder"><label><input type="search" class="filter" placeholder="Filter files"
      aria-label="Filter files" autocomplete="off" spellcheck="false"></label>
    <select class="sort" aria-label="Sort files">
      <option value="name">By name</option>
      <option value="time">Newest first</option>
      <option value="size">Largest first</option></select></div>
  <div class="files"><div class="tree" role="tree" aria-label="Files" aria-multiselectable="true">
    </div><p class="empty-message" hidden></p></div>
  <div class="divider horizontal" role="separator" tabindex="0" aria-orientation="horizontal"
    aria-label="Resize file tree"></div>
  <div class="preview" role="group" aria-label="Preview" hidden></div>
  <div class="toasts" aria-live="polite"></div>
</section>
"""


def workspace(**kwargs: Any) -> gr.HTML:
    """Create the panel with the files of the run in the timeline."""
    return js_component("mountWorkspace", _WORKSPACE, **kwargs)
