"""An evaluation on the bare page: its description by the server's own function, and its stream."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agent.experiments.description import describe
from agent.experiments.folder import ExperimentFolder
from agent.experiments.outcomes import Summaries
from tests.support.component.server import Stream
from tests.support.component.stage import Component, Look, Stage
from tests.support.evaluations.stored import add, create
from tests.support.evaluations.suites import sums

REFUSED = "The endpoint answered 503: overloaded. Try again later."


def six_tasks(data: Path) -> tuple[ExperimentFolder, Summaries]:
    """Return an evaluation of six tasks without and with a sandbox, in two suites.

    Right only with: 1, 2; only without: 3; both: 4; the token limit: 5; an error: 6.
    """
    folder = create(data, [sums(4), sums(2, "letters", domain="long context", title="Letters")])
    scores = [(0.0, 1.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)]
    found = [
        add(folder, (task, member, 1), score)
        for task, row in enumerate(scores)
        for member, score in enumerate(row)
    ]
    found += [
        add(folder, (4, 0, 1), 0.0),
        add(folder, (4, 1, 1), 0.0, state="token_limit", steps=40),
        add(folder, (5, 0, 1), 0.0),
        add(folder, (5, 1, 1), scored=False, state="failed", reason=REFUSED),
    ]
    return folder, dict(found)


class ShownEvaluation:
    """An evaluation that a stage shows."""

    def __init__(self, stage: Stage, folder: ExperimentFolder, summaries: Summaries) -> None:
        self.stage, self.folder, self.summaries = stage, folder, summaries
        self.stream = Stream()
        self.path = f"/evaluations/{folder.id}"
        stage.answer(f"{self.path}/events", self.stream)
        self.refresh()

    def described(self) -> dict[str, Any]:
        can_edit = self.stage.look.can_edit
        shown = describe(self.folder, self.summaries) | {"canEdit": can_edit}
        activity: Mapping[str, Any] = {
            "reason": "", "canResume": False, "canRetry": False, "now": 0, "note": "",
            "testing": [], "elsewhere": "", "remaining": None, "cursor": "c-0",
        }  # fmt: skip
        described: dict[str, Any] = json.loads(json.dumps({**shown, **activity}))
        return described

    def refresh(self) -> None:
        """Answer with the evaluation as it is now."""
        self.stage.answer(self.path, self.described())

    def send_cells(self) -> None:
        """Send all cells as they are now, to the page’s next connection."""
        self.refresh()
        before, self.stream = self.stream, Stream()
        self.stage.answer(f"{self.path}/events", self.stream)
        shown = self.described()
        cells = [[task, member, cell] for task, row in enumerate(shown["cells"])
                 for member, cell in enumerate(row)]  # fmt: skip
        data = {"cursor": "c-1", "cells": cells, "counts": shown["counts"], "remaining": None}
        self.stream.send("cells", json.dumps(data).encode())
        before.close()

    def open(
        self, query: str = "", *, components: Sequence[Component] = ("header",),
        look: Look | None = None,
    ) -> None:  # fmt: skip
        """Open its page; ``query`` is what its URL has besides, such as ``&group=uses``."""
        self.stage.mount(*components, look=look)
        url = f"{self.stage.url}?evaluation={self.folder.id}{query}"
        self.stage.page.evaluate("(url) => history.replaceState(null, '', url)", url)
        self.stage.page.evaluate("dispatchEvent(new Event('popstate'))")  # as on the way back


def rows(stage: Stage) -> list[str]:
    """Return the numbers of the tasks that are shown."""
    return stage.page.locator(".task-name small").all_text_contents()


def table(stage: Stage, name: str) -> Iterator[list[str]]:
    """Yield the cells' texts of the rows of a table in a region."""
    for row in stage.page.get_by_role("region", name=name).locator("tbody tr").all():
        yield row.locator("th, td").all_text_contents()
