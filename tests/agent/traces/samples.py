"""The sample files, one or two of each format, and what is shared by the tests of traces."""

import json
from pathlib import Path

from agent.events import Event
from agent.runs import journal
from agent.runs.folder import RunFolder
from agent.runs.state import RunState
from agent.traces.importing import import_file
from tests.support.component.events import reduced

FOLDER = Path(__file__).parent / "samples"
FILES = sorted(FOLDER.iterdir())


def events_of(data: Path, run: str) -> list[Event]:
    return [event for _, event in journal.read(RunFolder.open(data, run).journal)]


def state_of(data: Path, run: str) -> RunState:
    return reduced(events_of(data, run))


def import_sample(name: str, data: Path) -> list[RunState]:
    """Import a sample; return the states of its runs."""
    return [state_of(data, each.run) for each in import_file(FOLDER / name, data)]


def import_messages(data: Path, *messages: object) -> list[Event]:
    """Import a conversation of messages; return the events of its run."""
    file = data / "messages.jsonl"
    file.write_text(json.dumps({"messages": messages}))
    (run,) = import_file(file, data)
    return events_of(data, run.run)
