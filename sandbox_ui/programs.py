"""What programs may call, beside the page: Gradio's API page shows it, ``gradio_client`` calls it.

client = Client("http://127.0.0.1:7860")
run = client.predict("Plot sin(x).", api_name="/start")
for state in client.submit(run, api_name="/follow"):
    print(state["state"], state["steps"])
print(client.predict(run, api_name="/files"))
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import gradio as gr
from anyio.to_thread import run_sync
from gradio.events import api

from agent.errors import RunError
from agent.events import Mode
from agent.settings import Settings
from agent.workspace.paths import RelPath
from sandbox_ui import choices as choosing
from sandbox_ui.choices import Choices
from sandbox_ui.controls import bring, spoken
from sandbox_ui.people.access import access_of
from sandbox_ui.routes.history import listed
from sandbox_ui.runs import Runs
from sandbox_ui.shelf import Shelf
from sandbox_ui.stream import waker, within

_LOOK = 5.0


class Programs:
    """The functions that a program may call.

    Args:
        runs: The runs.
        shelf: All of them, those of earlier days too.
        settings: What the operator set; runs begun here use its endpoint.
    """

    def __init__(self, runs: Runs, shelf: Shelf, settings: Settings) -> None:
        self._runs = runs
        self._shelf = shelf
        self._settings = settings

    def offer(self) -> None:
        """Add the functions to the Blocks that is being built."""
        for function in (
            self.start, self.message, self.stop, self.follow, self.files, self.runs,
        ):  # fmt: skip
            api(function, api_name=function.__name__, concurrency_limit=None)

    def start(
        self,
        request: gr.Request,
        task: str,
        run: str = "",
        prompt: str = "general",
        mode: str = "sandbox",
    ) -> str:
        """Begin a run.

        Args:
            request: Who asks.
            task: What the model is to do.
            run: A draft that files were uploaded to (`POST /api/runs`, then
                `PUT /api/runs/{run}/files/input/{name}`); empty for a new one.
            prompt: One of the studio's prompts.
            mode: `sandbox` or `plain`.

        Returns:
            The run's id.
        """
        with spoken():
            access = access_of(request)
            person = access.person
            if run:
                access.change(run)
            choices = Choices(prompt=prompt, mode=_mode(mode))
            model = choosing.model_for(task, choices, self._settings, person)
            run = run or self._runs.create_draft(person.id)
            bring(self._runs, run, task)
            limits = choosing.limits_for(choices, self._settings, model)
            self._runs.start(run, choosing.task_for(task, choices, model), model, limits)
            return run

    def message(self, request: gr.Request, run: str, text: str) -> str:
        """Send a message to a run that has come to an end; it goes on in the same sandbox.

        Args:
            request: Who asks.
            run: The run's id.
            text: What to say.

        Returns:
            The run's id.
        """
        with spoken():
            access = access_of(request)
            access.change(run)
            choices = Choices()
            begun = self._runs.feed(run).state()["model"]
            model = choosing.model_for(text, choices, self._settings, access.person, begun)
            limits = choosing.limits_for(choices, self._settings, model)
            self._runs.follow_up(run, text, model, limits)
            return run

    def stop(self, request: gr.Request, run: str) -> str:
        """Stop a run; its files and its sandbox stay.

        Args:
            request: Who asks.
            run: The run's id.

        Returns:
            The run's id.
        """
        with spoken():
            access_of(request).change(run)
            self._runs.stop(run)
            return run

    async def follow(self, request: gr.Request, run: str) -> AsyncIterator[dict[str, Any]]:
        """Follow a run until it ends.

        Args:
            request: Who asks.
            run: The run's id.

        Yields:
            Its state whenever that changes: `state`, `detail`, `model`, `steps`, `totals`,
            `alive`; at the end `reason` and `answer`.
        """
        with spoken():
            access = access_of(request)
            await run_sync(access.see, run)
            feed = self._runs.feed(run)
        news = asyncio.Event()
        unfollow = await run_sync(feed.follow, waker(news))
        try:
            shown: dict[str, Any] = {}
            while True:
                news.clear()
                state = await run_sync(feed.state)
                if state != shown:
                    shown = state
                    yield state
                if not state["alive"] or not await run_sync(access.sees, run):
                    return
                await within(news, _LOOK)
        finally:
            asyncio.get_running_loop().run_in_executor(None, unfollow)

    def files(self, request: gr.Request, run: str, folder: str = "output") -> list[dict[str, Any]]:
        """What a folder of a run's workspace holds.

        Args:
            request: Who asks.
            run: The run's id.
            folder: A folder of the workspace.

        Returns:
            For each name its `kind`, `size` and, for files, the `address` to download it from,
            below the studio's own.
        """
        with spoken():
            access_of(request).see(run)
            path = RelPath(folder) if folder else RelPath.from_url("")
            return [
                {
                    "name": RelPath(entry.name).shown,
                    "kind": entry.kind,
                    "size": entry.size,
                    "address": f"/api/runs/{run}/files/{path.child(entry.name).to_url()}"
                    if entry.kind == "file"
                    else None,
                }
                for entry in self._runs.workspace(run).list(path)
            ]

    def runs(self, request: gr.Request, words: str = "") -> list[dict[str, Any]]:
        """The latest runs, newest first.

        Args:
            request: Who asks.
            words: Only runs that have all of them in title, task, messages, answer, model or
                names of files.

        Returns:
            For each of at most 200 what a list says: `run`, `title`, `model`, `state`, `at`,
            `seconds`, `steps`, tokens, `size`, `pictures`.
        """
        with spoken():
            rows: list[dict[str, Any]] = listed(
                self._shelf.list(words, most=200, owner=access_of(request).owner)
            )["runs"]
            return rows


def _mode(mode: str) -> Mode:
    known: dict[str, Mode] = {"sandbox": "sandbox", "plain": "plain"}
    if mode not in known:
        raise RunError("The mode is sandbox or plain.")
    return known[mode]
