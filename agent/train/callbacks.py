"""Trainer callback that logs each step; search for checkpoints."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from transformers import PrinterCallback, TrainerCallback
from transformers.trainer import TRAINER_STATE_NAME

from agent.train.log import Log, Progress

_NAMES = {
    "loss": "loss",
    "grad_norm": "gradient",
    "learning_rate": "learning_rate",
    "entropy": "entropy",
    "reward": "reward",
    "reward_std": "deviation",
    "frac_reward_zero_std": "idle",
    "completions/mean_length": "tokens",
    "clip_ratio/region_mean": "clipped",
    "step_time": "update_seconds",
}


class Follower(TrainerCallback):  # type: ignore[misc]
    """Logs each step of a stage.

    Args:
        stage: Name of the stage.
        log: The training's log.
        progress: Progress display.
        told: Names of the figures to display.
        more: Returns further figures of the step.
        after: Called with the number of each completed step.
    """

    def __init__(
        self,
        stage: str,
        log: Log,
        progress: Progress,
        told: Sequence[str],
        more: Callable[[], dict[str, float]] = dict,
        after: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._stage = stage
        self._log = log
        self._progress = progress
        self._told = told
        self._more = more
        self._after = after

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Log the figures of a step; skip the summary at the end of the training."""
        del args, control
        if not logs or "train_runtime" in logs:
            return
        found = {name: logs[key] for key, name in _NAMES.items() if logs.get(key) is not None}
        values = {name: round(float(each), 6) for name, each in found.items()} | self._more()
        self._log.write("step", stage=self._stage, step=state.global_step, **values)
        shown = [f"{name} {values[name]:.3g}" for name in self._told if name in values]
        self._progress.tell(state.global_step, ", ".join(shown))

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Call the listener."""
        del args, control
        self._after(state.global_step)


def follow(trainer: Any, follower: Follower) -> None:
    """Make ``follower`` a trainer's only reporter; the trainer prints nothing."""
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(follower)


def last_checkpoint(folder: Path) -> tuple[Path, int] | None:
    """Return a stage's last complete checkpoint and its step; None if there is none."""
    # The trainer state is written last: a checkpoint without it is incomplete.
    whole = [path.parent for path in folder.glob(f"checkpoint-*/{TRAINER_STATE_NAME}")]
    steps = [(int(path.name.rpartition("-")[2]), path) for path in whole]
    return next(((path, step) for step, path in sorted(steps, reverse=True)), None)
