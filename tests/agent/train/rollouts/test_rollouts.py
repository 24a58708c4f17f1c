"""Rollouts: concurrent recorded runs, rewarded for their answers only."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import compress
from pathlib import Path

import pytest

from agent import prompts
from agent.api.studio import Studio
from agent.capabilities.usage import Rates
from agent.errors import ModelRefused, TaskError
from agent.history.index import History
from agent.limits import Limits
from agent.models.base import Model, ModelRequest, Piece, Usage
from agent.models.token_model import TokenModel
from agent.sandbox.network.policy import NetworkPolicy
from agent.settings import Settings
from agent.tasks.task import TaskRecord
from agent.train.rollouts.results import RESULTS_FILE, Results
from agent.train.rollouts.rollouts import Rollout, RolloutPlan, run_rollouts
from agent.train.rollouts.sandboxes import ProcessSandboxProvider
from agent.util.stop import Stop
from tests.support.models.byte_sampler import ByteSampler, ScriptedAnswer, format_ids
from tests.support.models.scripted import SUBMIT, ScriptedModel, ScriptedTurn, bash

pytestmark = pytest.mark.contract

PROBLEM = TaskRecord(
    "word-1", "Which word is in the note?", "moon", "exact", "notes", {"note.txt": "moon\n"}
)
PLAN = RolloutPlan(Limits(steps=5, seconds=60, reminders=0), concurrency=2)

Script = Sequence[ScriptedTurn]


RIGHT = (bash("cp input/note.txt output/answer.txt"), SUBMIT)


def scripted_model(*turns: ScriptedTurn) -> Callable[[TaskRecord], Model]:
    return lambda _: ScriptedModel(turns)


def run_rollout(
    studio: Studio, make_model: Callable[[TaskRecord], Model], plan: RolloutPlan = PLAN
) -> Rollout:
    (rollout,) = run_rollouts([PROBLEM], make_model, studio, plan)
    return rollout


def plan_with_limits(**limits: float | int | None) -> RolloutPlan:
    return replace(PLAN, limits=replace(PLAN.limits, **limits))  # type: ignore[arg-type]


def task_with_id(name: str) -> TaskRecord:
    return replace(PROBLEM, id=name)


# Rewards


@pytest.mark.parametrize(
    ("turns", "status", "answer", "reward"),
    [
        (RIGHT, "submitted", "moon\n", 1.0),
        ((bash("echo sun > output/answer.txt"), SUBMIT), "submitted", "sun\n", 0.0),
        ((ScriptedTurn("moon"),), "answered", None, 0.0),
    ],
    ids=["right", "wrong", "only said"],
)
def test_only_the_answer_file_is_rewarded(
    studio: Studio, turns: Script, status: str, answer: str | None, reward: float
) -> None:
    rollout = run_rollout(studio, scripted_model(*turns))
    assert (rollout.status, rollout.answer, rollout.reward) == (status, answer, reward)
    assert rollout.totals.steps == len(turns)
    assert rollout.seconds >= rollout.setup_seconds >= 0


def test_a_rollout_has_its_capability_usage_by_both_methods(studio: Studio, tmp_path: Path) -> None:
    rollout = run_rollout(studio, scripted_model(*RIGHT))
    assert rollout.capabilities is not None
    assert rollout.capabilities.ours == Rates(external=0, file=0.5, compute=0)
    assert rollout.capabilities.paper == Rates(external=0, file=0, compute=0)
    with Results(tmp_path / "results", 1, 1) as results:
        results.record(rollout)
    line = json.loads((tmp_path / "results" / RESULTS_FILE).read_text())
    assert line["capabilities"]["ours"] == {"external": 0, "file": 0.5, "compute": 0}
    assert "share of steps: external 0.0%, files 50.0%" in results.capabilities()
    assert "by the paper's patterns: external 0.0%, files 0.0%" in results.capabilities()


@pytest.mark.parametrize(
    "command",
    [
        "mkdir output/answer.txt",
        "mkfifo output/answer.txt",
        "ln -s ../input/note.txt output/answer.txt",
        "rm -r output; ln -s input output; cp input/note.txt input/answer.txt",
        "cp input/note.txt output/answer.txt; truncate -s 2M output/answer.txt",
    ],
)
def test_special_links_and_oversized_answer_files_score_zero(studio: Studio, command: str) -> None:
    rollout = run_rollout(studio, scripted_model(bash(command), SUBMIT))
    assert (rollout.status, rollout.answer, rollout.reward) == ("submitted", None, 0.0)


# Limits: a correct answer of an aborted run scores zero


@pytest.mark.parametrize(
    ("plan", "turns", "status"),
    [
        (plan_with_limits(steps=2), [RIGHT[0], bash("true"), SUBMIT], "step_limit"),
        (
            plan_with_limits(seconds=0.6),
            [RIGHT[0], bash("sleep 60"), bash("true"), SUBMIT],
            "time_limit",
        ),
        (
            plan_with_limits(conversation_tokens=100),
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
    rollout = run_rollout(studio, lambda _: ScriptedModel(turns, metered=True), plan)
    assert (rollout.status, rollout.answer, rollout.reward) == (status, None, 0.0)
    assert rollout.reason
    assert (rollout.folder.workspace / "output" / "answer.txt").read_text() == "moon\n"


def test_a_trimmed_conversation_scores_zero_and_is_not_trained_on(studio: Studio) -> None:
    read_note = call("cat input/note.txt; printf '%2000s' x")
    copy_note = call("cp input/note.txt output/answer.txt")
    answers = [read_note, read_note, read_note, copy_note, call(name="submit")]
    sampler = ByteSampler(answers, context=7_000)
    plan = replace(PLAN, prompt=prompts.get_bundled("small"))
    rollout = run_rollout(studio, lambda _: TokenModel("bytes", sampler), plan)
    assert rollout.status == "submitted"
    assert "was removed" in rollout.reason
    assert (rollout.answer, rollout.reward, rollout.token_sequence()) == (None, 0.0, None)


# Training sequences


def call(command: str = "", name: str = "execute_bash") -> str:
    arguments = json.dumps({"command": command} if command else {})
    return f'<tool_call>{{"name": "{name}", "arguments": {arguments}}}</tool_call>'


def test_the_sequence_contains_the_tokens_read_and_sampled(studio: Studio) -> None:
    read_note = f"I look. {call('cat input/note.txt')}"
    answers = [read_note, call("cp input/note.txt output/answer.txt"), call(name="submit")]
    sampler = ByteSampler(answers)
    rollout = run_rollout(studio, lambda _: TokenModel("bytes", sampler))
    sequence = rollout.token_sequence()
    assert sequence is not None
    assert rollout.reward == 1.0
    assert list(sequence.ids[: len(sampler.prompts[-1])]) == sampler.prompts[-1]
    assert "moon" in format_ids(sequence.ids)
    generated = compress(sequence.ids, sequence.mask)
    assert format_ids([*generated]) == "".join(f"«{answer}»<|im_end|>" for answer in answers)
    assert {*compress(sequence.logprobs, sequence.mask)} == {-0.25}


def test_a_truncated_run_still_has_a_sequence(studio: Studio) -> None:
    """Its reward of zero is trained on."""
    cut = ScriptedAnswer("Once upon", ends_turn=False)
    sampler = ByteSampler([ScriptedAnswer(call("true")), cut])
    rollout = run_rollout(studio, lambda _: TokenModel("bytes", sampler))
    assert rollout.status == "token_limit"
    assert rollout.token_sequence() is not None


# Without a sandbox


def test_plain_mode_has_documents_in_the_prompt_and_rewards_the_text(studio: Studio) -> None:
    model = ScriptedModel([ScriptedTurn("moon")])
    rollout = run_rollout(studio, lambda _: model, replace(PLAN, mode="plain"))
    assert (rollout.status, rollout.answer, rollout.reward) == ("answered", "moon", 1.0)
    (request,) = model.requests
    assert request.tools == ()
    assert "BEGIN DOCUMENT 1: note.txt\nmoon" in request.messages[0].text
    assert rollout.setup_seconds == 0
    assert rollout.capabilities is None


# Concurrency


def test_rollouts_run_with_the_configured_concurrency(studio: Studio) -> None:
    barrier = threading.Barrier(3)

    def create_after_all_started(_: TaskRecord) -> Model:
        barrier.wait(20)
        return ScriptedModel(RIGHT)

    plan = replace(PLAN, concurrency=3)
    tasks = map(task_with_id, "abc")
    rollouts = list(run_rollouts(tasks, create_after_all_started, studio, plan))
    assert sorted(each.number for each in rollouts) == [0, 1, 2]
    assert len({each.folder.id for each in rollouts}) == 3
    assert {each.reward for each in rollouts} == {1.0}


def test_repetitions_of_a_task_are_numbered_and_in_the_operators_history(
    studio: Studio, tmp_path: Path
) -> None:
    plan = replace(PLAN, repeat=3)
    rollouts = list(run_rollouts(map(task_with_id, "ab"), scripted_model(*RIGHT), studio, plan))
    positions = sorted((each.number, each.task.id, each.repeat) for each in rollouts)
    assert positions == [(3 * n + r, task, r) for n, task in enumerate("ab") for r in range(3)]
    page = History(tmp_path / "data").page(query="Which word")
    assert {each.run for each in page.entries} == {each.folder.id for each in rollouts}
    for entry in page.entries:
        assert entry.owner == ""
        assert entry.summary is not None
        assert entry.summary.state == "submitted"


def test_tasks_are_consumed_lazily(studio: Studio) -> None:
    consumed: list[TaskRecord] = []

    def endless() -> Iterator[TaskRecord]:
        while True:
            consumed.append(task_with_id(f"p{len(consumed)}"))
            yield consumed[-1]

    rollouts = run_rollouts(endless(), scripted_model(*RIGHT), studio, PLAN)
    next(rollouts)
    assert len(consumed) <= PLAN.concurrency
    rollouts.close()


# Stopping


class SilentModel(ScriptedModel):
    """Sends nothing until it is stopped, and signals each request."""

    def __init__(self, request: threading.Semaphore) -> None:
        super().__init__([ScriptedTurn("never", gate=threading.Event())])
        self._asked = request

    def stream(self, request: ModelRequest, stop: Stop) -> Iterator[Piece]:
        self._asked.release()
        return super().stream(request, stop)


def test_closing_the_iterator_stops_all_runs(studio: Studio, tmp_path: Path) -> None:
    request = threading.Semaphore(0)

    def model(problem: TaskRecord) -> Model:
        return ScriptedModel(RIGHT) if problem.id == "a" else SilentModel(request)

    rollouts = run_rollouts(map(task_with_id, "abc"), model, studio, PLAN)
    next(rollouts)
    request.acquire()
    rollouts.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("rollout")]
    (data,) = tmp_path.iterdir()
    entries = History(data).page().entries
    assert {each.summary.state for each in entries if each.summary} <= {"submitted", "stopped"}


def test_a_process_sandbox_is_refused_unless_the_network_is_open(tmp_path: Path) -> None:
    """A process cannot be isolated, so the record of the run would be wrong."""
    with Studio(Settings(data=tmp_path / "data"), ProcessSandboxProvider) as studio:
        rollout = run_rollout(studio, scripted_model(*RIGHT))
        assert (rollout.status, rollout.reward) == ("failed", 0.0)
        assert "run's network to open" in rollout.reason
        plan = replace(PLAN, network=NetworkPolicy("open"))
        rollout = run_rollout(studio, scripted_model(*RIGHT), plan)
        assert (rollout.status, rollout.reward) == ("submitted", 1.0)


def test_an_invalid_task_ends_all_rollouts(studio: Studio) -> None:
    invalid_task = replace(PROBLEM, input_files={"a": "1", "a/b": "2"})
    with pytest.raises(TaskError, match="word-1"):
        list(run_rollouts([invalid_task], scripted_model(*RIGHT), studio, PLAN))
