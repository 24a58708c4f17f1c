"""Page header: title, run state and the page's own buttons."""

from typing import Any

import gradio as gr

from sandbox_ui.page.component import js_component

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
