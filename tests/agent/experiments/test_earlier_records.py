"""Records as earlier versions wrote them, in two formats, open, continue and export."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from agent.experiments.description import describe
from agent.experiments.experiment import Kind
from agent.experiments.folder import ExperimentFolder, Key
from agent.experiments.outcomes import missing
from agent.experiments.publish.exports import export, kinds
from agent.experiments.publish.publication import published
from tests.support.evaluations.stored import summary

RECORDS = Path(__file__).parents[2] / "fixtures" / "experiments"


def opened(data: Path, kind: Kind) -> ExperimentFolder:
    shutil.copytree(RECORDS, data, dirs_exist_ok=True)
    return ExperimentFolder.open(data, f"recorded-{kind}")


@pytest.mark.parametrize(
    ("kind", "title", "score", "todo"),
    [
        ("comparison", "Compared", ("run-1-1", 0.5, (1.0, 0.0), "j"), [(0, 0, 2), (0, 1, 2)]),
        ("evaluation", "Evaluated", ("run-0-1-again", 1.0, (), ""), [(1, 0, 1), (1, 1, 1)]),
    ],
)
def test_it_opens_continues_and_exports(
    tmp_path: Path, kind: Kind, title: str, score: tuple[Any, ...], todo: list[Key]
) -> None:
    folder = opened(tmp_path, kind)
    assert (folder.title, folder.kind, len(folder.definition.members)) == (title, kind, 2)
    stored = folder.scores()[score[0]]
    assert (stored.run, stored.value, stored.votes, stored.judge) == score
    known = {entry.run: summary() for entry in folder.runs()}
    assert missing(folder, known) == todo
    folder.add_run(*todo[0], "another")
    folder.set_pinned(True)
    again = ExperimentFolder.open(tmp_path, folder.id)
    assert (again.definition, again.runs()) == (folder.definition, folder.runs())
    assert missing(again, known | {"another": summary()}) == todo[1:]
    whole = published(again, known, describe(again, known))
    assert all(export(whole, each) for each in kinds(whole))
