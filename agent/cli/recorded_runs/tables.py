"""The command ``export`` for a comparison or an evaluation: its table, chart or report."""

import argparse
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from agent.cli.recorded_runs.output import encoded, write_parts
from agent.data_folder import candidate_folders
from agent.experiments.folder import record_path
from agent.runs.folder import RunFolder
from agent.settings import Settings

_NAMES = {"markdown": "md"}


def export_table(options: argparse.Namespace, settings: Settings) -> bool:
    """Write the comparison or evaluation that the options name; return whether there is one."""
    places = candidate_folders(settings.data)
    key = (settings.api_key,) if settings.api_key else ()
    if not any(record_path(place, options.run) for place in places):
        return False
    write_parts(_parts(places, options.run, options.format, key), options.output)
    return True


def _parts(
    places: Iterable[Path], record: str, name: str, keys: tuple[str, ...]
) -> Iterable[bytes]:
    from agent.api.experiments import ExperimentResult, open_result  # imports statistics

    result = open_result(places, record, ExperimentResult)
    if name != "report":
        return [result.export(_NAMES.get(name, name) or "csv")]
    from agent.report import groups  # Markdown and tables: slow to import

    opened = partial(RunFolder.open, result.data)
    return encoded(groups.parts(result.description, opened, keys))
