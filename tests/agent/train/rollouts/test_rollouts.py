"""Rollouts: runs like any other, many at once, worth what they handed in and nothing else."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from agent import prompts
from agent.api.studio import Studio
from agent.errors import ModelRefused, TaskError
from agent.events import RunEnded, RunStarted
from agent.history.index import History
from agent.limits import Limits
from agent.models.base import Model, ModelRequest, Piece, ToolCall, Usage
from agent.models.scripted import ScriptedModel, ScriptedTurn
from agent.models.tokens.model import TokenModel
from agent.sandbox.network.policy import NetworkPolicy
from agent.settings import Settings
from agent.tasks.task import TaskRecord
from agent.train.rollouts.rollouts import Rollout, RolloutPlan, run_rollouts
from agent.train.rollouts.sandboxes import ProcessSandboxProvider
from agent.util.cancellation import Stop
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.byte_sampler import ByteSampler, ScriptedAnswer, format_ids

PROBLEM = TaskRecord(
    "word-1", "Which word is in the note?", "moon", "exact", "notes", {"note.txt": "moon\n"}
)
PLAN = RolloutPlan(Limits(steps=5, seconds=60, reminders=0), concurrency=2)
SUBMIT = ScriptedTurn(calls=(ToolCall("", "submit", "{}"),))
Script = Sequence[ScriptedTurn]


def bash(command: str) -> ScriptedTurn:
    call = ToolCall("", "execute_bash", json.dumps({"command": command}))
    return ScriptedTurn("I look.", calls=(call,))


RIGHT = (bash("cp input/note.txt output/answer.txt"), SUBMIT)


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    settings = Settings(data=tmp_path / "data")
    with Studio(settings, lambda _, data: LocalSandboxProvider(data.path)) as made:
        yield made


def always(*turns: ScriptedTurn) -> Callable[[TaskRecord], Model]:
    return lambda _: ScriptedModel(turns)


def one(
    studio: Studio, make_model: Callable[[TaskRecord], Model], plan: RolloutPlan = PLAN
) -> Rollout:
    (made,) = run_rollouts([PROBLEM], make_model, studio, plan)
    return made


def limited(**limits: float | int | None) -> RolloutPlan:
    return replace(PLAN, limits=replace(PLAN.limits, **limits))  # type: ignore[arg-type]


def named(name: str) -> TaskRecord:
    return replace(PROBLEM, id=name)


# What counts


def test_the_answer_file_is_rewarded(studio: Studio) -> None:
    done = one(studio, always(*RIGHT))
    assert (done.status, done.answer, done.reward) == ("submitted", "moon\n", 1.0)
    assert done.totals.steps == 2
    assert done.seconds >= done.setup_seconds >= 0


def test_a_wrong_answer_scores_zero(studio: Studio) -> None:
    done = one(studio, always(bash("echo sun > output/answer.txt"), SUBMIT))
    assert (done.status, done.answer, done.reward) == ("submitted", "sun\n", 0.0)


def test_in_a_sandbox_only_the_file_counts_and_never_what_was_said(studio: Studio) -> None:
    done = one(studio, always(ScriptedTurn("moon")))
    assert (done.status, done.answer, done.reward) == ("answered", None, 0.0)


@pytest.mark.parametrize(
    "deed",
    [
        "mkdir output/answer.txt",
        "mkfifo output/answer.txt",
        "ln -s ../input/note.txt output/answer.txt",
        "rm -r output; ln -s input output; cp input/note.txt input/answer.txt",
        "cp input/note.txt output/answer.txt; truncate -s 2M output/answer.txt",
    ],
)
def test_what_is_no_plain_file_of_the_workspace_is_no_answer(studio: Studio, deed: str) -> None:
    done = one(studio, always(bash(deed), SUBMIT))
    assert (done.status, done.answer, done.reward) == ("submitted", None, 0.0)


# Limits: each leaves a right answer behind, which is worth nothing


@pytest.mark.parametrize(
    ("plan", "turns", "status"),
    [
        (limited(steps=2), [RIGHT[0], bash("true"), SUBMIT], "step_limit"),
        (limited(seconds=0.6), [RIGHT[0], bash("sleep 60"), bash("true"), SUBMIT], "time_limit"),
        (
            limited(conversation_tokens=100),
            [replace(RIGHT[0], usage=Usage(95, 5)), bash("true"), SUBMIT],
            "token_limit",
        ),
        (PLAN, [RIGHT[0], ScriptedTurn("Once upon", finish="length")], "token_limit"),
        (PLAN, [RIGHT[0], ScriptedTurn(error=ModelRefused("No such model."))], "failed"),
    ],
)
def test_limited_and_failed_runs_score_zero(
    studio: Studio, plan: RolloutPlan, turns: Script, status: str
) -> None:
    done = one(studio, lambda _: ScriptedModel(turns, metered=True), plan)
    assert (done.status, done.answer, done.reward) == (status, None, 0.0)
    assert done.reason
    assert (done.folder.workspace / "output" / "answer.txt").read_text() == "moon\n"


def test_a_conversation_that_was_cut_is_worth_nothing_and_not_trained_on(studio: Studio) -> None:
    look = call("cat input/note.txt; printf '%2000s' x")
    copy = call("cp input/note.txt output/answer.txt")
    sampler = ByteSampler([look, look, look, copy, call(name="submit")], context=7_000)
    plan = replace(PLAN, prompt=prompts.get_bundled("small"))
    done = one(studio, lambda _: TokenModel("bytes", sampler), plan)
    assert done.status == "submitted"
    assert "was removed" in done.reason
    assert (done.answer, done.reward, done.token_sequence()) == (None, 0.0, None)


# What is trained on


def call(command: str = "", name: str = "execute_bash") -> str:
    arguments = json.dumps({"command": command} if command else {})
    return f'<tool_call>{{"name": "{name}", "arguments": {arguments}}}</tool_call>'


def test_the_sequence_is_what_the_model_read_and_sampled(studio: Studio) -> None:
    look = f"I look. {call('cat input/note.txt')}"
    answers = [look, call("cp input/note.txt output/answer.txt"), call(name="submit")]
    sampler = ByteSampler(answers)
    done = one(studio, lambda _: TokenModel("bytes", sampler))
    made = done.token_sequence()
    assert made is not None
    assert done.reward == 1.0
    assert list(made.ids[: len(sampler.prompts[-1])]) == sampler.prompts[-1]
    assert "moon" in format_ids(made.ids)
    generated = [each for each, mine in zip(made.ids, made.mask, strict=True) if mine]
    assert format_ids(generated) == "".join(f"«{answer}»<|im_end|>" for answer in answers)
    assert {p for p, mine in zip(made.logprobs, made.mask, strict=True) if mine} == {-0.25}


def test_a_run_that_was_cut_off_is_still_a_sequence(studio: Studio) -> None:
    """It is worth nothing, and that is what is to be learnt from it."""
    sampler = ByteSampler(
        [ScriptedAnswer(call("true")), ScriptedAnswer("Once upon", ends_turn=False)]
    )
    done = one(studio, lambda _: TokenModel("bytes", sampler))
    assert done.status == "token_limit"
    assert done.token_sequence() is not None


# Without a sandbox


def test_plain_has_the_documents_in_the_prompt_and_what_is_said_counts(studio: Studio) -> None:
    model = ScriptedModel([ScriptedTurn("moon")])
    done = one(studio, lambda _: model, replace(PLAN, mode="plain"))
    assert (done.status, done.answer, done.reward) == ("answered", "moon", 1.0)
    (asked,) = model.requests
    assert asked.tools == ()
    assert "BEGIN DOCUMENT 1: note.txt\nmoon" in asked.messages[0].text
    assert done.setup_seconds == 0


# Many


def test_concurrency_is_as_configured(studio: Studio) -> None:
    together = threading.Barrier(3)

    def meeting(_: TaskRecord) -> Model:
        together.wait(20)
        return ScriptedModel(RIGHT)

    done = list(run_rollouts(map(named, "abc"), meeting, studio, replace(PLAN, concurrency=3)))
    assert sorted(each.number for each in done) == [0, 1, 2]
    assert len({each.folder.id for each in done}) == 3
    assert {each.reward for each in done} == {1.0}


def test_a_task_is_repeated_and_its_runs_know_their_places(studio: Studio) -> None:
    plan = replace(PLAN, repeat=3)
    done = list(run_rollouts(map(named, "ab"), always(*RIGHT), studio, plan))
    places = sorted((each.number, each.task.id, each.repeat) for each in done)
    assert places == [(0, "a", 0), (1, "a", 1), (2, "a", 2), (3, "b", 0), (4, "b", 1), (5, "b", 2)]


def test_tasks_are_consumed_lazily(studio: Studio) -> None:
    taken: list[TaskRecord] = []

    def endless() -> Iterator[TaskRecord]:
        while True:
            taken.append(named(f"p{len(taken)}"))
            yield taken[-1]

    made = run_rollouts(endless(), always(*RIGHT), studio, PLAN)
    next(made)
    assert len(taken) <= PLAN.concurrency
    made.close()


# The end


class Silent(ScriptedModel):
    """Says nothing until it is stopped, and tells that it was asked."""

    def __init__(self, asked: threading.Semaphore) -> None:
        super().__init__([ScriptedTurn("never", gate=threading.Event())])
        self._asked = asked

    def stream(self, request: ModelRequest, stop: Stop) -> Iterator[Piece]:
        self._asked.release()
        return super().stream(request, stop)


def test_a_stop_ends_all_runs_and_loses_nothing(studio: Studio) -> None:
    stop, asked = Stop(), threading.Semaphore(0)

    def model(problem: TaskRecord) -> Model:
        return ScriptedModel(RIGHT) if problem.id == "a" else Silent(asked)

    made = run_rollouts(map(named, "abcd"), model, studio, PLAN, stop)
    first = next(made)
    asked.acquire()
    stop.set()
    rest = list(made)
    assert (first.task.id, first.reward) == ("a", 1.0)
    assert {each.status for each in rest} == {"stopped"}
    assert {each.task.id for each in rest} <= {"b", "c"}  # nothing new was begun
    for each in (first, *rest):
        events = list(each.events())
        assert isinstance(events[0], RunStarted)
        assert isinstance(events[-1], RunEnded)


def test_who_looks_no_further_leaves_no_run_at_work(studio: Studio, tmp_path: Path) -> None:
    asked = threading.Semaphore(0)

    def model(problem: TaskRecord) -> Model:
        return ScriptedModel(RIGHT) if problem.id == "a" else Silent(asked)

    made = run_rollouts(map(named, "abc"), model, studio, PLAN)
    next(made)
    asked.acquire()
    made.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("rollout")]
    (data,) = tmp_path.iterdir()
    ended = History(data).page().entries
    assert {each.summary.state for each in ended if each.summary} <= {"submitted", "stopped"}


def test_a_plain_process_is_refused_where_a_network_is_to_be_kept_out(tmp_path: Path) -> None:
    """Nothing would hold that; the run would be recorded as one without a network."""
    with Studio(Settings(data=tmp_path / "data"), ProcessSandboxProvider) as studio:
        done = one(studio, always(*RIGHT))
        assert (done.status, done.reward) == ("failed", 0.0)
        assert "run's network to open" in done.reason
        done = one(studio, always(*RIGHT), replace(PLAN, network=NetworkPolicy("open")))
        assert (done.status, done.reward) == ("submitted", 1.0)


def test_an_invalid_task_ends_all_rollouts(studio: Studio) -> None:
    wrong = replace(PROBLEM, input_files={"a": "1", "a/b": "2"})
    with pytest.raises(TaskError, match="word-1"):
        list(run_rollouts([wrong], always(*RIGHT), studio, PLAN))


# The record


def test_each_is_a_run_in_the_history_of_the_operator(studio: Studio, tmp_path: Path) -> None:
    done = list(run_rollouts(map(named, "ab"), always(*RIGHT), studio, PLAN))
    page = History(tmp_path / "data").page(query="Which word")
    assert {each.run for each in page.entries} == {each.folder.id for each in done}
    for entry in page.entries:
        assert entry.owner == ""
        assert entry.summary is not None
        assert entry.summary.state == "submitted"
