"""The verdict of a step, from those of its calls and files."""

from itertools import permutations

from agent.events import Verdict
from agent.replay.files import worst

FROM_BEST_TO_WORST: tuple[Verdict, ...] = ("same", "volatile", "unverified", "differs")


def test_the_worst_verdict_counts_in_any_order() -> None:
    for count in range(1, 5):
        for verdicts in permutations(FROM_BEST_TO_WORST, count):
            expected = max(verdicts, key=FROM_BEST_TO_WORST.index)
            assert worst(verdicts) == expected


def test_a_step_without_calls_and_files_is_the_same() -> None:
    assert worst([]) == "same"
