"""The workspace beside the run: its tree, live, and a look at one file."""

from typing import Any

import gradio as gr

from sandbox_ui.component import mounted

_WORKSPACE = """
<section class="workspace" aria-label="Workspace">
  <div class="bar"><button type="button" class="sheet" aria-expanded="false">Workspace</button>
    <span class="crumb">workspace</span><small class="count num"></small>
    <button type="button" class="quiet upload">Upload</button></div>
  <div class="tree" role="tree" aria-label="Files"></div>
  <div class="preview" role="group" aria-label="Preview" hidden></div>
</section>
"""


def workspace(**kwargs: Any) -> gr.HTML:
    """The files of the run that the timeline shows."""
    return mounted("mountWorkspace", _WORKSPACE, **kwargs)
