"""What a person gives: files, examples to begin with; and what could not be done."""

from typing import Any

import gradio as gr

from sandbox_ui.component import mounted

_NOTICE = """
<div class="notice" role="alert" hidden><span class="words"></span>
  <button type="button" class="quiet connect" hidden>Open settings</button>
  <button type="button" class="quiet close" aria-label="Dismiss"></button></div>
"""


def notice(**kwargs: Any) -> gr.HTML:
    """What could not be done and why; its value is a sentence and what helps."""
    return mounted("mountNotice", _NOTICE, **kwargs)


_TOOLS = """
<div class="attachments"><div class="chips" role="group" aria-label="Attached files"></div>
  <div class="tools"><button type="button" class="quiet choose">Attach files</button>
    <button type="button" class="quiet offer" aria-haspopup="dialog">Examples</button>
    <span class="hint" id="hint" role="status"></span></div>
  <input type="file" multiple hidden aria-label="Files to attach">
  <dialog class="examples" aria-labelledby="examples-title"></dialog></div>
"""


def tools(**kwargs: Any) -> gr.HTML:
    """Files on their way into the run's workspace, the examples, and what Run waits for."""
    return mounted("mountTools", _TOOLS, **kwargs)
