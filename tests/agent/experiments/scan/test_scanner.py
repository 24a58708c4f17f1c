"""Questions about runs: asked once each, stopped, resumed after a kill, estimated and exported."""

import csv
import io
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.errors import ModelRefused, ModelUnavailable, UsageError
from agent.events import Event, encode
from agent.experiments.description import describe
from agent.experiments.folder import ExperimentFolder
from agent.experiments.publish.exports import export
from agent.experiments.publish.publication import published
from agent.experiments.publish.verify import verify
from agent.experiments.reading.filters import parse, selected
from agent.experiments.scan.asking import Asked
from agent.experiments.scan.records import Question, check
from agent.experiments.scan.scanner import Scanner, estimate
from agent.experiments.scan.transcript_text import read_transcript
from agent.limits import Price
from agent.models import prompting
from agent.models.base import Finish, ModelRequest, Piece, TextPiece, Usage
from agent.runs.summary import Summary
from agent.util.stop import Stop
from tests.support.component.events import bash, ended, started, step
from tests.support.evaluations.stored import add, create
from tests.support.evaluations.suites import sums

YES = {"answer": "yes", "step": 1, "quote": "seq 2", "reason": "It ran a command."}


class Reader:
    """A model that answers questions about runs; ``say`` may raise."""

    metered = True
    name = "reader"

    def __init__(self, say: Callable[[str], Any] = lambda _: YES) -> None:
        self.say, self.prompts = say, list[str]()
        self._lock = threading.Lock()

    def stream(self, request: ModelRequest, stop: Stop) -> Iterator[Piece]:
        prompt = request.messages[0].text
        with self._lock:
            self.prompts.append(prompt)
        said = self.say(prompt)
        yield TextPiece(said if isinstance(said, str) else json.dumps(said))
        yield Finish("stop", Usage(1_000, 10))


def asked(reader: Reader) -> Asked:
    return Asked(reader, Price(2.0, 10.0, None))


@pytest.fixture
def folder(tmp_path: Path) -> ExperimentFolder:
    return create(tmp_path / "data", [sums(4)])


@pytest.fixture
def summaries(folder: ExperimentFolder) -> dict[str, Summary | None]:
    """Four tasks in both modes, whose runs have a step with a command."""
    found: dict[str, Summary | None] = dict(
        add(folder, (task, member, 1), 1.0) for task in range(4) for member in range(2)
    )
    for run in found:
        turn = step(1, bash("seq 2", "1\n2"), text="I count.")
        events: list[Event] = [started(f"Task of {run}"), *turn, ended(answer="2")]
        path = folder.data / "runs" / run
        path.mkdir(parents=True)
        (path / "journal.jsonl").write_bytes(b"".join(encode(each) + b"\n" for each in events))
    return found


@pytest.fixture
def question(folder: ExperimentFolder, summaries: dict[str, Summary | None]) -> Question:
    found = Question(
        id="q1", text="Did it run a command?", kind="yes_no", model="reader", runs=tuple(summaries)
    )
    folder.scans.ask(found)
    return found


def test_each_run_is_asked_about_once_even_after_a_kill(
    folder: ExperimentFolder, question: Question
) -> None:
    first = Scanner(folder, question, asked(Reader()))
    first._on_answer = lambda _: first.stop.set()  # as if it was stopped after an answer
    first.run(1)
    assert len([run for run in question.runs if folder.scans.answer("q1", run)]) == 1
    with (folder.path / "answers.jsonl").open("ab") as file:
        file.write(b'{"question": "q1", "run": "run-3-1-1", "ans')  # killed while writing
    again = ExperimentFolder.open(folder.data, folder.id)
    reader = Reader()
    second = Scanner(again, question, asked(reader))
    second.run(4)
    assert (len(reader.prompts), second.problem, second.failed) == (7, "", 0)
    assert all("Result: 1\n2" in prompt for prompt in reader.prompts)
    Scanner(again, question, asked(reader)).run(4)
    assert len(reader.prompts) == 7
    answers = [each for run in question.runs for each in again.scans.of(run)]
    assert [each.citation for each in answers] == ["verified"] * 8


def test_an_answer_that_is_not_of_the_schema_is_asked_for_once_more(
    folder: ExperimentFolder, question: Question
) -> None:
    reader = Reader(lambda prompt: YES if "Your last answer" in prompt else "Perhaps.")
    Scanner(folder, question, asked(reader)).run()
    assert len(reader.prompts) == 16
    found = folder.scans.of(question.runs[0])[0]
    assert (found.answer, found.prompt_tokens, found.error) == ("yes", 2_000, "")
    other = Question(id="q2", text="Why?", kind="yes_no", runs=question.runs[:1])
    folder.scans.ask(other)
    Scanner(folder, other, asked(Reader(lambda _: "Perhaps."))).run()
    error = folder.scans.of(question.runs[0])[1]
    assert (error.answer, error.error) == ("", "It has no JSON object.")


@pytest.mark.parametrize(
    ("error", "requests"), [(ModelRefused("The key is wrong."), 1), (ModelUnavailable("Busy."), 9)]
)
def test_an_endpoint_that_does_not_answer_ends_it_and_is_asked_again_later(
    folder: ExperimentFolder, question: Question, error: Exception, requests: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(prompting, "_BACKOFF_SECONDS", 0.0)

    def fail(_: str) -> Any:
        raise error

    reader = Reader(fail)
    first = Scanner(folder, question, asked(reader))
    first.run(1)
    assert first.problem == f"{error} The other runs were not asked about."
    assert len(reader.prompts) == requests
    Scanner(folder, question, asked(Reader())).run()
    assert all(folder.scans.answer("q1", run) for run in question.runs)


def test_an_estimate_has_tokens_and_cost_of_what_is_left(
    folder: ExperimentFolder, question: Question
) -> None:
    found = estimate(folder, question, Price(2.0, 10.0, None))
    assert (found.runs, found.generated_tokens) == (8, 960)
    assert found.prompt_tokens is not None
    assert 8 * 150 < found.prompt_tokens < 8 * 400
    assert found.cost == pytest.approx((2 * found.prompt_tokens + 9_600) / 1e6)
    Scanner(folder, question, asked(Reader())).run()
    assert (estimate(folder, question, None).runs, estimate(folder, question, None).cost) == (
        0,
        None,
    )


def test_answers_are_a_column_of_filters_exports_and_the_verification(
    folder: ExperimentFolder, summaries: dict[str, Summary | None], question: Question,
    tmp_path: Path,
) -> None:  # fmt: skip
    def say(prompt: str) -> Any:
        return YES if "Task of run-0" in prompt else {"answer": "no", "step": 1, "quote": "=x"}

    Scanner(folder, question, asked(Reader(say))).run()
    shown = describe(folder, summaries)
    (described,) = shown["questions"]
    assert described["counts"] == {"yes": 2, "no": 6}
    assert (described["unverified"], described["answered"], described["cost"]) == (6, 8, 0.0168)
    assert "base_url" not in described
    assert shown["cells"][0][0]["runs"][0]["scans"] == {"q1": {"step": 1, "citation": "verified"}}
    assert selected(shown, parse("scan:q1=yes")) == ["run-0-0-1", "run-0-1-1"]
    whole = published(folder, summaries, shown)
    for kind in ("json", "runs.csv", "runs.parquet", "answers.csv"):
        (tmp_path / f"evaluation.{kind}").write_bytes(export(whole, kind))
    rows = list(csv.DictReader(io.StringIO(export(whole, "answers.csv").decode())))
    assert [rows[-1][name] for name in ("answer", "step", "quote", "citation")] == [
        "no", "1", "'=x", "unverified",
    ]  # fmt: skip
    assert whole["runs"][0]["answers"] == ("yes",)
    assert verify(tmp_path / "evaluation.json")[1] == []


def test_a_long_transcript_keeps_its_short_steps_and_says_what_is_left_out(tmp_path: Path) -> None:
    events: list[Event] = [started("Task")]
    for number in range(1, 9):
        output = "x" * 30_000 if number % 2 else f"short {number}"
        events += step(number, bash("cat", output), text=f"Text {number}")
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"".join(encode(each) + b"\n" for each in [*events, ended()]))
    found = read_transcript(path, 20_000)
    assert found.characters < 21_000
    assert list(found.steps) == list(range(1, 9))
    assert all(f"short {number}" in found.steps[number] for number in (2, 4, 6, 8))
    assert "characters left out" in found.steps[1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text": " "}, "1 to 2,000"), ({"text": "x" * 2_001}, "1 to 2,000"),
        ({"kind": "category"}, "Categories are given"), ({"categories": ("a", "b")}, "Categories"),
        ({"kind": "category", "categories": ("a", "A")}, "2 to 20 different"),
        ({"kind": "category", "categories": ("a", "b\n")}, "a line of at most 40"),
        ({"kind": "number"}, "one of yes_no"), ({"runs": ()}, "No run is like this"),
    ],
)  # fmt: skip
def test_a_question_that_cannot_be_asked_is_refused(changes: Any, message: str) -> None:
    values: dict[str, Any] = {
        "id": "q",
        "text": "Why?",
        "kind": "yes_no",
        "runs": ("r",),
        **changes,
    }
    with pytest.raises(UsageError, match=message):
        check(Question(**values))
