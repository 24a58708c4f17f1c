"""Comparison of trainings: final evaluations over all seeds, and their reward curves."""

from pathlib import Path

import pytest

from agent.errors import TrainError
from agent.train.log import TrainingLog

pytestmark = pytest.mark.usefixtures("training_packages")


def write_training(folder: Path, rewards: list[float], names: float, tasks: int = 20) -> str:
    """Write a training's folder with a log; only the last evaluation is compared."""
    folder.mkdir()
    (folder / "recipe.json").write_text('{"stages": ["reinforced"]}')
    log = TrainingLog(folder / "log.jsonl")
    for step, reward in enumerate(rewards, start=1):
        log.write("step", stage="reinforced", step=step, reward=reward)
    for stage, mean in (("supervised", 0.1), ("reinforced", names)):
        log.write("evaluation", stage=stage, step=1, split="names", tasks=tasks, mean=mean)
    return str(folder)


def test_the_table_shows_the_seeds_with_a_confidence_interval(tmp_path: Path) -> None:
    from agent.train.report.comparison import parse_groups, table

    seeds = [
        write_training(tmp_path / str(n), [0.5], mean) for n, mean in enumerate((0.5, 0.75, 0.25))
    ]
    alone = write_training(tmp_path / "alone", [], 0.0)
    assert table(parse_groups([f"sandbox={','.join(seeds)}", f"plain={alone}"])).splitlines() == [
        "|  | held-out names |",
        "| --- | --- |",
        "| sandbox | 0.50 (0.30-0.70; 0.50 0.75 0.25) |",
        "| plain | 0.00 (0.00-0.16) |",
    ]


def test_curves_of_trainings_with_rewards_are_drawn(tmp_path: Path) -> None:
    from PIL import Image

    from agent.train.report.comparison import draw, parse_groups

    two = [write_training(tmp_path / str(n), [0.1 * n, 0.5, 0.9], 0.5) for n in range(2)]
    unrewarded = write_training(tmp_path / "supervised", [], 0.5)
    draw(parse_groups([f"supervised={unrewarded}", f"sandbox={','.join(two)}"]), tmp_path / "c.png")
    with Image.open(tmp_path / "c.png") as picture:
        colours = {colour for _, colour in picture.convert("RGB").getcolors(10**6) or ()}
    assert (0x1F, 0x77, 0xB4) in colours
    draw(parse_groups([f"sandbox={','.join(two)}"]), tmp_path / "c.svg")
    assert "<svg" in (tmp_path / "c.svg").read_text()
    with pytest.raises(TrainError, match="cannot be written"):
        draw(parse_groups([f"sandbox={','.join(two)}"]), tmp_path / "c.mp3")
    with pytest.raises(TrainError, match="has rewards to plot"):
        draw(parse_groups([f"supervised={unrewarded}"]), tmp_path / "none.png")


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["folder"], "must be NAME=FOLDER"),
        (["a={folder}"], "contains no training"),
        (["a={folder}/one", "a={folder}/one"], "the same name"),
        (["a={folder}/begun"], "has not ended"),
    ],
)
def test_an_invalid_group_is_reported(tmp_path: Path, groups: list[str], message: str) -> None:
    from agent.train.report.comparison import parse_groups

    write_training(tmp_path / "one", [0.5], 0.5)
    write_training(tmp_path / "begun", [0.5], 0.5)
    (tmp_path / "begun" / "recipe.json").write_text('{"stages": ["supervised", "later"]}')
    with pytest.raises(TrainError, match=message):
        parse_groups([each.format(folder=tmp_path) for each in groups])
