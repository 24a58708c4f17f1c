"""Training pipeline: stages, checkpoints, evaluations and results.

OUTPUT/recipe.json       the recipe
OUTPUT/log.jsonl         every step and evaluation
OUTPUT/runs/             every rollout as a run; STUDIO_DATA=OUTPUT/runs opens them on the page
OUTPUT/supervised/, reinforced/    checkpoints, and the stage's result in model/
OUTPUT/curve.png, table.md         plot and table of the results
"""

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from accelerate import PartialState
from transformers import set_seed
from transformers.utils import logging

from agent.api.studio import Studio
from agent.errors import TrainError
from agent.settings import load as settings
from agent.train import data, weights
from agent.train.learning import conversations, demonstrations, gguf_export, supervised
from agent.train.learning.grpo import Reinforcement
from agent.train.log import Log, say
from agent.train.recipe import Recipe, Stage
from agent.train.report import curves
from agent.train.report.evaluation import Examiner
from agent.train.rollouts.policy import Policy
from agent.train.rollouts.sandboxes import studio_of
from agent.train.rollouts.sequence import TokenSequence
from agent.train.rollouts.workers import Crew


class Training:
    """One training in its own folder.

    Args:
        recipe: The recipe.
        output: The folder.
        studio: Runs the rollouts.
    """

    def __init__(self, recipe: Recipe, output: Path, studio: Studio) -> None:
        self._recipe = recipe
        self._output = output
        self._speaks = PartialState().is_main_process
        self._log = Log(output / "log.jsonl", silent=not self._speaks)
        model, self._tokenizer = weights.load(recipe.model)
        context = recipe.rollouts.tokens + recipe.rollouts.turn_tokens
        self.policy = Policy(model, self._tokenizer, context, recipe.model.dtype)
        self._crew = Crew(recipe, self.policy, studio)
        self._examiner = Examiner(recipe, self._crew, self._log)
        self._problems = data.training(recipe)

    def run(self) -> None:
        """Perform the remaining stages."""
        if self._recipe.evaluation.untrained:
            self._measure("untrained", 0)
        for stage in self._recipe.stages:
            kept = self._output / stage / "model"
            if kept.is_dir():
                weights.restore(self.policy.model, kept)
            else:
                self._stages()[stage](self._output / stage)
                self._keep(kept)
            self._measure(stage, self._steps(stage))
            self._show()

    def _keep(self, folder: Path) -> None:
        """Save a stage's result; its folder is renamed last, which marks it complete."""
        if not self._speaks:
            return
        if gguf_export.exportable(self.policy.model):
            gguf_export.export(self.policy.model, folder.with_name("adapter.gguf"))
        draft = folder.with_name("model.draft")
        weights.save(self.policy.model, self._tokenizer, draft)
        draft.replace(folder)

    def _stages(self) -> dict[Stage, Callable[[Path], None]]:
        return {"supervised": self._supervise, "reinforced": self._reinforce}

    def _steps(self, stage: Stage) -> int:
        given = getattr(self._recipe, stage)
        return int(given.steps)

    def _supervise(self, folder: Path) -> None:
        shown = self._demonstrations()
        lengths = sum(len(each.ids) for each in shown) / len(shown)
        self._log.write("demonstrations", count=len(shown), tokens=round(lengths, 1))
        say(f"{len(shown)} demonstrations of {lengths:.0f} tokens")
        supervised.train(self._recipe, self.policy.model, shown, folder, self._log)

    def _demonstrations(self) -> list[TokenSequence]:
        if self._recipe.supervised and self._recipe.supervised.file:
            return conversations.read(self._recipe, self.policy)
        return demonstrations.kept(
            self._output / "supervised" / "demonstrations.json", self._carried_out
        )

    def _carried_out(self) -> list[TokenSequence]:
        say("Demonstrations are carried out …")
        return demonstrations.made(self._recipe, self._problems, self.policy, self._crew)

    def _reinforce(self, folder: Path) -> None:
        Reinforcement(self._recipe, self.policy, self._crew, self._problems, self._log).train(
            folder, self._after
        )

    def _after(self, step: int) -> None:
        """Evaluate at the recipe's interval; the last step is evaluated anyway."""
        every = self._recipe.evaluation.every
        if every and step % every == 0 and step < self._steps("reinforced"):
            self._measure("reinforced", step)
        self._show()

    def _measure(self, stage: str, step: int) -> None:
        if not self._examiner.measured(stage, step):
            self._examiner.measure(stage, step)

    def _show(self) -> None:
        if not self._speaks:
            return
        curves.draw(self._log, self._output / "curve.png")
        (self._output / "table.md").write_text(curves.table(self._log), encoding="utf-8")


def train(recipe: Recipe, output: Path, *, resume: bool, studio: Studio | None = None) -> None:
    """Run a training.

    Args:
        recipe: The recipe.
        output: The training's folder.
        resume: Whether to continue an existing training.
        studio: Runs the rollouts; by default one in the training's folder.

    Raises:
        TrainError: if the folder contains a training and ``resume`` is not set, if it contains
            another recipe's training, or if the training cannot continue.
    """
    state = PartialState()
    if state.is_main_process:
        _claim(recipe, output, resume=resume)
    state.wait_for_everyone()
    _hush()
    recipe = replace(recipe, model=weights.resolved(recipe.model))
    if state.is_main_process:
        say(f"It computes in {recipe.model.dtype}.")
    set_seed(recipe.seed)
    if recipe.threads:
        torch.set_num_threads(recipe.threads)
    with _studio(recipe, output, studio) as held:
        Training(recipe, output, held).run()


def _hush() -> None:
    """Silence library messages that are irrelevant to the user."""
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")
    warnings.filterwarnings("ignore", message="Could not find a config file in")


@contextmanager
def _studio(recipe: Recipe, output: Path, given: Studio | None) -> Iterator[Studio]:
    if given is not None:
        yield given
        return
    chosen = replace(settings(), pool=0, data=output / "runs")
    with studio_of(chosen, recipe.rollouts.sandbox) as made:
        yield made


def _claim(recipe: Recipe, output: Path, *, resume: bool) -> None:
    """Create the training's folder, or check that it belongs to this recipe."""
    path = output / "recipe.json"
    wanted = json.loads(json.dumps(asdict(recipe)))
    try:
        if path.exists():
            if not resume:
                raise TrainError(f"{output} holds a training; --resume goes on with it.")
            _check_same(json.loads(path.read_text(encoding="utf-8")), wanted, output)
            return
        output.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(wanted, indent=2) + "\n", encoding="utf-8")
    except (OSError, ValueError) as error:
        raise TrainError(f"{path} cannot be used: {error}") from error


def _check_same(found: Any, wanted: dict[str, Any], output: Path) -> None:
    old = found if isinstance(found, dict) else {}
    other = sorted(key for key in old.keys() | wanted.keys() if old.get(key) != wanted.get(key))
    if other:
        raise TrainError(f"{output} holds the training of another recipe: {', '.join(other)}.")
