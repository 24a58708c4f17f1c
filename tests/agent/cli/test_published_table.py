"""From the published rows to a published table: killed, continued, merged, verified, drawn."""

import csv
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pypdfium2
import pytest

from agent.experiments import suites
from agent.experiments.folder import ExperimentFolder
from agent.experiments.suites.benchmark import SOURCE
from tests.support.cluster.nodes import ROOT
from tests.support.evaluations.benchmark import Competent, judge, write_parquet
from tests.support.evaluations.suites import of_domain
from tests.support.models.endpoint import Endpoint

pytestmark = pytest.mark.nightly

DOMAINS = ("Mathematics", "Physics", "Chemistry", "Biomedicine", "Long context",
           "Instruction following")  # fmt: skip
RUNS = 2 * (2 * 2 + 1 + 1 + 2 + 2 * 4 + 1)
"""Of a model in both modes: two of AIME twice, two of AA-LCR four times, the others once."""

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """A function that starts the command line as a process of its own, without an engine."""

    def begin(*words: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.support.evaluations.in_processes"]
        return subprocess.Popen(
            [*command, *map(str, words)], cwd=ROOT, text=True,
            env={**os.environ, "STUDIO_DATA": str(tmp_path / "data"), "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    return begin


def ended(process: subprocess.Popen[str], code: int = 0) -> str:
    """Return what a command printed; it must end with this code."""
    output, _ = process.communicate(timeout=300)
    assert process.returncode == code, output
    return output


def test_the_paper_s_table_of_two_models(start: Start, tmp_path: Path) -> None:
    bench = write_parquet(tmp_path / "bench")
    first, second, both = (tmp_path / name for name in ("first", "second", "both"))
    blind, able = Competent(bench, blind=True), Competent(bench)
    with Endpoint(blind) as one, Endpoint(able) as other, Endpoint(judge) as referee:

        def evaluation(url: str, model: str, output: Path) -> tuple[object, ...]:
            return (
                "eval", ",".join(suites.NAMES), "--preset", "paper", "--data", bench,
                "--repeat", "aime=2", "--member", f"model={model},base-url={url}",
                "--judge", f"model=Qwen3-235B-A22B-Instruct-2507,base-url={referee.url}",
                "--concurrency", 2, "--yes", "--output", output,
            )  # fmt: skip

        killed = start(*evaluation(one.url, "first-7b", first))
        assert one.wait_for_requests(RUNS // 2)
        killed.kill()
        killed.communicate()
        before = kept(tmp_path / "data")
        assert 0 < len(before) < RUNS
        asked = len(one.requests)
        assert "right" in ended(start("eval", "--resume", "--yes", "--output", first))
        assert len(one.requests) < asked + 2 * (RUNS - len(before))
        ended(start(*evaluation(other.url, "Qwen3-second", second)))
        sent = [{each.body["temperature"] for each in of.requests} for of in (one, other)]
        votes = referee.requests[-1].body
        ended(start("eval", "merge", first, second, "-o", both))
    assert sent == [{1.0}, {0.7}]
    assert (votes["temperature"], votes["max_tokens"]) == (0.7, 16_384)

    alone, merged = (json.loads((of / "evaluation.json").read_text()) for of in (first, both))
    assert {row["run"] for row in alone["runs"]} >= before
    check_merged(merged)
    for output in (first, second, both):
        found = ended(start("eval", "verify", output, "--data", bench))
        assert "All figures are those of the runs" in found
        assert "data of ifbench" in found
    check_latex((both / "evaluation.tex").read_text())
    assert merged["preset"]["departures"][-1] in (both / "evaluation.md").read_text()
    check_figure(both, merged)
    check_rows(both)


def kept(data: Path) -> set[str]:
    """Return the runs of the only evaluation whose answers have a score."""
    (record,) = data.glob("headless/*/evaluations/*/evaluation.json")
    folder = ExperimentFolder.open(record.parents[2], record.parent.name)
    return {run for run, score in folder.scores().items() if score.value is not None}


def check_merged(merged: dict[str, Any]) -> None:
    assert [member["label"] for member in merged["members"]] == [
        f"{model}, {mode} sandbox"
        for model in ("first-7b", "Qwen3-second") for mode in ("Without", "With")
    ]  # fmt: skip
    assert [(each["model"], each["mode"], each["baseline"]) for each in merged["members"]] == [
        ("first-7b", "plain", 0), ("first-7b", "sandbox", 0),
        ("Qwen3-second", "plain", 2), ("Qwen3-second", "sandbox", 2),
    ]  # fmt: skip
    assert merged["counts"]["done"] == merged["counts"]["total"] == 2 * RUNS
    long = of_domain(merged, "long context")
    assert [each["score"] for each in long] == [0.0, 1.0, 1.0, 1.0]
    assert [each["gain"] for each in long] == [None, 1.0, None, 0.0]
    assert merged["preset"]["departures"][:2] == [
        "AIME 2025: 2 tasks instead of 30",
        "AIME 2025: 2 repetitions instead of 16",
    ]
    assert not any("Judge" in each or "temp" in each for each in merged["preset"]["departures"])
    judged = [tuple(row["votes"]) for row in merged["runs"] if row["votes"]]
    assert len(judged) == 4 * (1 + 2 * 4)
    assert set(judged) == {(0.0,) * 4, (1.0,) * 4}
    provenance = merged["provenance"]
    assert "127.0.0.1" not in json.dumps(provenance)
    assert {each["source"] for each in provenance["suites"]} == {SOURCE}
    assert [len(each["systemPrompts"]) for each in provenance["members"]] == [6] * 4
    assert all(re.fullmatch("[0-9a-f]{64}", each["sha256"]) for each in provenance["suites"])


def check_latex(text: str) -> None:
    table = text.split("\\end{tabular}")[0]
    head, *body = (line for line in table.splitlines() if " & " in line)
    assert [re.sub(r" \(.*", "", each).strip() for each in head.split(" & ")[1:]] == [
        *DOMAINS, "Mean of 6 domains", "All tasks"
    ]  # fmt: skip
    assert [line.split(" & ")[0].startswith(r"$\Delta$ to ") for line in body] == [
        False, False, True, False, False, True,
    ]  # fmt: skip
    long = [re.sub(r"\\textbf\{(.*?)\}", r"\1", line.split(" & ")[5]) for line in body]
    assert long == ["0.0", "100.0 =", "+100.0", "100.0 =", "100.0 =", "+0.0"]
    for word in ("\\toprule", "\\midrule", "\\bottomrule", "\\begin{tabular}{lrrrrrrrr}"):
        assert word in table
    assert "% Preset paper:" in text
    assert "AIME 2025: 2 tasks instead of 30" in text


def check_figure(folder: Path, merged: dict[str, Any]) -> None:
    svg = ET.fromstring((folder / "evaluation.svg").read_text())
    pdf = pypdfium2.PdfDocument(folder / "evaluation.pdf")
    drawn = "".join(page.get_textpage().get_text_bounded() for page in pdf)
    for text in ("\n".join(svg.itertext()), drawn):
        for word in (*DOMAINS, *(member["label"] for member in merged["members"]), "+100.0"):
            assert word in text
    assert (folder / "evaluation.png").read_bytes().startswith(b"\x89PNG")


def check_rows(folder: Path) -> None:
    rows = list(csv.DictReader((folder / "evaluation.runs.csv").read_text().splitlines()))
    assert len(rows) == 2 * RUNS
    assert {row["outcome"] for row in rows if row["domain"] != "long context"} == {"right"}
    assert {row["grader"].split("/")[0] for row in rows} == {"math", "judge", "letter", "rules"}
    assert all("reference" in row["grader"] for row in rows if "judge" not in row["grader"])
