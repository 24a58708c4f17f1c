"""The pictures of the first screen: complete, small, and recorded for every example."""

import json

from PIL import Image

from agent.examples import examples
from tests.pictures.gallery import GALLERY, MAX_BYTES, MAX_STILL_BYTES, RUNS, SIZE, name_of

MAX_TOTAL_BYTES = 1_000_000


def test_every_demonstration_has_a_still_and_a_moving_picture() -> None:
    for example in examples():
        if not example.demonstration:
            continue
        still = GALLERY / f"{example.demonstration}-still.webp"
        assert still.stat().st_size <= MAX_STILL_BYTES, still.name
        with Image.open(still) as image:
            assert image.size == SIZE


def test_moving_pictures_are_small_and_move() -> None:
    recorded = json.loads(RUNS.read_text())
    moving = [name for name, record in recorded.items() if record.get("picture")]
    assert len(moving) >= 8
    for name in moving:
        assert (GALLERY / f"{name}.webp").stat().st_size <= MAX_BYTES, name
        with Image.open(GALLERY / f"{name}.webp") as image:
            assert getattr(image, "n_frames", 1) > 1
            assert image.size == SIZE
    assert sum(path.stat().st_size for path in GALLERY.iterdir()) < MAX_TOTAL_BYTES


def test_every_example_of_the_built_in_model_is_recorded_as_it_is_now() -> None:
    recorded = json.loads(RUNS.read_text())
    for example in examples():
        if example.builtin and example.expected:
            assert set(recorded[name_of(example)]) == {"plain", "sandbox"}
            assert recorded[name_of(example)]["sandbox"]["model"] == "Built-in model"
        elif example.builtin or example.demonstration:
            assert recorded[name_of(example)]["answer"] is not None


def test_recordings_show_what_the_comparison_is_about() -> None:
    recorded = json.loads(RUNS.read_text())
    right = {
        name: (record["plain"]["right"], record["sandbox"]["right"])
        for name, record in recorded.items()
        if "plain" in record
    }
    assert right == {
        "add-up-a-column": (False, True),
        "count-words": (False, True),
        "read-a-long-logbook": (False, True),
        "compute-a-date": (False, True),
        "look-into-a-letter": (True, True),
        "name-a-capital": (True, False),
    }
