"""The measured pages: the studio, and a typical Gradio chat.

Import this module inside ``browser.launch_browser``: Gradio creates a folder on import.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gradio as gr
from fastapi import FastAPI

from agent.events import Event, Preparing, ReasoningDelta, StepStarted, ToolOutput
from agent.runs.folder import RunFolder
from agent.sandbox.base import Sandbox
from agent.settings import Settings
from agent.util.stop import Stop
from tests.bench.page.script import EventSource
from tests.support.local_provider import LocalSandboxProvider
from tests.support.server import create_app, run_server

_UPDATE_SECONDS = 0.1


class _ScriptedProvider(LocalSandboxProvider):
    """A provider whose runs yield the events of a source each and then end."""

    def __init__(self, data: Path, sources: Iterable[EventSource]) -> None:
        super().__init__(data)
        self._sources = iter(sources)

    def acquire(self, folder: RunFolder, stop: Stop) -> Generator[Event, None, Sandbox | None]:
        yield Preparing(state="starting_sandbox")
        yield from next(self._sources).events()
        return None


def draft(data: Path) -> RunFolder:
    return RunFolder.create(data, LocalSandboxProvider(data).create_workspace())


@contextmanager
def studio(data: Path, *sources: EventSource) -> Iterator[str]:
    """Serve the studio; each task is answered with a source's steps. Yields the address.

    The events take the normal path: recorder, journal, feed, stream, page. Only the model and
    the sandbox are replaced.
    """
    settings = Settings(data=data, base_url="http://127.0.0.1:9/v1", model="script")
    app = create_app(settings, _ScriptedProvider(data, sources), previews_at_start=True)
    with run_server(app) as address:
        try:
            yield address
        finally:
            for each in sources:
                each.end()


@contextmanager
def chat(source: EventSource) -> Iterator[str]:
    """Serve a ``gr.Chatbot``, updated ten times a second, with two messages a step."""
    app = FastAPI()
    app.state.closing = asyncio.Event()
    with gr.Blocks(analytics_enabled=False) as page:
        chatbot = gr.Chatbot(label="Chat", height=700)
        task = gr.Textbox(label="Task")
        gr.Button("Run").click(_chat_handler(source), task, chatbot)
    gr.mount_gradio_app(app, page, path="/", ssr_mode=False, run_history=False)
    with run_server(app) as address:
        try:
            yield address
        finally:
            source.end()


def _chat_handler(source: EventSource) -> Callable[[str], Iterator[list[dict[str, Any]]]]:
    """Create a handler that yields the history so far every tenth of a second."""

    def answer(_task: str) -> Iterator[list[dict[str, Any]]]:
        messages: list[dict[str, Any]] = []
        player = threading.Thread(target=_append_messages, args=(source, messages))
        player.start()
        while player.is_alive():
            start_time = time.monotonic()
            yield [dict(message) for message in messages]
            time.sleep(max(0.0, start_time + _UPDATE_SECONDS - time.monotonic()))
        yield messages

    return answer


def _append_messages(source: EventSource, messages: list[dict[str, Any]]) -> None:
    for event in source.events():
        if isinstance(event, StepStarted):
            messages.append({"role": "assistant", "content": ""})
        elif isinstance(event, ReasoningDelta):
            messages[-1]["content"] += event.text
        elif isinstance(event, ToolOutput):
            messages.append({"role": "assistant", "content": f"```\n{event.text}```"})
