"""Many runs of an evaluation: filtered, grouped, labelled and asked about, on server and page."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from agent.experiments.description import cell_to_json
from agent.experiments.folder import ExperimentFolder, RunEntry, ScoreEntry
from agent.experiments.outcomes import Summaries, cell_of
from agent.experiments.reading.filters import parse, selected
from agent.experiments.reading.labels import label_of
from agent.experiments.scan.records import Answer, Question
from tests.bench.context import BenchContext, print_progress
from tests.bench.page.browser import launch_browser
from tests.bench.tables import Table, measure, sample_table
from tests.support.component.server import run_fixture_server
from tests.support.component.stage import Stage, Stages
from tests.support.evaluations.shown import REFUSED, ShownEvaluation
from tests.support.evaluations.stored import create, summary
from tests.support.evaluations.suites import sums

_CHOOSE = """async ([name, value]) => {
  const select = document.querySelector(`select[aria-label="${name}"]`);
  const began = performance.now();
  select.value = value;
  select.dispatchEvent(new Event('change'));
  await new Promise(requestAnimationFrame);
  await new Promise((done) => setTimeout(done));
  return (performance.now() - began) / 1000;
}"""
_RECEIVE = """async (data) => {
  const began = performance.now();
  window.sources.at(-1).dispatchEvent(new MessageEvent('cells', { data }));
  await new Promise(requestAnimationFrame);
  await new Promise((done) => setTimeout(done));
  return (performance.now() - began) / 1000;
}"""
_SOURCES = """window.sources = [];
window.EventSource = class extends EventSource {
  constructor(address) { super(address); window.sources.push(this); }
};"""


def table(context: BenchContext, *, tasks: int = 5_000, times: int = 20) -> Table:
    result = sample_table(
        f"Reading {2 * tasks:,} runs", "what",
        f"An evaluation of {tasks:,} tasks in two modes with labels and a question’s answers. On "
        "the page from the choice, or the message, to the end of the next frame. Bar: 100 ms.",
    )  # fmt: skip
    print_progress(f"writing {2 * tasks:,} runs")
    folder, summaries = _write(context.folder / "reading", tasks)
    with _shown(context, folder, summaries) as evaluation:
        _on_the_server(result, evaluation, times)
        _on_the_page(result, evaluation, times)
    return result


def _on_the_server(result: Table, evaluation: ShownEvaluation, times: int) -> None:
    folder, summaries, described = evaluation.folder, evaluation.summaries, evaluation.described()
    chosen = parse("outcome=wrong&difference=worse&tokens=100..&scan:q=yes&labels=good")
    result.add_sample("server: runs of a filter with five fields",
                      measure(lambda: selected(described, chosen), times))  # fmt: skip

    def cell() -> Any:
        return cell_to_json(cell_of(folder, 0, 0, summaries, running=False))

    def label() -> None:
        folder.labels.add(label_of("run-0-0-1", "Ada", "good", "A note.", 1.0))
        cell()

    def answer() -> None:
        folder.scans.add(Answer(question="q", run="run-0-0-1", answer="yes", step=1))
        cell()

    result.add_sample("server: a label and a note stored, its cell computed", measure(label, times))
    result.add_sample("server: an answer stored, its cell computed", measure(answer, times))


def _on_the_page(result: Table, evaluation: ShownEvaluation, times: int) -> None:
    page = evaluation.stage.page
    page.wait_for_selector(".cells tbody tr th")
    cells = evaluation.described()["cells"]
    message = json.dumps({"cursor": "c-1", "counts": evaluation.described()["counts"],
                          "remaining": None, "cells": [[0, 0, cells[0][0]]]})  # fmt: skip

    def choose(name: str, *values: str) -> list[float]:
        found = [page.evaluate(_CHOOSE, [name, values[at % len(values)]])
                 for at in range(times + len(values))]  # fmt: skip
        return found[len(values) :]

    result.add_sample("page: filter by difference", choose("Difference", "better", "worse", ""))
    page.evaluate(_CHOOSE, ["Difference", ""])
    result.add_sample("page: group by failure reason, by tokens, by answer",
                      choose("Group by", "failure", "tokens", "scan:q"))  # fmt: skip
    page.evaluate(_CHOOSE, ["Label", "good"])
    received: list[float] = [page.evaluate(_RECEIVE, message) for _ in range(times + 1)]
    result.add_sample("page: a label or an answer arrives, with a filter and groups", received[1:])


@contextmanager
def _shown(
    context: BenchContext, folder: ExperimentFolder, summaries: Summaries
) -> Iterator[ShownEvaluation]:
    with launch_browser(context) as chromium, run_fixture_server() as server:
        stages = Stages(chromium, server)
        with stages.open(context.folder / "stage") as stage:
            stage.script = _SOURCES
            stage.expected_errors.append("favicon")
            evaluation = ShownEvaluation(stage, folder, summaries)
            evaluation.open()
            yield evaluation
            _leave(stage)
        stages.close()


def _leave(stage: Stage) -> None:
    """End the page's stream before its server."""
    leave: Callable[..., Any] = stage.evaluate
    leave("core/view.js", "({ leave }) => leave()")


def _write(data: Path, tasks: int) -> tuple[ExperimentFolder, Summaries]:
    """Write an evaluation as it is kept, without waiting for the disk after each run."""
    folder = create(data, [sums(tasks)])
    runs, scores, labels, answers = list[Any](), list[Any](), list[Any](), list[Any]()
    summaries = {}
    for task in range(tasks):
        for member in range(2):
            run = f"run-{task}-{member}-1"
            is_failed = (task + member) % 20 == 0
            failed = {"state": "failed", "reason": REFUSED} if is_failed else {}
            summaries[run] = summary(folder.definition.members[member].mode, **failed)
            runs.append(RunEntry(task=task, member=member, repetition=1, run=run))
            value = float((task * 7 + member * 3) % 5 < 2)
            scores.append(ScoreEntry(run=run, value=value, grader="math/3"))
            labels += [label_of(run, rater, "good" if (task + at) % 3 else "bad", "", 1.0)
                       for at, rater in enumerate(("Ada", "Bob"))]  # fmt: skip
            said = "yes" if task % 4 else "no"
            answers.append(Answer(question="q", run=run, answer=said, step=1, quote="x" * 80))
    for name, entries in (("runs", runs), ("scores", scores), ("labels", labels),
                          ("answers", answers)):  # fmt: skip
        lines = (json.dumps(asdict(each)) + "\n" for each in entries)
        (folder.path / f"{name}.jsonl").write_text("".join(lines))
    opened = ExperimentFolder.open(data, folder.id)
    opened.scans.ask(Question(id="q", text="Does it guess?", kind="yes_no", runs=tuple(summaries)))
    return opened, summaries
