"""All that is published of an experiment, as one JSON that every export is made from."""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agent.errors import UsageError
from agent.experiments.experiment import MAX_REPETITIONS
from agent.experiments.folder import ExperimentFolder
from agent.experiments.outcomes import Summaries
from agent.experiments.publish.columns import TABLES, definitions
from agent.experiments.publish.provenance import provenance
from agent.experiments.publish.results import results_by_domain
from agent.experiments.publish.rows import RunRow, to_json, whole_rows


def published(
    folder: ExperimentFolder,
    summaries: Summaries,
    description: Mapping[str, Any],
    k: int | None = None,
) -> dict[str, Any]:
    """Return an experiment's description with its runs, its provenance and its columns.

    Args:
        description: What its reader may see of it; see ``agent.experiments.description``.
        k: For pass@k and pass^k; None for the largest of which every task has so many runs.
    """
    if k is not None and not 2 <= k <= MAX_REPETITIONS:
        raise UsageError(f"k is a number from 2 to {MAX_REPETITIONS}.")
    rows = list(whole_rows(folder, summaries))
    whole = dict(description)
    if "suites" in description:
        whole["results"] = results_of(rows, description["tasks"], description["members"], k)
    return whole | {
        "k": k,
        "provenance": provenance(folder, description, rows, time.time()),
        "columns": {table: definitions(table) for table in TABLES},
        "runs": to_json(rows),
    }


def results_of(
    rows: Iterable[RunRow],
    tasks: Sequence[Mapping[str, Any]],
    members: Sequence[Mapping[str, Any]],
    k: int | None = None,
) -> list[dict[str, Any]]:
    """Return the results of an evaluation, from its description and the rows of its runs."""
    domains = [task["domain"] for task in tasks]
    return results_by_domain(rows, domains, [member["baseline"] for member in members], k)
