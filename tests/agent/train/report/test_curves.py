"""A training's log as a chart and a table."""

from pathlib import Path

import pytest

from agent.train.log import TrainingLog
from agent.util.text import format_duration

pytestmark = pytest.mark.usefixtures("training_packages")


def write_log(folder: Path) -> TrainingLog:
    log = TrainingLog(folder / "log.jsonl")
    for stage, step, mean in (
        ("untrained", 0, 0.0),
        ("supervised", 9, 0.25),
        ("reinforced", 7, 0.5),
    ):
        log.write("evaluation", stage=stage, step=step, split="names", tasks=8, answered=8,
                   mean=mean, low=mean / 2, high=0.75)  # fmt: skip
    for step in range(1, 8):
        log.write("step", stage="reinforced", step=step, reward=step / 10)
    # The training was resumed at the sixth step, with another reward.
    log.write("step", stage="reinforced", step=7, reward=0.9)
    return log


def test_the_table_has_a_row_per_evaluation_and_the_rewards(tmp_path: Path) -> None:
    from agent.train.report.curves import table

    assert table(write_log(tmp_path)).splitlines() == [
        "| after | held-out names |",
        "| --- | --- |",
        "| untrained | 0.00 (0.00-0.75) |",
        "| supervised, step 9 | 0.25 (0.12-0.75) |",
        "| reinforced, step 7 | 0.50 (0.25-0.75) |",
        "",
        "| steps | 1-5 | 6-7 |",
        "| --- | --- | --- |",
        "| reward | 0.30 | 0.75 |",
    ]


def test_tasks_without_a_score_are_counted_apart(tmp_path: Path) -> None:
    from agent.train.report.comparison import parse_groups
    from agent.train.report.comparison import table as comparison_table
    from agent.train.report.curves import draw, table

    (tmp_path / "recipe.json").write_text('{"stages": ["supervised"]}')
    log = TrainingLog(tmp_path / "log.jsonl")
    log.write("evaluation", stage="untrained", step=0, split="aa_lcr", tasks=0, answered=0,
              mean=None, infrastructure=0, unscored=8)  # fmt: skip
    log.write("evaluation", stage="supervised", step=9, split="aa_lcr", tasks=5, answered=5,
              mean=0.4, low=0.2, high=0.6, infrastructure=2, unscored=1)  # fmt: skip
    assert table(log).splitlines() == [
        "| after | AA-LCR |",
        "| --- | --- |",
        "| untrained | not known, 8 unscored |",
        "| supervised, step 9 | 0.40 (0.20-0.60), 2 infrastructure, 1 unscored |",
    ]
    assert comparison_table(parse_groups([f"a={tmp_path}"])).splitlines() == [
        "|  | AA-LCR |",
        "| --- | --- |",
        "| a | 0.40 (0.12-0.77), 2 infrastructure, 1 unscored |",
    ]
    log.write("step", stage="reinforced", step=1, reward=0.5)
    assert draw(log, tmp_path / "curve.png")


def test_the_curve_is_drawn(tmp_path: Path) -> None:
    from PIL import Image

    from agent.train.report.curves import draw

    assert draw(write_log(tmp_path), tmp_path / "curve.png")
    with Image.open(tmp_path / "curve.png") as picture:
        assert picture.size == (900, 480)
        assert len(picture.convert("RGB").getcolors(10**6) or ()) > 20


def test_without_a_reward_there_is_no_curve(tmp_path: Path) -> None:
    from agent.train.report.curves import draw

    assert not draw(TrainingLog(tmp_path / "none.jsonl"), tmp_path / "curve.png")
    assert not (tmp_path / "curve.png").exists()


def test_a_truncated_line_is_skipped(tmp_path: Path) -> None:
    log = write_log(tmp_path)
    with log.path.open("a") as file:
        file.write('{"kind": "step", "st')
    assert len(list(log.lines("step"))) == 8
    log.write("step", stage="reinforced", step=8)
    assert len(list(log.lines("step"))) == 9


@pytest.mark.parametrize(("seconds", "text"), [(12.4, "12 s"), (120.0, "2 min"), (7200.0, "2.0 h")])
def test_durations_are_formatted_with_a_suitable_unit(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
