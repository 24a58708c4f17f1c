"""The command ``export`` for a comparison or an evaluation: its table, chart or report."""

import argparse
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from agent.cli.recorded_runs.output import encoded, write_parts
from agent.compare.folder import ComparisonFolder
from agent.data_folder import candidate_folders
from agent.evals.folder import EvaluationFolder
from agent.runs.folder import RunFolder
from agent.settings import Settings

_NAMES = {"markdown": "md"}


def export_table(options: argparse.Namespace, settings: Settings) -> bool:
    """Write the comparison or evaluation that the options name; return whether there is one.

    Raises:
        UsageError: It is not exported in this format.
        RunError: Its record cannot be read.
        WorkspaceError: The file cannot be written.
    """
    places = candidate_folders(settings.data)
    for kind in (ComparisonFolder, EvaluationFolder):
        if any(kind.exists(place, options.run) for place in places):
            break
    else:
        return False
    key = (settings.api_key,) if settings.api_key else ()
    write_parts(_parts(kind.noun, places, options.run, options.format, key), options.output)
    return True


def _parts(
    noun: str, places: Iterable[Path], record: str, name: str, keys: tuple[str, ...]
) -> Iterable[bytes]:
    result: Any
    if noun == ComparisonFolder.noun:
        from agent.api.comparison import open_result as open_comparison  # imports statistics

        result = open_comparison(places, record)
    else:
        from agent.api.evaluation import open_result as open_evaluation

        result = open_evaluation(places, record)
    if name != "report":
        return [result.export(_NAMES.get(name, name) or "csv")]
    from agent.report import groups  # Markdown and tables: slow to import

    if noun == EvaluationFolder.noun:
        return encoded(groups.evaluation_parts(result.description, keys))
    opened = partial(RunFolder.open, result.data)
    return encoded(groups.comparison_parts(result.description, opened, keys))
