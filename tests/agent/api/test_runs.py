"""Runs from Python: events, results, files, messages, threads, and wrong arguments."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent import (
    Limits,
    ModelConfig,
    NoSuchFile,
    Prompt,
    RunError,
    Settings,
    Studio,
    StudioError,
    UsageError,
    WorkspaceError,
)
from agent.errors import SettingError
from agent.events import RunEnded, RunStarted, ToolStarted
from agent.train.rollouts.sandboxes import ProcessSandboxProvider
from tests.agent.api.conftest import bash, call, carry_out, script
from tests.support.component.events import of_type
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.models.scripted import ScriptedModel, ScriptedTurn

pytestmark = pytest.mark.contract


def test_a_run_has_a_result_and_files(studio: Studio, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("a,b\n1,2\n")
    run = studio.run(
        "Count.",
        inputs=[str(tmp_path / "data.csv")],
        model=script(bash("wc -l < input/data.csv > output/answer.txt; mkdir output/x; "
                          "echo deep > output/x/y.txt; ln -s answer.txt output/link")),
    )  # fmt: skip
    result = run.wait()
    assert (result.status, result.answer, result.ok, result.reason) == ("submitted", "2", True, "")
    assert result.run == run.id
    assert result.totals.steps == 2
    assert sorted(run.files) == ["input/data.csv", "output/answer.txt", "output/x/y.txt"]
    assert len(run.files) == 3
    assert "output/link" not in run.files
    file = result.files["/workspace/output/x/y.txt"]
    assert (file.name, file.size, file.read(), file.text()) == ("y.txt", 5, b"deep\n", "deep\n")
    assert file.save(tmp_path) == tmp_path / "y.txt"
    assert file.save(str(tmp_path / "renamed")).read_text() == "deep\n"
    assert run.files.save(tmp_path / "out").skipped == ["output/link: a link"]
    assert (tmp_path / "out" / "x" / "y.txt").read_text() == "deep\n"
    assert run.wait() == result


def test_iteration_continues_after_a_break(studio: Studio) -> None:
    run = studio.run("Go.", model=script(bash("echo a"), bash("echo b")))
    for event in run:
        if isinstance(event, ToolStarted):
            break
    with pytest.raises(UsageError, match="has not ended yet"):
        _ = run.result
    remaining_events = list(run)
    assert isinstance(remaining_events[-1], RunEnded)
    assert list(run) == []
    assert run.result.totals.steps == 3


def test_a_run_can_be_cancelled_after_a_break(studio: Studio) -> None:
    with studio.run("Go.", model=script(bash("echo a"), bash("echo b"))) as run:
        next(iter(run))
        run.cancel()
        assert run.result.status == "stopped"


def test_results_are_saved_in_a_folder(studio: Studio, tmp_path: Path) -> None:
    with studio.run("Go.", model=script(bash("echo 1 > output/answer.txt"))) as run:
        run.wait()
        assert run.save(str(tmp_path / "out")).skipped == []
    assert (tmp_path / "out" / "files" / "answer.txt").read_text() == "1\n"
    with pytest.raises(WorkspaceError, match="contains the results of another run"):
        run.save(tmp_path / "out")


def test_a_follow_up_uses_the_same_sandbox(studio: Studio) -> None:
    model = ScriptedModel([bash("x=7"), call("submit"), bash("echo $x > output/x"), call("submit")])
    with studio.run("Go.", model=model) as run:
        with pytest.raises(RunError, match="only after its current round has ended"):
            run.send("More?")
        run.wait()
        result = run.send("More.", limits=Limits(steps=5)).wait()
        assert (result.status, run.files["output/x"].text()) == ("submitted", "7\n")
        other = script(bash("echo other > output/x"))
        assert run.send("Another model.", model=other).wait().ok
        assert run.files["output/x"].text() == "other\n"
        assert run.sandbox.shell("echo $x").stdout == "7\n"
    with pytest.raises(RunError, match="closed"):
        run.send("Too late.")
    with pytest.raises(UsageError, match="not running"):
        _ = run.sandbox


def test_eight_runs_work_in_parallel_threads(studio: Studio) -> None:
    barrier = threading.Barrier(8)

    def work(number: int) -> str:
        model = script(bash(f"echo {number} > output/answer.txt"))
        with studio.run(f"Task {number}", model=model) as run:
            for event in run:
                if isinstance(event, RunStarted):
                    barrier.wait(30)
            return run.result.answer

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(work, range(8))) == [str(number) for number in range(8)]


def test_only_one_thread_at_a_time_can_iterate_a_run(studio: Studio) -> None:
    gate = threading.Event()
    run = studio.run("Go.", model=ScriptedModel([ScriptedTurn(text="Done.", gate=gate)]))
    events = iter(run)
    while not isinstance(next(events), RunStarted):
        continue
    with ThreadPoolExecutor(1) as threads:
        threads.submit(run.wait)
        with pytest.raises(UsageError, match="Another thread"):
            list(events)
        run.stop()
        gate.set()


def test_leaving_the_studio_stops_runs_of_other_threads(settings: Settings) -> None:
    started = threading.Event()

    def work() -> str:
        carry_out(run, tool_started=lambda _: started.set())
        return run.result.status

    with ThreadPoolExecutor(1) as threads:
        with Studio(settings, ProcessSandboxProvider) as studio:
            run = studio.run("Go.", model=script(bash("sleep 600")))
            status = threads.submit(work)
            assert started.wait(30)
        assert status.result(30) == "stopped"
    with pytest.raises(RunError, match="closed"):
        run.send("More.")


# Models


def test_a_model_can_be_a_name_or_a_configuration(
    studio: Studio, settings: Settings, tmp_path: Path
) -> None:
    with Endpoint([Turn(text="42"), Turn(text="43"), Turn(text="44")], key="sk-1") as endpoint:
        config = ModelConfig(endpoint.url, "Qwen3", "sk-1")
        assert studio.run("What?", mode="plain", model=config).wait().answer == "42"
        connected_settings = replace(
            settings, data=tmp_path / "other", base_url=endpoint.url, api_key="sk-1", model="set"
        )
        with Studio(connected_settings) as other:
            assert other.run("What?", mode="plain", model="openai:Qwen3:8b").wait().answer == "43"
            assert other.run("What?", mode="plain").wait().answer == "44"
    assert [each.body["model"] for each in endpoint.requests] == ["Qwen3", "Qwen3:8b", "set"]


def test_a_demonstration_needs_no_endpoint_and_has_input_files(studio: Studio) -> None:
    run = studio.run("survey", model="demonstration")
    assert [name for name in run.files if name.startswith("input/")]
    with pytest.raises(
        StudioError, match=r"No model is connected.*demonstrations run without a model: "
    ):
        studio.run("What no demonstration plays.", model="demonstration")


def test_a_model_name_requires_an_endpoint_in_the_environment(studio: Studio) -> None:
    with pytest.raises(UsageError, match="set OPENAI_BASE_URL"):
        studio.run("Go.", model="openai:Qwen3")


def test_a_run_records_what_was_asked_for_without_a_key(studio: Studio) -> None:
    with Endpoint([Turn(text="Done.")]) as endpoint:
        config = ModelConfig(endpoint.url, "m", "sk-secret", temperature=0.5)
        run = studio.run("Go.", model=config, mode="plain", max_steps=3, pdfs="both")
        (started,) = of_type(RunStarted, run)
    asked = {"mode": "plain", "pdfs": "both", "max_steps": 3, "temperature": 0.5, "api": "auto"}
    asked["images"] = "auto"
    assert started.spec == {"base_url": endpoint.url, "model": "m"} | asked


def test_how_pdfs_are_sent_is_refused_where_the_model_opens_them_itself(studio: Studio) -> None:
    with pytest.raises(UsageError, match="pdfs is for plain mode: with a sandbox"):
        studio.run("Go.", model=script(), pdfs="pages")


# Prompts and limits


def test_a_prompt_can_be_an_object_a_file_or_a_name(studio: Studio, tmp_path: Path) -> None:
    def started_prompt(prompt: Any) -> tuple[str, str]:
        run = studio.run("Go.", model=script(), prompt=prompt)
        (started,) = of_type(RunStarted, run)
        return started.prompt, started.system

    (tmp_path / "own.md").write_text("You are a pirate.")
    assert started_prompt(tmp_path / "own.md") == ("own", "You are a pirate.")
    assert started_prompt(str(tmp_path / "own.md")) == ("own", "You are a pirate.")
    assert started_prompt(Prompt("Be brief.")) == ("custom", "Be brief.")
    assert started_prompt("math")[0] == "math"
    with pytest.raises(SettingError, match="no prompt and no file"):
        studio.run("Go.", model=script(), prompt="nothing")


def test_limits_can_be_set(studio: Studio) -> None:
    turns = [bash("true")] * 9
    assert studio.run("Go.", model=ScriptedModel(turns), max_steps=2).wait().totals.steps == 2
    run = studio.run("Go.", model=ScriptedModel(turns), limits=Limits(steps=3))
    assert (run.wait().status, run.result.totals.steps) == ("step_limit", 3)


def test_summaries_of_older_steps_are_off_unless_wanted(studio: Studio) -> None:
    usual = studio.run("Go.", model=script())
    wanted = studio.run("Go.", model=script(), summarise=True)
    usual.wait()
    wanted.wait()
    fork = wanted.fork(0, "Again.", model=script(), summarise=True)
    fork.wait()
    assert "summarise" not in usual.recorded.state.limits
    for run in (wanted, fork):
        assert run.recorded.state.limits["summarise"] == 1


# Wrong arguments


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"task": ""}, "task is empty"),
        ({"task": 7}, "task must be a text, not 7"),
        ({"inputs": 7}, "inputs must be paths"),
        ({"inputs": [7]}, "inputs must be paths"),
        ({"model": 7}, "model must be"),
        ({"prompt": 7}, "prompt must be"),
        ({"network": 7}, "network must be"),
        ({"limits": {"steps": 3}}, "limits must be Limits"),
        ({"limits": Limits(steps=1_001)}, "limits.steps must be a number from 1 to 1,000 "),
        ({"summarise": "yes"}, "summarise must be on or off"),
        ({"max_steps": "3"}, "max_steps must be a whole number"),
    ],
)
def test_an_invalid_argument_is_named_and_creates_no_run(
    studio: Studio, settings: Settings, arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        studio.run(**{"task": "Go.", "model": script(), **arguments})
    assert not list((settings.data / "runs").glob("*"))


def test_a_missing_input_is_named(studio: Studio, settings: Settings) -> None:
    for missing in ("nowhere.csv", ["nowhere.csv"], [Path("nowhere.csv")]):
        with pytest.raises(WorkspaceError, match=r"nowhere\.csv cannot be read"):
            studio.run("Go.", inputs=missing, model=script())
    assert not list((settings.data / "runs").glob("*"))
    assert not list((settings.data / "sandboxes").glob("*"))


def test_a_studio_that_is_not_entered_is_an_error(settings: Settings) -> None:
    with Studio(settings) as closed:
        pass
    for studio in (Studio(settings), closed):
        for use in (studio.new, studio.sandbox, lambda used=studio: used.run("Go.")):
            with pytest.raises(UsageError, match="with Studio"):
                use()
    with pytest.raises(UsageError, match="settings must be"):
        Studio("data")  # type: ignore[arg-type]


def test_a_missing_file_is_a_missing_key(studio: Studio) -> None:
    run = studio.run("Go.", model=script())
    with pytest.raises(NoSuchFile, match="nothing"):
        run.files["output/nothing"]
    for path in ("output", "../lock", "/etc/passwd"):
        with pytest.raises(KeyError):
            run.files[path]
    assert run.files.get("output/nothing") is None
    with pytest.raises(UsageError, match="path must be"):
        run.files[7]  # type: ignore[index]


def test_a_run_is_forked_at_a_step(studio: Studio) -> None:
    run = studio.run("Write.", model=script(bash("echo 1 > output/a"), bash("echo 2 > output/a")))
    run.wait()
    forked = run.fork(1, "Read.", model=script(bash("cat output/a > output/answer.txt")))
    assert forked.wait().answer == "1"
    assert forked.send("Again.").wait().status == "failed"  # the script has no more turns
    again = studio.fork(forked.id, 0, model=script(bash("ls output > output/answer.txt")))
    assert again.wait().answer == "answer.txt"
    assert again.recorded.folder.parent
    with pytest.raises(UsageError, match="step must be"):
        run.fork("1")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="does not exist"):
        run.fork(9)
    with pytest.raises(RunError, match="no such run"):
        studio.fork("none", 1)
