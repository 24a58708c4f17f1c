"""What is published of an experiment: rows of runs, columns, ties, pass@k, provenance, figures."""

import hashlib
import io
import json
import re
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pypdfium2
import pytest
from pyarrow import parquet

from agent.errors import UsageError
from agent.events import SandboxReady, encode
from agent.experiments.description import describe
from agent.experiments.experiment import Judge
from agent.experiments.folder import ExperimentFolder
from agent.experiments.publish.columns import TABLES, codebook
from agent.experiments.publish.exports import export
from agent.experiments.publish.publication import published
from agent.grading.checks import Grade
from agent.runs.summary import Summary
from tests.agent.experiments.publish.test_exports import publish
from tests.agent.experiments.publish.test_results import fill
from tests.agent.experiments.test_description import compare, write_run
from tests.support.component.events import started
from tests.support.evaluations.stored import MEMBERS, add, create
from tests.support.evaluations.suites import of_domain, sums


def publish_all(folder: ExperimentFolder, summaries: dict[str, Summary | None]) -> dict[str, Any]:
    return published(folder, summaries, describe(folder, summaries))


def test_each_field_of_a_row_and_of_a_result_is_defined(tmp_path: Path) -> None:
    folder = create(tmp_path, [sums(2)])
    whole = publish_all(folder, fill(folder, "01", "11"))
    result = of_domain(whole)[0]
    known = set(whole["columns"]["domains"])
    assert set(result) - known == {"capabilities", "pass"}
    assert known - set(result) == {"domain", "tasks", "label", "mode"} | {
        f"{method}_{name}" for method in result["capabilities"]
        for name in ("external", "files", "computation")
    }  # fmt: skip
    assert all(text.endswith(".") for _, _, _, text in codebook())


def test_a_run_has_a_row_with_all_that_is_known_of_it(tmp_path: Path) -> None:
    folder = create(tmp_path, [sums(1, scorer="judge")], judge=Judge(model="j", votes=2))
    run, made = add(folder, (0, 1, 1), scored=False)
    votes = Grade(score=0.5, votes=(1.0, 0.0), grader="judge/2", judge="j", extracted="42")
    folder.add_score(run, votes, "42")
    whole = publish_all(folder, {run: made})
    (row,) = whole["runs"]
    assert (row["task_id"], row["domain"], row["label"]) == ("1", "mathematics", "sandbox")
    assert (row["outcome"], row["score"], row["votes"], row["judge"]) == (
        "partial", 0.5, (1.0, 0.0), "j"
    )  # fmt: skip
    assert (row["expected"], row["extracted"], row["answer"]) == ("2", "42", "42")
    assert (row["tokens_once"], row["turns"], row["cached_tokens"]) == (180, 4, None)
    assert (row["model_seconds"], row["sandbox_seconds"], row["total_seconds"]) == (8.0, 2.0, 20.0)
    assert (row["files"], row["paper_computation"]) == (0.5, 0.25)
    table = parquet.read_table(io.BytesIO(export(whole, "runs.parquet")))
    assert table.to_pylist() == [row | {"votes": [1.0, 0.0], "marks": [], "answers": []}]
    meaning = table.schema.field("score").metadata[b"definition"].decode()
    assert meaning == TABLES["runs"][16].definition
    assert json.loads(export(whole, "runs.jsonl")) == json.loads(json.dumps(row))


def test_the_best_score_is_marked_only_where_an_interval_says_so(tmp_path: Path) -> None:
    folder = create(tmp_path, [sums(12)])
    clear = publish_all(folder, fill(folder, "0" * 10 + "11", "1" * 12))
    plain, sandbox = of_domain(clear)
    assert (plain["best"], sandbox["best"], plain["tied"], sandbox["tied"]) == (
        False, True, False, False
    )  # fmt: skip
    assert "**100.0**" in export(clear, "md").decode()
    other = create(tmp_path / "other", [sums(12)])
    close = publish_all(other, fill(other, "1" * 10 + "00", "1" * 11 + "0"))
    plain, sandbox = of_domain(close)
    assert (plain["best"], sandbox["best"], plain["tied"], sandbox["tied"]) == (
        False, False, True, True
    )  # fmt: skip
    assert "| 83.3 = |" in export(close, "md").decode()
    assert "**" not in export(close, "md").decode().split("Bold:")[0].replace("| **M", "")


def test_pass_at_k_for_the_chosen_k(tmp_path: Path) -> None:
    folder = create(tmp_path, [sums(2)], repetitions=4, members=MEMBERS[:1])
    summaries = dict(
        add(folder, (task, 0, repetition), float(repetition <= 2 * task))
        for task in range(2)
        for repetition in range(1, 5)
    )  # no run of the first task is right, two of four of the second
    (row,) = of_domain(published(folder, summaries, describe(folder, summaries), 2))
    # of the 6 pairs of the second task's runs 5 have a right one, and 1 has two
    assert (row["k"], row["passAt"], row["passHat"]) == (2, pytest.approx(5 / 12), 1 / 12)
    (row,) = of_domain(describe(folder, summaries))
    assert (row["k"], row["passAt"], row["passHat"], row["passTasks"]) == (4, 0.5, 0.0, 2)
    assert [each["k"] for each in row["pass"]] == [2, 3, 4]
    with pytest.raises(UsageError, match="2 to 64"):
        published(folder, summaries, describe(folder, summaries), 1)


def test_a_judge_s_majority_is_right(tmp_path: Path) -> None:
    folder = create(tmp_path, [sums(1)], repetitions=2, members=MEMBERS[:1])
    summaries = dict(add(folder, (0, 0, repetition), scored=False) for repetition in (1, 2))
    for run, score in zip(summaries, (0.75, 0.5), strict=True):
        folder.add_score(run, Grade(score=score, grader="judge/2"), "42")
    (row,) = of_domain(describe(folder, summaries))
    assert (row["passAt"], row["passHat"]) == (1.0, 0.0)


def test_the_mean_over_domains_weighs_them_equally(tmp_path: Path) -> None:
    folder = create(tmp_path, [sums(8), sums(2, name="letters", domain="chemistry")])
    whole = publish_all(folder, fill(folder, "1111" + "0000" + "00", "1" * 8 + "10"))
    (pooled, _), (plain, sandbox) = of_domain(whole), of_domain(whole, "mean")
    assert (pooled["score"], plain["score"], sandbox["score"]) == (0.4, 0.25, 0.75)
    assert (sandbox["gain"], sandbox["n"], sandbox["pairs"]) == (0.5, 2, 2)
    assert (sandbox["method"], sandbox["gainMethod"]) == ("MOVER", "MOVER")
    assert sandbox["gainLow"] < 0.5 < sandbox["gainHigh"]
    # 4 differences of 1/8 and one of 1/2, each over 2 domains: all 5 signs must agree
    assert sandbox["gainP"] == 2 / 32
    assert whole["domains"] == ["mathematics", "chemistry"]


def test_the_provenance_is_what_the_runs_were_carried_out_with(tmp_path: Path) -> None:
    run = write_run(tmp_path, "sandbox", "12")
    journal = tmp_path / "runs" / run / "journal.jsonl"
    _, *rest = journal.read_bytes().splitlines(keepends=True)
    about: dict[str, Any] = {"run": run, "mode": "sandbox", "model": "m", "system": "Be brief."}
    spec = {"temperature": 0.7, "seed": 3, "base_url": "http://secret/"}
    start = (
        encode(started("How many?", spec=spec, limits={"steps": 100.0}, at=10.0, **about)) + b"\n"
    )
    ready = SandboxReady(sandbox="s", seconds=1.0, pooled=False, image="sha256:ab", at=11.0)
    journal.write_bytes(b"".join([start, encode(ready) + b"\n", *rest]))
    found = publish(compare(tmp_path, [], [run]))["provenance"]
    member = found["members"][1]
    assert member["images"] == {"sha256:ab": 1}
    assert member["ranWith"] == [
        {"temperature": 0.7, "seed": 3, "limits": {"steps": 100.0}, "runs": 1}
    ]
    digest = hashlib.sha256(b"Be brief.").hexdigest()
    assert [text.rpartition("sha256:")[2] for text in member["systemPrompts"]] == [digest]
    assert "secret" not in json.dumps(found)
    assert found["program"]["name"] == "LLM-in-Sandbox Studio"


def test_failed_and_repeated_runs_are_listed(tmp_path: Path) -> None:
    folder = create(tmp_path, [sums(2)])
    summaries = fill(folder, "1e", "11")
    folder.add_run(0, 0, 1, "again")
    found = publish_all(folder, summaries | {"again": summaries["run-0-0-1"]})["provenance"]
    assert (found["failed"]["count"], found["repeated"]["count"]) == (1, 1)
    assert found["failed"]["runs"][0]["reason"] == "The engine is gone."
    assert found["repeated"]["runs"][0]["attempt"] == 2
    assert found["suites"][0]["sha256"] == folder.definition.suites[0].sha256


def test_the_figure_as_pdf_has_its_texts_and_embeds_its_font(tmp_path: Path) -> None:
    folder = create(tmp_path, [sums(6)])
    content = export(publish_all(folder, fill(folder, "110000", "111110")), "pdf")
    page = pypdfium2.PdfDocument(content)[0]
    text = page.get_textpage().get_text_range()
    assert "Mathematics (6 tasks)" in text
    assert "+50.0" in text
    assert b"/FontFile2" in content


def test_a_model_has_one_colour_in_the_figure_light_without_a_sandbox(tmp_path: Path) -> None:
    folder = create(tmp_path, [sums(2)])
    summaries = fill(folder, "01", "11")
    answered = {"run-0-0-1": "Built-in model without its adapter", "run-0-1-1": "Built-in model"}
    known = {
        run: summary and replace(summary, model=answered.get(run, summary.model))
        for run, summary in summaries.items()
    }
    figure = export(publish_all(folder, known), "svg").decode()
    assert {"#1f6f5c", "#9abeb6"} <= set(re.findall(r'fill="(#[0-9a-f]{6})"', figure))
    assert "#b3541e" not in figure  # a second model's


def test_the_archive_has_all_formats_and_is_always_the_same(tmp_path: Path) -> None:
    folder = create(tmp_path, [sums(2)])
    whole = publish_all(folder, fill(folder, "01", "11"))
    content = export(whole, "zip")
    assert content == export(whole, "zip")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert {"evaluation.json", "evaluation.runs.csv", "evaluation.columns.csv"} <= set(
            archive.namelist()
        )  # fmt: skip


def as_documentation() -> str:
    """Return the definitions as they are in docs/publishing.md."""
    titles = {
        "runs": "A run", "domains": "A member’s result in a domain",
        "tasks": "A member’s result of a task",
        "answers": "A model’s answer to a question about a run",
    }  # fmt: skip
    parts = list[str]()
    for table, columns in TABLES.items():
        rows = [f"| `{each.key}` | {each.title} | {each.definition} |" for each in columns]
        head = ["| column | name | definition |", "|---|---|---|"]
        parts.append("\n".join([f"### {titles[table]} (`{table}`)", "", *head, *rows]) + "\n")
    return "\n".join(parts)


def test_the_documentation_has_the_definitions() -> None:
    text = (Path(__file__).parents[4] / "docs" / "publishing.md").read_text()
    assert text.endswith(as_documentation())
