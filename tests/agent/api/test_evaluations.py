"""Evaluations from Python: real runs of scripted endpoints, with and without a sandbox."""

import threading
from collections import Counter

import pytest

from agent import Settings, Studio, UsageError
from agent.experiments.experiment import Judge
from agent.experiments.folder import ExperimentFolder
from agent.experiments.runner import Progress
from agent.experiments.suite import EvalTask, Suite
from agent.runs.folder import RunFolder
from tests.support.evaluations.suites import members, of_domain, respond, sums, task_of
from tests.support.models.endpoint import Endpoint
from tests.support.models.turns import Body, Turn

pytestmark = pytest.mark.contract


def test_a_suite_in_both_modes(studio: Studio, settings: Settings) -> None:
    progress = list[Progress]()
    with Endpoint(respond) as endpoint:
        result = studio.evaluate(
            sums(4), members=[f"model=m,base-url={endpoint.url}"], on_progress=progress.append
        )
    assert result.state == "finished"
    plain, sandbox = of_domain(result.description)
    assert (plain["n"], plain["correct"], plain["score"]) == (4, 2, 0.5)
    assert (sandbox["n"], sandbox["correct"], sandbox["score"]) == (4, 4, 1.0)
    assert (plain["gain"], sandbox["gain"], sandbox["pairs"]) == (None, 0.5, 4)
    assert -1 < sandbox["gainLow"] < 0.5 < sandbox["gainHigh"] <= 1
    assert (plain["tokensOnce"], sandbox["tokensOnce"]) == (120, 120 + 20 + 20 + 10)
    assert (plain["tokensPeak"], sandbox["tokensPeak"], sandbox["turns"]) == (100, 160, 2)
    assert (plain["capabilities"]["parsed"], plain["environmentTime"]) == (None, None)
    assert sandbox["capabilities"]["parsed"]["files"] > 0
    assert sandbox["environmentTokens"] == pytest.approx(20 / 170)
    assert sandbox["throughput"] > 0
    assert result.counts["right"] == 6
    assert (progress[0].status, progress[0].total) == ("defined", 8)
    assert progress[-1].done == 8
    assert any(each.remaining for each in progress)

    # Each run is an ordinary run with the suite's prompt and limits.
    for _, _, _, run in result.runs:
        assert RunFolder.open(settings.data, run).comparison == result.id
    sent = [request.body for request in endpoint.requests]
    assert {body["max_tokens"] for body in sent} == {65_536}
    first_plain = next(body for body in sent if not body.get("tools"))
    assert "step by step" in first_plain["messages"][-1]["content"]


def test_documents_are_files_in_the_sandbox_and_text_without_it(
    studio: Studio, settings: Settings
) -> None:
    task = EvalTask(
        id="d", text="Which letter?", scorer="letter", expected="C", choices="ABCD",
        inputs={"letters/note.txt": "The letter is C."},
    )  # fmt: skip
    suite = sums(1, tasks=(task,), prompt="long_context", scorer="letter")

    def read(body: Body) -> Turn:
        if not body.get("tools"):
            found = "The letter is C." in body["messages"][-1]["content"]
            return Turn(text="C" if found else "A")
        if any(each["role"] == "tool" for each in body["messages"]):
            return Turn(calls=[("submit", {})])
        command = "grep -o '[A-D].$' input/letters/note.txt | head -c 1 > output/answer.txt"
        return Turn(calls=[("execute_bash", {"command": command})])

    with Endpoint(read) as endpoint:
        result = studio.evaluate(suite, members=members(endpoint.url))
    assert [each["score"] for each in of_domain(result.description)] == [1.0, 1.0]
    (folder,) = ExperimentFolder.all(settings.data, "evaluation")
    assert [path.read_text() for path in (folder.path / "inputs").iterdir()] == ["The letter is C."]


def test_infrastructure_errors_are_never_wrong_answers_and_are_repeated_alone(
    studio: Studio,
) -> None:
    broken, asked = True, Counter[int]()

    def refuse_some(body: Body) -> Turn:
        number = task_of(body)
        asked[number] += 1
        return Turn(fault="401") if broken and number > 2 else respond(body)

    with Endpoint(refuse_some) as endpoint:
        first = studio.evaluate(sums(4), members=members(endpoint.url))
        plain, sandbox = of_domain(first.description)
        assert (plain["n"], plain["infrastructure"], plain["score"]) == (2, 2, 0.5)
        assert (sandbox["n"], sandbox["infrastructure"], sandbox["score"]) == (2, 2, 1.0)
        assert sandbox["pairs"] == 2
        assert first.counts["infrastructure"] == 4
        assert first.state == "finished"
        broken, before = False, Counter(asked)
        again = studio.evaluate(resume=first.id, retry_infrastructure=True)
    assert {number for number in asked if asked[number] > before[number]} == {3, 4}
    assert again.counts["infrastructure"] == 0
    assert [each["score"] for each in of_domain(again.description)] == [0.5, 1.0]
    cell = again.description["cells"][3][1]
    assert (cell["outcome"], cell["runs"][0]["attempt"]) == ("right", 2)
    with Endpoint(respond) as endpoint:
        unchanged = studio.evaluate(resume=first.id)
    assert [run for *_, run in unchanged.runs] == [run for *_, run in again.runs]


def test_a_judge_that_fails_half_the_time_leaves_a_result_that_says_so(studio: Studio) -> None:
    votes = Counter[str]()

    def judge(body: Body) -> Turn:
        votes["asked"] += 1
        return Turn(text="I cannot say." if votes["asked"] % 2 else "It is the same.\nRIGHT")

    with Endpoint(respond) as endpoint, Endpoint(judge) as judging:
        asked = Judge(model="j", base_url=judging.url, votes=4)
        plain = members(endpoint.url, "plain")
        result = studio.evaluate(_judged(3), members=plain, judge=asked, concurrency=1)
    described = result.description["judge"]
    assert (described["askedVotes"], described["failedVotes"]) == (12, 6)
    assert (described["answers"], described["unscored"], described["agreement"]) == (3, 0, 1.0)
    assert described["prompt"]
    assert result.counts["right"] == 3
    assert "12 votes, 6 failed" in str(result)


def test_answers_without_any_vote_count_for_nothing_and_are_judged_on_resume(
    studio: Studio,
) -> None:
    works = threading.Event()

    def judge(_: Body) -> Turn:
        return Turn(text="RIGHT" if works.is_set() else "No comment.")

    with Endpoint(respond) as endpoint, Endpoint(judge) as judging:
        asked = Judge(model="j", base_url=judging.url, votes=1)
        first = studio.evaluate(_judged(2), members=members(endpoint.url, "plain"), judge=asked)
        (row,) = of_domain(first.description)
        assert (row["n"], row["score"], row["unscored"]) == (0, None, 2)
        works.set()
        requests = len(endpoint.requests)
        again = studio.evaluate(resume=first.id)
    assert len(endpoint.requests) == requests
    assert (again.counts["right"], again.counts["unscored"]) == (2, 0)
    assert [run for *_, run in again.runs] == [run for *_, run in first.runs]


def test_an_evaluation_continues_only_as_what_it_was(studio: Studio) -> None:
    with pytest.raises(UsageError, match="scored by a judge"):  # which it names
        studio.evaluate(_judged(1), members=["plain,model=builtin"])
    with Endpoint(respond) as endpoint:
        first = studio.evaluate(sums(1), members=members(endpoint.url))
        with pytest.raises(UsageError, match="other suites"):
            studio.evaluate(sums(1, name="others"), resume=first.id)
        with pytest.raises(UsageError, match="other members"):
            studio.evaluate(resume=first.id, members=members(endpoint.url, "plain"))
        with pytest.raises(UsageError, match="other repetitions"):
            studio.evaluate(resume=first.id, repeat=9)
        with pytest.raises(UsageError, match="other tasks"):
            studio.evaluate(sums(2), limit=2, resume=first.id)
        assert studio.evaluate(sums(9), data={}, repeat=1, resume=first.id).state == "finished"


def test_a_member_without_an_endpoint_is_reported(studio: Studio) -> None:
    with Endpoint(respond) as endpoint:
        both = [*members(endpoint.url, "plain"), "plain,model=other,label=B"]
        result = studio.evaluate(sums(2), members=both)
    assert "OPENAI_BASE_URL" in result.problems["B"]
    assert (result.state, result.counts["waiting"]) == ("interrupted", 2)


def test_models_are_tested_before_the_first_run_and_one_that_fails_stops_its_members(
    studio: Studio,
) -> None:
    progress = list[Progress]()
    with Endpoint(respond) as good, Endpoint(key="right-key-12345") as refusing:
        both = [*members(good.url), f"plain,model=m,label=B,base-url={refusing.url}"]
        result = studio.evaluate(sums(2), members=both, on_progress=progress.append)
        again = studio.evaluate(sums(1), members=members(good.url))
        assert len(good.tests) == 2  # the two turns of one test
    statuses = [each.status for each in progress]
    assert "started" not in statuses[: statuses.index("testing") + 3]
    assert {each.member for each in progress if each.status == "testing"} == {0, 1, 2}
    assert "key is missing or wrong" in result.problems["B"]
    assert (result.counts["right"], result.counts["waiting"]) == (3, 2)
    for described in (result.description, again.description):
        passport = described["members"][1]["passport"]
        tools = next(each for each in passport["facts"] if each["name"] == "tools")
        assert (tools["text"], tools["source"]) == ("yes", "it called the test tool")
    assert b'"it called the test tool"' in result.export("json")


def _judged(count: int) -> Suite:
    return sums(count, scorer="judge", judge_prompt="{task} {expected} {answer}: RIGHT?")
