"""Labels and notes on the page: given beside the runs, of two raters, filtered; their agreement."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from agent.experiments.reading.labels import label_of
from tests.support.component.accessibility import check_accessible
from tests.support.component.events import ended, started, step
from tests.support.component.stage import Look, Stage, looks
from tests.support.evaluations.shown import ShownEvaluation, six_tasks

pytestmark = pytest.mark.component


@pytest.fixture
def evaluation(stage: Stage, tmp_path: Path) -> ShownEvaluation:
    shown = ShownEvaluation(stage, *six_tasks(tmp_path / "evaluations"))
    for run in shown.summaries:
        stage.add_run([started("What is 1 + 1?"), *step(1, text="It is 2."), ended()], run)
    return shown


def say(evaluation: ShownEvaluation, run: str, rater: str, label: str, note: str = "") -> None:
    evaluation.folder.labels.add(label_of(run, rater, label, note, 1.0))


def answer_labels(evaluation: ShownEvaluation, rater: str = "") -> None:
    """Answer what is said of each run as it is now."""
    for run in evaluation.summaries:
        said: list[dict[str, Any]] = [
            {"rater": each.rater, "label": each.label, "note": each.note}
            for each in evaluation.folder.labels.of(run)
        ]
        value = {"labels": {run: said}, "rater": rater}
        evaluation.stage.answer(f"{evaluation.path}/labels?runs={run}", value)
    evaluation.refresh()


def open_first_task(evaluation: ShownEvaluation) -> None:
    evaluation.open("&filter=difference%3Dbetter")
    evaluation.stage.page.get_by_role("button", name="What is 1 + 1?").click()


def test_a_label_and_a_note_are_saved_under_the_typed_name(
    evaluation: ShownEvaluation, stage: Stage
) -> None:
    say(evaluation, "run-0-1-1", "Bob", "computed", "As it should.")
    answer_labels(evaluation)
    path = f"{evaluation.path}/labels/run-0-1-1"
    stage.answer(path, None, "PUT")
    open_first_task(evaluation)
    group = stage.page.get_by_role("group", name="Label and note").last
    expect(group).to_contain_text("The other rater’s label is shown after yours.")
    stage.fail(path, 400, "Enter the rater’s name.", "PUT")
    stage.expected_errors.append("400")
    group.get_by_label("Label").fill("guessed")
    group.get_by_label("Label").press("Tab")
    expect(group.get_by_role("status")).to_have_text("Enter the rater’s name.")
    stage.answer(path, None, "PUT")
    say(evaluation, "run-0-1-1", "Ada", "guessed")
    answer_labels(evaluation)
    group.get_by_label("Rater").fill("Ada")
    group.get_by_label("Rater").press("Tab")
    expect(group.get_by_role("status")).to_have_text("Saved")
    assert stage.asked(path, "PUT")[-1].json == {"label": "guessed", "note": "", "rater": "Ada"}
    expect(group).to_contain_text("Bob: computed As it should.")
    group.get_by_label("Note").fill("In step 1.")
    group.get_by_label("Note").press("Tab")
    stage.wait_until(lambda: stage.asked(path, "PUT")[-1].json["note"] == "In step 1.")
    evaluation.send_cells()
    stage.page.get_by_label("Labels of both raters").select_option("disagree")
    expect(stage.page.locator(".filter-status")).to_have_text("1 run of 1 of 6 tasks")


def test_a_signed_in_user_types_no_name_and_a_guest_reads(
    evaluation: ShownEvaluation, stage: Stage
) -> None:
    say(evaluation, "run-0-1-1", "Bob", "computed", "As it should.")
    answer_labels(evaluation, rater="ada")
    open_first_task(evaluation)
    group = stage.page.get_by_role("group", name="Label and note").last
    expect(group.get_by_label("Note")).to_be_visible()
    expect(group.get_by_label("Rater")).to_be_hidden()
    stage.look = replace(stage.look, role="guest")
    stage.run.is_own = False
    evaluation.refresh()
    evaluation.open()
    stage.page.get_by_role("button", name="What is 1 + 1?").first.click()
    expect(stage.page.get_by_role("group", name="Label and note")).to_have_text(
        ["Bob: computed As it should."]
    )
    expect(stage.page.locator(".label-form:visible")).to_have_count(0)


def test_the_agreement_of_two_raters_has_its_table(
    evaluation: ShownEvaluation, stage: Stage
) -> None:
    for task, (one, other) in enumerate([("good", "good"), ("good", "bad"), ("bad", "bad")]):
        say(evaluation, f"run-{task}-0-1", "Ada", one)
        say(evaluation, f"run-{task}-0-1", "Bob", other)
    answer_labels(evaluation)
    evaluation.open()
    region = stage.page.get_by_role("region", name="Agreement of the raters")
    expect(region).to_contain_text("Cohen’s kappa 0.40: 2 of 3 runs labelled alike, 66.7 %")
    expect(region.locator("tbody tr")).to_have_text(["bad10", "good11"])
    stage.page.get_by_role("button", name="What is 1 + 1?").first.click()
    expect(stage.page.get_by_role("group", name="Label and note").first).to_be_visible()
    check_accessible(stage, ".agreement", looks(roles=["owner"]))
    check_accessible(stage, ".task-place", [Look()])
