"""Workspace panel: a live file tree and a preview of one file."""

from typing import Any

import gradio as gr

from sandbox_ui.page.component import js_component

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
    """Create the file panel of the run that the timeline shows."""
    return js_component("mountWorkspace", _WORKSPACE, **kwargs)
