"""Reading many runs: an evaluation's tasks filtered and grouped, and the view in the URL."""

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from tests.support.component.accessibility import check_accessible
from tests.support.component.stage import Stage, looks
from tests.support.evaluations.shown import ShownEvaluation, rows, six_tasks, table

pytestmark = pytest.mark.component


@pytest.fixture
def evaluation(stage: Stage, tmp_path: Path) -> ShownEvaluation:
    return ShownEvaluation(stage, *six_tasks(tmp_path / "evaluations"))


def parameters(stage: Stage) -> dict[str, list[str]]:
    query = parse_qs(urlsplit(stage.page.url).query)
    return {name: values for name, values in query.items() if name != "evaluation"}


def test_tasks_are_filtered_by_their_runs_and_the_url_says_how(
    evaluation: ShownEvaluation, stage: Stage
) -> None:
    evaluation.open()
    page = stage.page
    status = page.locator(".filter-status")
    expect(status).to_have_text("6 tasks")
    page.get_by_label("Difference").select_option("better")
    expect(status).to_have_text("2 runs of 2 of 6 tasks")
    assert rows(stage) == ["1", "2"]
    expect(page.locator(".cells .apart")).to_have_count(2)
    page.get_by_label("Difference").select_option("")
    page.get_by_label("Failure reason").select_option("The endpoint answered …")
    expect(status).to_have_text("1 run of 1 of 6 tasks")
    stage.button("Clear").click()
    page.get_by_label("Tokens from").fill("160")
    page.get_by_label("Tokens from").press("Enter")
    expect(status).to_have_text("6 runs of 6 of 6 tasks")
    page.get_by_role("button", name="wrong 2").click()
    expect(status).to_have_text("2 runs of 2 of 6 tasks")
    assert parameters(stage) == {"filter": ["tokens=160..&outcome=wrong"]}
    exported = page.get_by_role("link", name="JSON Lines").get_attribute("href") or ""
    assert "export.runs.jsonl?filter=tokens%3D160..%26outcome%3Dwrong" in exported


def test_only_the_view_scrolls(evaluation: ShownEvaluation, stage: Stage) -> None:
    """A search of the browser for a word would else move the page out of its window."""
    evaluation.open()
    expect(stage.page.locator(".filter-status")).to_have_text("6 tasks")
    hidden = """() => {
        const beyond = [];
        for (let at = document.querySelector("section.view"); (at = at.parentElement); )
            beyond.push(at.scrollHeight - at.clientHeight);
        return Math.max(...beyond);
    }"""
    assert stage.page.evaluate(hidden) <= 0


def test_a_shared_address_shows_the_same_runs_and_groups(
    evaluation: ShownEvaluation, stage: Stage
) -> None:
    evaluation.open("&filter=member%3Dsandbox%26foreign%3D1&group=outcome")
    page = stage.page
    expect(page.locator(".filter-status")).to_have_text("6 runs of 6 of 6 tasks")
    expect(page.get_by_label("Member", exact=True)).to_have_value("sandbox")
    groups = [
        ["right", "3", "3", "100.0 %", "180", "4.0"],
        ["wrong", "2", "2", "0.0 %", "180", "22.0"],
        ["infrastructure error", "1", "1", "–", "180", "4.0"],
    ]
    assert list(table(stage, "Groups of runs")) == groups
    page.get_by_role("region", name="Groups of runs").get_by_role("button", name="wrong").click()
    expect(page.locator(".filter-status")).to_have_text("2 runs of 2 of 6 tasks")
    assert parameters(stage)["filter"] == ["member=sandbox&outcome=wrong"]
    page.get_by_label("Group by").select_option("uses")
    expect(page.get_by_role("region", name="Groups of runs")).to_contain_text("File management")
    assert parameters(stage)["group"] == ["uses"]


def test_filters_and_groups_fit_every_page(evaluation: ShownEvaluation, stage: Stage) -> None:
    evaluation.open("&filter=outcome%3Dwrong&group=failure")
    expect(stage.page.locator(".filter-status")).to_contain_text("of 6 tasks")
    check_accessible(stage, ".gradio-container", looks(roles=["owner"]))
