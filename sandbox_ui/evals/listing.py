"""Evaluations in the list of runs: one row each."""

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from agent.errors import RunError
from agent.evals.description import title_of
from sandbox_ui.compare.listing import ListedGroup, names_of, select
from sandbox_ui.evals.manager import EvaluationManager


class EvaluationListing:
    """The evaluations of the list of runs.

    Args:
        evaluations: The evaluations.
    """

    def __init__(self, evaluations: EvaluationManager) -> None:
        self._evaluations = evaluations
        self._registry = evaluations.registry

    def ids(self, owner: str | None) -> list[str]:
        """Return the ids of all evaluations, or of one user's."""
        return [folder.id for folder in self._registry.all(owner)]

    def find(self, words: str, owner: str | None, *, pinned: bool) -> list[ListedGroup]:
        """Return the evaluations that contain all words, in no order.

        Args:
            words: Search words; each must occur in the title, a suite, a label or a model's name.
            owner: Only this user's; None for all users'.
            pinned: Only pinned ones.
        """
        groups = []
        for folder in self._registry.all(owner):
            definition = folder.definition
            suites = [text for each in definition.suites for text in (each.title, each.domain)]
            text = "\n".join([*suites, *names_of(definition.members)])
            at = self._registry.cells(folder.id).latest
            groups.append(ListedGroup(folder, title_of(folder), text, at))
        return select(groups, words, pinned=pinned)

    def row(self, listed: ListedGroup, end: float) -> dict[str, Any]:
        """Return an evaluation's row.

        Args:
            listed: The evaluation.
            end: Until then, on the monotonic clock, results may be computed that are not known.
        """
        folder = self._registry.folder(listed.folder.id)
        described: Mapping[str, Any] = {}
        if time.monotonic() < end:
            with suppress(RunError):  # it was deleted
                described = self._evaluations.overview(folder.id, fresh=False)
        return {
            "kind": "evaluation",
            "id": folder.id,
            "title": listed.title,
            "renamed": bool(folder.title),
            "pinned": folder.pinned,
            "at": listed.at,
            "state": described.get("state", ""),
            "members": [member.label for member in folder.definition.members],
            "suites": [suite.title for suite in folder.definition.suites],
            "counts": self._registry.cells(folder.id).counts() if described else None,
            "runs": len(self._registry.run_ids(folder.id)),
            "in_title": listed.in_title,
        }
