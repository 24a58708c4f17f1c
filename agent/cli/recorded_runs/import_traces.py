"""The command ``import``: traces of other tools become runs of the data folder."""

import argparse
import sys

from agent.data_folder import lock_first_free
from agent.errors import TraceError
from agent.settings import Settings
from agent.traces.importing import import_file
from agent.util.text import sanitize


def import_traces(options: argparse.Namespace, settings: Settings) -> int:
    """Import files and print the id of each run; return 1 if one of them cannot be read."""
    failed = False
    with lock_first_free(settings.data) as data:
        for file in options.files:
            try:
                runs = import_file(file, data.path)
            except TraceError as error:
                print(sanitize(str(error)), file=sys.stderr)
                failed = True
                continue
            for each in runs:
                print(sanitize(f"{each.run}  {each.format}  {each.title or file.name}"))
    return int(failed)
