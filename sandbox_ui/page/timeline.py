"""Live timeline of a run: the task, each step with its results, the answer."""

from typing import Any

import gradio as gr

from sandbox_ui.page.component import js_component

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
