"""A comparison as JSON: its table, its verdict, and what it says about what is not known."""

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.events import (
    Event,
    Mode,
    Status,
    Totals,
    encode,
)
from agent.experiments.description import describe
from agent.experiments.document_sizes import measure_documents
from agent.experiments.experiment import ExpectedAnswer, Experiment, Member
from agent.experiments.figures.word_differences import word_differences
from agent.experiments.folder import ExperimentFolder
from agent.experiments.outcomes import missing
from agent.experiments.suite import DataFile
from agent.history import records
from agent.models.base import Usage
from agent.runs.event_recorder import INTERRUPTED
from agent.runs.folder import RunFolder
from agent.runs.summary import Summary
from agent.workspace.files import Workspace
from tests.support.component.events import ended, started, step

MEMBERS = (
    Member(label="Without sandbox", mode="plain", model="m"),
    Member(label="In the sandbox", mode="sandbox", model="m"),
)
LIMITS = {"steps": 100.0}


def write_run(
    data: Path,
    mode: Mode,
    answer: str,
    *,
    usages: tuple[Usage | None, ...] = (Usage(100, 10),),
    status: Status = "answered",
    reason: str = "",
    limits: Mapping[str, float | None] = LIMITS,
    user: str = "x" * 400,
) -> str:
    """Write a run with one step for each usage."""
    folder, totals = RunFolder.create(data, "s" * 8), Totals(sandbox_seconds=0.5)
    about: dict[str, Any] = {"run": folder.id, "mode": mode, "model": "m", "user": user}
    events: list[Event] = [started("How many?", limits=dict(limits), at=10.0, **about)]
    for number, usage in enumerate(usages, 1):
        totals = replace(totals, steps=number, model_seconds=2.0 * number)
        turn = step(number, text=answer, usage=usage, seconds=2.0, totals=totals)
        events += [replace(each, at=12.0 + number) for each in turn]
    events.append(replace(ended(status, answer, reason, totals), at=30.0))
    folder.journal.write_bytes(b"".join(encode(each) + b"\n" for each in events))
    return folder.id


def summaries(data: Path, folder: ExperimentFolder) -> dict[str, Summary | None]:
    found = ((each.run, records.read(data, each.run, None)) for each in folder.runs())
    return {run: record.summary for run, record in found if record is not None}


def compare(data: Path, plain: list[str], sandbox: list[str], **changes: Any) -> ExperimentFolder:
    """Write a comparison with these runs."""
    comparison = Experiment(task="How many?", members=MEMBERS, repetitions=len(plain) or 1)
    folder = ExperimentFolder.create(data, replace(comparison, **changes))
    for member, runs in enumerate((plain, sandbox)):
        for repetition, run in enumerate(runs, 1):
            folder.add_run(0, member, repetition, run)
    return folder


def described(folder: ExperimentFolder, *, running: bool = False) -> dict[str, Any]:
    return describe(folder, summaries(folder.data, folder), running=running)


def cells(description: dict[str, Any], key: str) -> list[dict[str, Any]]:
    rows = (row for group in description["table"] for row in group["rows"])
    found: list[dict[str, Any]] = next(row for row in rows if row["key"] == key)["cells"]
    return found


def keys(description: dict[str, Any]) -> list[str]:
    return [row["key"] for group in description["table"] for row in group["rows"]]


TWELVE = ExpectedAnswer(kind="number", answer="12")


def one_each(
    data: Path,
    plain: Mapping[str, Any] | None = None,
    sandbox: Mapping[str, Any] | None = None,
    **changes: Any,
) -> ExperimentFolder:
    """Write a comparison of a run without and one with a sandbox, from what differs in them."""
    runs = [
        write_run(data, "plain", **{"answer": "9", **(plain or {})}),
        write_run(data, "sandbox", **{"answer": "12", **(sandbox or {})}),
    ]
    return compare(data, runs[:1], runs[1:], **changes)


def test_the_verdict_of_repeated_runs(tmp_path: Path) -> None:
    plain = [write_run(tmp_path, "plain", answer) for answer in ("9", "9", "12", "9", "7")]
    sandbox = [write_run(tmp_path, "sandbox", "12", status="submitted") for _ in range(5)]
    found = described(compare(tmp_path, plain, sandbox, expected=TWELVE))
    assert found["state"] == "finished"
    assert found["verdict"]["text"] == "With a computer: right 5 of 5. Without: right 1 of 5."
    assert "Paired difference +0.80 (95 % Newcombe interval" in found["verdict"]["detail"]
    assert "McNemar, exact: p = 0.125, n = 5" in found["verdict"]["detail"]
    assert "expected answer “12”, as a number" in found["verdict"]["detail"]
    score = cells(found, "score")
    assert [each["text"] for each in score] == ["0.20", "1.00"]
    assert [(each["n"], each["best"]) for each in score] == [(5, False), (5, True)]
    assert score[1]["delta"] == "+0.80"
    assert score[0]["method"] == "Wilson interval"
    assert [each["value"] for each in cells(found, "pass_at_k")] == [pytest.approx(0.6), 1.0]
    assert [each["value"] for each in cells(found, "pass_hat_k")] == [0.0, 1.0]
    assert [each["text"] for each in cells(found, "answer")] == ["9", "12"]
    assert cells(found, "answer")[0]["note"] == "3 of 5 runs"
    assert cells(found, "answer")[1]["words"] == (("removed", "9"), ("added", "12"))
    assert [run["score"] for run in found["members"][0]["runs"]] == [0, 0, 1, 0, 0]


def test_one_repetition_has_no_intervals(tmp_path: Path) -> None:
    found = described(one_each(tmp_path, expected=TWELVE))
    assert found["verdict"]["text"] == "With a computer: right. Without: wrong."
    assert found["verdict"]["detail"] == "expected answer “12”, as a number"
    assert not {"difference", "pass_at_k"} & set(keys(found))
    assert cells(found, "total_seconds")[0]["low"] is None


def test_a_count_that_is_not_reported_is_not_0(tmp_path: Path) -> None:
    known = Usage(200, 20, cached=50, reported=("cached",))
    found = described(one_each(tmp_path, sandbox={"usages": (known, Usage(300, 20))}))
    cached = cells(found, "cached_tokens")
    assert [each["text"] for each in cached] == ["not reported", "50"]
    assert cached[1]["note"] == "at least: not reported by 1 step"
    assert cached[1]["delta"] == ""
    assert [each["text"] for each in cells(found, "reasoning_tokens")] == ["not reported"] * 2
    assert [each["text"] for each in cells(found, "tokens_once")] == ["110", "320"]
    assert cells(found, "tokens_once")[1]["delta"] == "2.91×"
    assert [each["best"] for each in cells(found, "tokens_once")] == [False, False]  # one run
    assert [each["best"] for each in cells(found, "prompt_tokens")] == [False, False]
    assert cells(found, "commands")[0]["text"] == "–"


def test_a_member_without_an_answer_is_not_the_best_for_having_taken_little(
    tmp_path: Path,
) -> None:
    little = {"answer": "", "status": "failed", "usages": (Usage(10, 1),)}
    found = described(one_each(tmp_path, little, {"usages": (Usage(200, 20),)}))
    assert [each["value"] for each in cells(found, "tokens_once")] == [11, 220]
    assert [each["best"] for each in cells(found, "tokens_once")] == [False, False]


def test_without_an_expected_answer_the_verdict_says_what_is_known(tmp_path: Path) -> None:
    verdict = described(one_each(tmp_path, {"answer": "Nine."}, {"answer": "nine"}))["verdict"]
    assert verdict["text"] == "All members give the same answer."
    assert verdict["detail"] == "Without: 110 tokens, 20 s · With a computer: 110 tokens, 20 s"


def test_documents_that_do_not_fit_are_the_result(tmp_path: Path) -> None:
    reason = "request (150000 tokens) exceeds the available context size (8192 tokens)"
    refused = {"answer": "", "usages": (), "status": "token_limit", "reason": reason}
    found = described(one_each(tmp_path, refused, expected=TWELVE))
    assert found["verdict"]["text"] == "With a computer: right. Without: the documents do not fit."
    status = cells(found, "status")[0]
    assert (status["text"], status["note"]) == ("token limit", reason)
    assert cells(found, "prompt_tokens")[0]["text"] == "–"  # nothing was counted, nothing hidden
    assert cells(found, "model_seconds")[0]["text"] == "–"


DOCUMENT = DataFile(path="a b.txt", size=10_000, sha256="")


def workspace_with_document(folder: Path) -> Workspace:
    given = folder / "workspace" / "input"
    given.mkdir(parents=True)
    (given / "a b.txt").write_text("word " * 2000)
    return Workspace(given.parent)


def test_an_endpoint_that_refuses_documents_has_counted_them(tmp_path: Path) -> None:
    reason = "request (5,000 tokens) exceeds the available context size (4,096 tokens)"
    refused = {"answer": "", "usages": (), "status": "token_limit", "reason": reason}
    folder = one_each(tmp_path, refused | {"user": "x" * 10_500}, inputs=(DOCUMENT,))
    measure_documents(folder, workspace_with_document(tmp_path))
    assert [each["text"] for each in cells(described(folder), "pasted")] == ["5,000", "≈ 4,762"]


def test_a_prompt_that_the_endpoint_cut_says_so(tmp_path: Path) -> None:
    cut = {"usages": (Usage(4096, 10),), "user": "x" * 400_000}
    found = described(one_each(tmp_path, cut))
    assert "it has cut the documents" in cells(found, "status")[0]["note"]


def test_unequal_limits_are_marked(tmp_path: Path) -> None:
    found = described(one_each(tmp_path, sandbox={"limits": {"steps": 24.0}}))
    assert [each["unequal"] for each in found["members"]] == [[], ["maxSteps"]]


def test_a_deleted_run_says_so_and_the_others_count(tmp_path: Path) -> None:
    plain = [write_run(tmp_path, "plain", "9") for _ in range(2)]
    sandbox = [write_run(tmp_path, "sandbox", "12") for _ in range(2)]
    folder = compare(tmp_path, plain, sandbox, expected=TWELVE)
    shutil.rmtree(tmp_path / "runs" / plain[0])
    found = described(folder)
    assert [each["state"] for each in found["members"][0]["runs"]] == ["deleted", "answered"]
    assert found["members"][0]["runs"][0]["deleted"] is True
    assert [each["n"] for each in cells(found, "score")] == [1, 2]
    assert found["state"] == "finished"


def test_interrupted_and_stopped_runs_do_not_count_and_are_done_again(tmp_path: Path) -> None:
    plain = [
        write_run(tmp_path, "plain", "", status="failed", reason=INTERRUPTED),
        write_run(tmp_path, "plain", "", status="failed", reason="The key is wrong."),
    ]
    sandbox = [write_run(tmp_path, "sandbox", "", status="stopped")]
    folder = compare(tmp_path, plain, sandbox, expected=TWELVE)
    found = described(folder)
    assert found["state"] == "interrupted"
    known = summaries(tmp_path, folder)
    assert missing(folder, known) == [(0, 0, 1), (0, 1, 1), (0, 1, 2)]
    assert [each["n"] for each in cells(found, "score")] == [0, 0]
    assert cells(found, "score")[0]["text"] == "not scored"  # nor is its failure wrong
    assert cells(found, "score")[0]["note"] == "The key is wrong."
    assert found["verdict"]["text"] == ""
    folder.set_stopped(True)
    assert described(folder)["state"] == "stopped"
    assert described(folder, running=True)["state"] == "running"


def test_a_long_answer_is_scored_whole(tmp_path: Path) -> None:
    long = "I count. " * 1000 + "\nAnswer: 12"
    plain, sandbox = write_run(tmp_path, "plain", long), write_run(tmp_path, "sandbox", "12")
    found = described(compare(tmp_path, [plain], [sandbox], expected=TWELVE))
    assert [each["text"] for each in cells(found, "score")] == ["1.00", "1.00"]
    assert found["verdict"]["text"] == "Without: right. With a computer: right."


@pytest.mark.parametrize("measured", [True, False])
def test_pasted_documents_name_the_tokenizer_or_the_error(tmp_path: Path, measured: bool) -> None:
    usages = (Usage(1000, 10),) if measured else (None,)
    folder = one_each(tmp_path, {"usages": usages, "user": "x" * 2500}, inputs=(DOCUMENT,))
    assert "pasted" not in keys(described(folder))  # not measured yet
    measure_documents(folder, workspace_with_document(tmp_path))
    found = described(folder)
    (document,) = found["inputs"]
    assert document["characters"] == 10_000
    pasted = cells(found, "pasted")
    if measured:
        assert (document["tokens"], pasted[1]["text"]) == (4000, "≈ 4,000")
        assert "tokenizer: 2.50 characters per token" in document["tokensNote"]
        assert pasted[0]["text"] == "1,000"
    else:
        assert (document["tokens"], pasted[1]["text"]) == (2500, "≈ 2,500")
        assert "characters ÷ 4; English text differs by up to a quarter" in document["tokensNote"]


def test_words_that_differ() -> None:
    changes = word_differences("Banking, 9 cases", "Airlines, 9 cases in all")
    assert [kind for kind, _ in changes] == ["removed", "added", "same", "added"]
    assert [text for _, text in changes] == ["Banking, ", "Airlines, ", "9 cases ", "in all"]
    texts = "a  b\nc ", "a b\n\nd"
    parts = word_differences(*texts)
    assert "".join(text for kind, text in parts if kind != "removed") == texts[1]
