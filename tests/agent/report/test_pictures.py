"""The pictures that a model got, in reports, in Markdown and in the search."""

import base64
import re
from functools import partial
from pathlib import Path

from agent.history.export import conversation_markdown
from agent.history.search import find
from agent.models.base import Picture
from agent.report.groups import parts
from agent.report.report import Budget, report_parts
from agent.runs import journal
from agent.runs.folder import RunFolder
from agent.runs.outputs.pictures import PictureStore
from tests.agent.experiments.test_description import compare, described
from tests.agent.report.recorded import Recorder
from tests.agent.runs.outputs.sample_pictures import keep_picture
from tests.support.component.events import continued, ended, tool_ended


def seen_run(data: Path) -> tuple[RunFolder, Picture, Picture]:
    """A run whose model saw a chart in step 1, and a scan with a follow-up."""
    recorder = Recorder(data)
    outputs = recorder.folder.outputs
    chart = keep_picture(outputs, "output/tide-[1]!.png", "#2c7a4b")
    scan = keep_picture(outputs, "input/scan.pdf, page 37", "#fff", (600, 800))
    recorder.step("draw")
    recorder.write(
        tool_ended(1, "look", "The picture follows.", pictures=(chart,)),
        ended("answered", "Done."),
        continued("And this?", pictures=(scan, chart)),
        ended("answered", "The same."),
    )
    return recorder.folder, chart, scan


def blocks(run: RunFolder, budget: Budget) -> dict[str, bytes]:
    text = "".join(report_parts(run, budget))
    found = re.findall(r'id="picture-([^"]+)">([^<]*)<', text)
    return {name: base64.b64decode(data) for name, data in found}


def test_a_report_contains_each_picture_once_within_its_budget(tmp_path: Path) -> None:
    run, chart, scan = seen_run(tmp_path)
    store = PictureStore(run.outputs)
    both = {each.file: store.read(each) for each in (chart, scan)}
    assert blocks(run, Budget()) == both
    assert list(blocks(run, Budget(pictures=chart.size))) == [chart.file]
    assert blocks(run, Budget(pictures=0)) == {}


def test_a_comparisons_report_has_each_picture_of_its_runs_once(tmp_path: Path) -> None:
    (run, chart, scan), (same, *_) = seen_run(tmp_path), seen_run(tmp_path)
    shown = described(compare(tmp_path, [run.id], [same.id]))
    text = "".join(parts(shown, partial(RunFolder.open, tmp_path)))
    assert re.findall(r'id="picture-([^"]+)"', text) == [chart.file, scan.file]
    assert all(f'id="record-{each.id}"' in text for each in (run, same))


def test_a_report_does_without_a_picture_that_is_lost(tmp_path: Path) -> None:
    run, chart, scan = seen_run(tmp_path)
    (run.outputs / chart.file).unlink()
    assert list(blocks(run, Budget())) == [scan.file]


def test_markdown_shows_pictures_whatever_their_names_contain(tmp_path: Path) -> None:
    run, chart, _ = seen_run(tmp_path)
    text = "".join(conversation_markdown(event for _, event in journal.read(run.journal)))
    assert f"![output/tide-\\[1\\]\\!.png](outputs/{chart.file})" in text
    assert "*input/scan.pdf, page 37, 600 × 800 pixels, about 341 tokens*" in text


def test_the_search_finds_what_pictures_show(tmp_path: Path) -> None:
    run, *_ = seen_run(tmp_path)

    def places(words: str) -> list[tuple[str, int, int]]:
        events = (event for _, event in journal.read(run.journal))
        return [(each.part, each.round, each.step) for each in find(events, words)]

    assert places("tide-[1]") == [("step", 1, 1), ("asked", 2, 0)]
    assert places("page 37") == [("asked", 2, 0)]
