"""Composer: attached files and example tasks; error notices."""

from typing import Any

import gradio as gr

from sandbox_ui.page.component import js_component

_NOTICE = """
<div class="notice" role="alert" hidden><span class="label"></span>
  <button type="button" class="quiet connect" hidden>Open settings</button>
  <button type="button" class="quiet close" aria-label="Dismiss"></button></div>
"""


def notice(**kwargs: Any) -> gr.HTML:
    """Create the error notice; its value is a message and a suggested action."""
    return js_component("mountNotice", _NOTICE, **kwargs)


_ATTACHMENTS = """
<div class="attachments"><div class="chips" role="group" aria-label="Attached files"></div>
  <div class="tools"><button type="button" class="quiet choose">Attach files</button>
    <button type="button" class="quiet offer" aria-haspopup="dialog">Examples</button>
    <span class="hint" id="hint" role="status"></span></div>
  <input type="file" multiple hidden aria-label="Files to attach">
  <dialog class="examples" aria-labelledby="examples-title"></dialog></div>
"""


def attachments(**kwargs: Any) -> gr.HTML:
    """Create the file attachments, the examples and the status hint for Run.

    Its value replaces the text box's content when set; see ``ButtonHandlers.send``.
    """
    return js_component("mountComposer", _ATTACHMENTS, **kwargs)
