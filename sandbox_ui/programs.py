"""What programs may call, beside the page: Gradio's API page shows it, ``gradio_client`` calls it.

client = Client("http://127.0.0.1:7860")
run = client.predict("Plot sin(x).", api_name="/start")
for state in client.submit(run, api_name="/follow"):
print(state["state"], state["steps"])
print(client.predict(run, api_name="/files"))
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gradio as gr
from gradio.events import api

from agent.errors import RunError, StudioError
from agent.events import Mode
from agent.settings import Settings
from agent.workspace.paths import RelPath
from sandbox_ui import choices as choosing
from sandbox_ui.choices import Choices
from sandbox_ui.controls import bring
from sandbox_ui.routes.history import listed
from sandbox_ui.runs import Runs
from sandbox_ui.shelf import Shelf

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
        self, task: str, run: str = "", prompt: str = "general", mode: str = "sandbox"
    ) -> str:
        """Begin a run.

        Args:
            task: What the model is to do.
            run: A draft that files were uploaded to (`POST /api/runs`, then
                `PUT /api/runs/{run}/files/input/{name}`); empty for a new one.
            prompt: One of the studio's prompts.
            mode: `sandbox` or `plain`.

        Returns:
            The run's id.
        """
        with _spoken():
            choices = Choices(prompt=prompt, mode=_mode(mode))
            model = choosing.model_for(task, choices, self._settings)
            run = run or self._runs.create_draft()
            bring(self._runs, run, task)
            limits = choosing.limits_for(choices, self._settings)
            self._runs.start(run, choosing.task_for(task, choices), model, limits)
            return run

    def message(self, run: str, text: str) -> str:
        """Send a message to a run that has come to an end; it goes on in the same sandbox.

        Args:
            run: The run's id.
            text: What to say.

        Returns:
            The run's id.
        """
        with _spoken():
            choices = Choices()
            model = choosing.model_for(text, choices, self._settings)
            self._runs.follow_up(run, text, model, choosing.limits_for(choices, self._settings))
            return run

    def stop(self, run: str) -> str:
        """Stop a run; its files and its sandbox stay.

        Args:
            run: The run's id.

        Returns:
            The run's id.
        """
        with _spoken():
            self._runs.stop(run)
            return run

    def follow(self, run: str) -> Iterator[dict[str, Any]]:
        """Follow a run until it ends.

        Args:
            run: The run's id.

        Yields:
            Its state whenever that changes: `state`, `detail`, `steps`, `totals`, `alive`; at
            the end `reason` and `answer`.
        """
        with _spoken():
            feed = self._runs.feed(run)
        news = threading.Event()
        unfollow = feed.follow(news.set)
        try:
            shown: dict[str, Any] = {}
            while True:
                news.clear()
                state = feed.state()
                if state != shown:
                    shown = state
                    yield state
                if not state["alive"]:
                    return
                news.wait(_LOOK)
        finally:
            unfollow()

    def files(self, run: str, folder: str = "output") -> list[dict[str, Any]]:
        """What a folder of a run's workspace holds.

        Args:
            run: The run's id.
            folder: A folder of the workspace.

        Returns:
            For each name its `kind`, `size` and, for files, the `address` to download it from,
            below the studio's own.
        """
        with _spoken():
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

    def runs(self, words: str = "") -> list[dict[str, Any]]:
        """The latest runs, newest first.

        Args:
            words: Only runs that have all of them in title, task, messages, answer, model or
                names of files.

        Returns:
            For each of at most 200 what a list says: `run`, `title`, `model`, `state`, `at`,
            `seconds`, `steps`, tokens, `size`, `pictures`.
        """
        with _spoken():
            rows: list[dict[str, Any]] = listed(self._shelf.list(words, most=200))["runs"]
            return rows


def _mode(mode: str) -> Mode:
    known: dict[str, Mode] = {"sandbox": "sandbox", "plain": "plain"}
    if mode not in known:
        raise RunError("The mode is sandbox or plain.")
    return known[mode]


@contextmanager
def _spoken() -> Iterator[None]:
    """A failure as Gradio hands it to a program: its sentence."""
    try:
        yield
    except StudioError as error:
        raise gr.Error(str(error), print_exception=False) from error
