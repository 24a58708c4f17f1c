"""The run as it happens: what was asked, step by step what came of it, the answer."""

from typing import Any

import gradio as gr

from sandbox_ui.component import mounted

_TIMELINE = """
<section class="timeline" aria-label="Timeline">
  <div class="badge" hidden>Demonstration: scripted turns, real sandbox</div>
  <div class="meter num" aria-label="Totals" role="group" hidden></div>
  <div class="thread" tabindex="0" aria-label="Steps" role="group"></div>
  <button type="button" class="latest" hidden>Latest</button>
</section>
"""


def timeline(**kwargs: Any) -> gr.HTML:
    """The timeline of one run; its value is the run's id."""
    return mounted("mountTimeline", _TIMELINE, **kwargs)


_NOTICE = """
<div class="notice" role="alert" hidden><span class="words"></span>
  <button type="button" class="quiet connect" hidden>Open settings</button>
  <button type="button" class="quiet close" aria-label="Dismiss"></button></div>
"""


def notice(**kwargs: Any) -> gr.HTML:
    """What could not be done and why; its value is a sentence and what helps."""
    return mounted("mountNotice", _NOTICE, **kwargs)


_ATTACHMENTS = """
<div class="attachments"><div class="chips"></div>
  <button type="button" class="quiet choose">Attach files</button>
  <input type="file" multiple hidden aria-label="Files to attach"></div>
"""


def attachments(**kwargs: Any) -> gr.HTML:
    """Files on their way into the run's workspace, and the button to choose some."""
    return mounted("mountAttachments", _ATTACHMENTS, **kwargs)
