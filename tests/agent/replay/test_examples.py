"""A recorded run becomes an example: its turns play without a model, its commands are real."""

import os
from pathlib import Path

import pytest

from agent import Studio
from agent.api.run import Run
from agent.errors import RunError, UsageError
from agent.events import Notice
from agent.replay import examples
from agent.replay.examples import ExampleLimits, ExampleModel, SavedExample
from agent.replay.replay import open_recording
from agent.workspace.files import Workspace
from tests.agent.api.conftest import bash, script
from tests.support.component.events import of_type

pytestmark = pytest.mark.contract

DEFAULT_LIMITS = ExampleLimits()


def save(
    studio: Studio, run: Run, title: str = "Mine", owner: str = "",
    limits: ExampleLimits = DEFAULT_LIMITS,
) -> SavedExample:  # fmt: skip
    folder = run.recorded.folder
    recording = open_recording(folder.journal, folder)
    return examples.save(recording, folder.data, title, owner, limits)


def test_an_example_outlives_its_run_and_executes_its_commands(
    studio: Studio, tmp_path: Path
) -> None:
    given = tmp_path / "numbers.txt"
    given.write_text("1 2 3")
    turn = bash("wc -w < input/numbers.txt > output/answer.txt; echo $$ >> shells")
    run = studio.run("Count.", model=script(turn), inputs=given)
    run.wait()
    example = save(studio, run)
    run.recorded.folder.journal.unlink()

    data = run.recorded.folder.data
    (found,) = examples.load_all(data, "")
    assert (found.title, found.task, found.inputs) == ("Mine", "Count.", ("numbers.txt",))
    played = studio.run("Count.", model=ExampleModel(example.open(), pace=0))
    example.put_files(Workspace(played.recorded.folder.workspace))
    result = played.wait()
    assert (result.status, result.answer) == ("submitted", "3")
    assert played.recorded.state.model == "Example"


def test_a_result_that_is_not_the_recorded_one_is_said(studio: Studio, tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.write_text("one")
    run = studio.run("Read.", model=script(bash(f"date; cat {state}"), bash("echo done")))
    run.wait()
    example = save(studio, run)

    def notices() -> list[Notice]:
        return of_type(Notice, studio.run("Read.", model=ExampleModel(example.open(), pace=0)))

    assert notices() == []
    state.write_text("two")
    (notice,) = notices()
    assert "something else here than in the recorded run" in notice.text


def test_an_example_belongs_to_the_user_who_saved_it(studio: Studio) -> None:
    run = studio.run("Do it.", model=script(bash("echo hi")))
    run.wait()
    example = save(studio, run, owner="ada")
    data = run.recorded.folder.data
    assert examples.find(data, "ada", " Do it.\n") == example
    assert examples.find(data, "bob", "Do it.") is None
    with pytest.raises(RunError, match="no such example"):
        examples.delete(data, "bob", example.id)
    with pytest.raises(UsageError, match="Another user has saved this run"):
        save(studio, run, owner="bob")
    examples.delete(data, "ada", example.id)
    assert examples.load_all(data, "ada") == []


def test_the_operator_bounds_the_number_and_the_size_of_a_users_examples(
    studio: Studio, tmp_path: Path
) -> None:
    given = tmp_path / "noise.bin"
    given.write_bytes(os.urandom(200_000))
    runs = [studio.run(f"Do {at}.", model=script(bash("ls")), inputs=given) for at in range(2)]
    for run in runs:
        run.wait()
    first, second = runs
    data = first.recorded.folder.data
    one = ExampleLimits(count=1)
    save(studio, first, limits=one)
    save(studio, first, "Again", limits=one)
    with pytest.raises(UsageError, match="as many saved examples as the operator allows: 1"):
        save(studio, second, limits=one)
    small = ExampleLimits(size=300_000)
    with pytest.raises(UsageError, match="the operator allows 293 KB"):
        save(studio, second, limits=small)
    with pytest.raises(UsageError, match="the operator allows none"):
        save(studio, second, limits=ExampleLimits(count=0))
    save(studio, second, owner="bob", limits=one)
    assert [each.title for each in examples.load_all(data, "")] == ["Again"]
    assert not list((data / examples.FOLDER).glob("new-*"))
