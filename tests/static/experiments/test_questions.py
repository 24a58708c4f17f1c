"""Questions to a model on the page: estimated, asked, stopped; answers lead to the cited step."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import expect

from agent.experiments.scan.description import answers_to_json
from agent.experiments.scan.records import Answer, Question
from tests.support.component.accessibility import check_accessible
from tests.support.component.events import bash, ended, started, step
from tests.support.component.stage import Stage, looks
from tests.support.evaluations.shown import ShownEvaluation, rows, six_tasks

pytestmark = pytest.mark.component

TEXT = "Does it install a package that it does not use?"


@pytest.fixture
def evaluation(stage: Stage, tmp_path: Path) -> ShownEvaluation:
    shown = ShownEvaluation(stage, *six_tasks(tmp_path / "evaluations"))
    for run in shown.summaries:
        turns = [*step(1, bash("seq 2", "1\n2")), *step(2, text="It is 2.")]
        stage.add_run([started("What is 1 + 1?"), *turns, ended()], run)
        stage.answer(f"{shown.path}/labels?runs={run}", {"labels": {run: []}, "rater": ""})
    return shown


COLOR = "(element) => getComputedStyle(element).color"


def ask(evaluation: ShownEvaluation, answered: int) -> Question:
    """Record a question about all runs, and answers about the first ones."""
    runs = tuple(evaluation.summaries)
    question = Question(id="q1", text=TEXT, kind="yes_no", model="reader", runs=runs, at=1.0)
    scans = evaluation.folder.scans
    scans.ask(question)
    for at, run in enumerate(runs[:answered]):
        answer = Answer(question="q1", run=run, answer="yes", step=2, quote="It is 2.",
                        reason="It says so.", citation="verified", prompt_tokens=900,
                        generated_tokens=100)  # fmt: skip
        if at == 2:
            answer = replace(answer, answer="no", citation="unverified")
        scans.add(answer if at != 3 else replace(answer, answer="", error="It has no object."))
        said = {"answers": {run: answers_to_json(scans.of(run))}}
        evaluation.stage.answer(f"{evaluation.path}/answers?runs={run}", said)
    evaluation.refresh()
    return question


def test_a_question_is_estimated_before_it_is_asked(
    evaluation: ShownEvaluation, stage: Stage
) -> None:
    stage.settings = {"base_url": "https://models.example/v1", "model": "reader"}
    estimated = {"runs": 6, "promptTokens": 12_000, "generatedTokens": 720, "cost": 0.05,
                 "basis": "From the length of 6 transcripts."}  # fmt: skip
    estimate = f"{evaluation.path}/questions/estimate"
    stage.expected_errors += ("400 (Bad Request)",)
    stage.fail(estimate, 400, "Choose another model.", "POST")
    stage.answer(f"{evaluation.path}/questions", {"id": "q1"}, "POST")
    stage.answer(f"{evaluation.path}?overview=1", evaluation.described())
    evaluation.open("&filter=outcome%3Dwrong", components=("header", "timeline"))
    stage.button("Ask a model about these runs…").click()
    dialog = stage.page.get_by_role("dialog", name="Ask a model about the runs")
    dialog.get_by_role("textbox", name="Question").fill(TEXT)
    dialog.get_by_label("Answer").select_option("category")
    dialog.get_by_role("textbox", name="Categories").fill("yes, twice\n\n no ")
    check_accessible(stage, ".ask-dialog", looks(roles=["owner"]))
    dialog.get_by_role("button", name="Estimate").click()
    status = dialog.get_by_role("status")
    expect(status).to_have_text("Choose another model.")
    refused = status.evaluate(COLOR)
    check_accessible(stage, ".ask-dialog", looks(roles=["owner"]))
    stage.answer(estimate, estimated, "POST")
    dialog.get_by_role("button", name="Estimate").click()
    expect(status).to_contain_text("About 12,000 prompt tokens")
    expect(status).to_contain_text("cost 0.05")
    assert status.evaluate(COLOR) != refused
    assert not stage.asked(f"{evaluation.path}/questions", "POST")
    dialog.get_by_role("button", name="Ask about 6 runs").click()
    expect(dialog).to_be_hidden()
    (sent,) = stage.asked(f"{evaluation.path}/questions", "POST")
    assert sent.json["filter"] == "outcome=wrong"
    assert (sent.json["text"], sent.json["categories"]) == (TEXT, ["yes, twice", "no"])


def test_answers_are_a_column_a_filter_and_lead_to_the_step(
    evaluation: ShownEvaluation, stage: Stage
) -> None:
    ask(evaluation, 5)
    evaluation.open("&group=scan:q1", components=("header", "timeline"))
    page = stage.page
    region = page.get_by_role("region", name="Questions about the runs")
    expect(region).to_contain_text("5 of 12 runs · 1 unverified · 5,000 tokens · reader")
    expect(page.get_by_role("region", name="Groups of runs").locator("tbody tr")).to_have_count(4)
    expect(page.locator(".cell-answer")).to_have_text(["yes", "yes", "no", "error", "yes"])
    check_accessible(stage, ".questions", looks(roles=["owner"]))
    region.get_by_role("button", name="no 1").click()
    expect(page.locator(".filter-status")).to_have_text("1 run of 1 of 6 tasks")
    assert rows(stage) == ["2"]
    path = f"{evaluation.path}/questions/q1/resume"
    stage.answer(path, None, "POST")
    stage.answer(f"{evaluation.path}?overview=1", evaluation.described())
    region.get_by_role("button", name=f"Go on asking: {TEXT}").click()
    stage.wait_until(lambda: bool(stage.asked(path, "POST")))
    page.get_by_role("button", name="What is 2 + 2?").click()
    answers = page.locator(".run-answers").first
    expect(answers).to_contain_text("no step 2 unverified It is 2. It says so.")
    answers.get_by_role("link", name="step 2").click()
    expect(stage.step(2)).to_be_visible()
    assert page.url.endswith("?run=run-1-0-1#step-2")


def test_a_question_in_progress_shows_where_it_is_and_can_be_stopped(
    evaluation: ShownEvaluation, stage: Stage
) -> None:
    ask(evaluation, 2)
    described = evaluation.described() | {"scanning": {"q1": {"running": True, "problem": ""}}}
    stage.answer(evaluation.path, described)
    evaluation.open()
    region = stage.page.get_by_role("region", name="Questions about the runs")
    expect(region.get_by_role("progressbar")).to_have_attribute("value", "2")
    stopped = {"q1": {"running": False, "problem": "The key is wrong."}}
    stage.answer(f"{evaluation.path}/questions/q1/stop", None, "POST")
    stage.answer(f"{evaluation.path}?overview=1", described | {"scanning": stopped})
    region.get_by_role("button", name=f"Stop asking: {TEXT}").click()
    expect(region.get_by_role("alert")).to_have_text("The key is wrong.")
    expect(region.get_by_role("progressbar")).to_be_hidden()


def test_what_the_stream_told_meanwhile_is_not_overwritten_by_an_older_answer(
    evaluation: ShownEvaluation, stage: Stage
) -> None:
    ask(evaluation, 2)
    running = evaluation.described() | {"scanning": {"q1": {"running": True, "problem": ""}}}
    stage.answer(evaluation.path, running)
    evaluation.open()
    region = stage.page.get_by_role("region", name="Questions about the runs")
    overview = f"{evaluation.path}?overview=1"
    stage.answer(f"{evaluation.path}/questions/q1/stop", None, "POST")
    stage.answer(overview, running)
    with stage.page.expect_response("**/*overview=1") as answered, stage.hold(overview):
        region.get_by_role("button", name=f"Stop asking: {TEXT}").click()
        stage.wait_until(lambda: any(each.query for each in stage.asked(evaluation.path)))
        over = running | {"scanning": {"q1": {"running": False, "problem": ""}}}
        evaluation.stream.send("evaluation", json.dumps(over).encode())
        expect(region.get_by_role("progressbar")).to_be_hidden()
    answered.value.finished()
    stage.page.evaluate("new Promise(requestAnimationFrame)")  # the page has taken it in
    expect(region.get_by_role("progressbar")).to_be_hidden()
