"""Training pipeline: stages, checkpoints, evaluations and results.

OUTPUT/recipe.json       the recipe
OUTPUT/log.jsonl         every step and evaluation
OUTPUT/runs/             every rollout as a run; STUDIO_DATA=OUTPUT/runs opens them on the page
OUTPUT/supervised/, reinforced/    checkpoints, and the stage's result in model/
OUTPUT/curve.png, table.md         plot and table of the results
"""

import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from accelerate import PartialState
from pydantic import TypeAdapter, ValidationError
from transformers import set_seed
from transformers.utils import logging

from agent.api.studio import Studio
from agent.errors import TrainError
from agent.settings import load as settings
from agent.train import data, weights
from agent.train.learning import (
    conversations,
    demonstrations,
    gguf_export,
    supervised,
    trajectories,
)
from agent.train.learning.grpo import ReinforcementStage
from agent.train.log import TrainingLog, print_line
from agent.train.recipe import Recipe, Stage
from agent.train.report import curves
from agent.train.report.evaluation import Evaluator
from agent.train.rollouts.policy import Policy
from agent.train.rollouts.sandboxes import create_studio
from agent.train.rollouts.sequence import TokenSequence
from agent.train.rollouts.workers import RolloutRunner
from agent.util.text import plural

_EARLIER_KEYS = {
    "model.begin": "initial_weights",
    "tasks.kinds": "families",
    "tasks.unseen": "held_out_families",
    "rollouts.at_once": "concurrency",
    "supervised.first_answers": "truncated_share",
    "supervised.right": "correct_share",
    "reinforced.gradient": "max_grad_norm",
    "evaluation.every": "interval",
    "evaluation.untrained": "before_training",
}
"""Keys of the recipes in trainings of earlier versions, with the name that each has today."""


class Training:
    """One training in its own folder."""

    def __init__(self, recipe: Recipe, output: Path, studio: Studio) -> None:
        self._recipe = recipe
        self._output = output
        self._is_main_process = PartialState().is_main_process
        self._log = TrainingLog(output / "log.jsonl", silent=not self._is_main_process)
        model, self._tokenizer = weights.load_model(recipe.model)
        context = recipe.rollouts.tokens + recipe.rollouts.turn_tokens
        self.policy = Policy(model, self._tokenizer, context, recipe.model.dtype)
        self._runner = RolloutRunner(recipe, self.policy, studio)
        self._evaluator = Evaluator(recipe, self._runner, self._log)
        self._tasks = data.training_tasks(recipe)

    def run(self) -> None:
        """Perform the remaining stages."""
        if self._recipe.evaluation.before_training:
            self._evaluate_once("untrained", 0)
        for stage in self._recipe.stages:
            result_folder = self._output / stage / "model"
            if result_folder.is_dir():
                weights.restore(self.policy.model, result_folder)
            else:
                (self._supervise if stage == "supervised" else self._reinforce)(
                    self._output / stage
                )
                self._save_result(result_folder)
            self._evaluate_once(stage, self._steps(stage))
            self._write_report()

    def _save_result(self, folder: Path) -> None:
        """Save a stage's result; its folder is renamed last, which marks it complete."""
        if not self._is_main_process:
            return
        if gguf_export.is_exportable(self.policy.model):
            gguf_export.export(self.policy.model, folder.with_name("adapter.gguf"))
        draft = folder.with_name("model.draft")
        weights.save(self.policy.model, self._tokenizer, draft)
        draft.replace(folder)

    def _steps(self, stage: Stage) -> int:
        config = getattr(self._recipe, stage)
        return int(config.steps)

    def _supervise(self, folder: Path) -> None:
        sequences = self._demonstrations()
        mean_length = sum(len(each.ids) for each in sequences) / len(sequences)
        self._log.write("demonstrations", count=len(sequences), tokens=round(mean_length, 1))
        print_line(f"{plural(len(sequences), 'demonstration')} of {mean_length:.0f} tokens")
        supervised.train(self._recipe, self.policy.model, sequences, folder, self._log)

    def _demonstrations(self) -> list[TokenSequence]:
        config = self._recipe.supervised
        if config and config.file:
            if files := trajectories.find_trajectories(Path(config.file)):
                return trajectories.read_trajectories(files, config, self.policy)
            return conversations.read_conversations(self._recipe, self.policy)
        return demonstrations.load_or_create(
            self._output / "supervised" / "demonstrations.json", self._create_demonstrations
        )

    def _create_demonstrations(self) -> list[TokenSequence]:
        print_line("Running the demonstrations …")
        return demonstrations.create_demonstrations(
            self._recipe, self._tasks, self.policy, self._runner
        )

    def _reinforce(self, folder: Path) -> None:
        ReinforcementStage(self._recipe, self.policy, self._runner, self._tasks, self._log).train(
            folder, self._on_step
        )

    def _on_step(self, step: int) -> None:
        """Evaluate at the recipe's interval; the last step is evaluated anyway."""
        interval = self._recipe.evaluation.interval
        if interval and step % interval == 0 and step < self._steps("reinforced"):
            self._evaluate_once("reinforced", step)
        self._write_report()

    def _evaluate_once(self, stage: str, step: int) -> None:
        if not self._evaluator.is_evaluated(stage, step):
            self._evaluator.evaluate(stage, step)

    def _write_report(self) -> None:
        if not self._is_main_process:
            return
        curves.draw(self._log, self._output / "curve.png")
        (self._output / "table.md").write_text(curves.table(self._log), encoding="utf-8")


def train(
    recipe: Recipe, output: Path, *, resume: bool, studio: Studio | None = None, ray: str = ""
) -> None:
    """Run a training, or ``resume`` it; ``ray`` is a cluster's address, or ``local``."""
    state = PartialState()
    if ray and state.num_processes > 1:
        raise TrainError("--ray needs a training in one process: each would need a cluster.")
    if recipe.model.needs_gpu and not torch.cuda.is_available():
        raise TrainError(
            "This recipe needs a GPU, and PyTorch finds none. To train on the processor, choose a "
            "recipe for it, such as cpu, or add --set model.needs_gpu=false."
        )
    if state.is_main_process:
        _prepare_folder(recipe, output, resume=resume)
    state.wait_for_everyone()
    _silence_libraries()
    recipe = replace(recipe, model=weights.resolve_dtype(recipe.model))
    if state.is_main_process:
        print_line(f"Data type: {recipe.model.dtype}.")
    set_seed(recipe.seed)
    if recipe.threads:
        torch.set_num_threads(recipe.threads)
    with _open_studio(recipe, output, studio, ray) as active_studio:
        Training(recipe, output, active_studio).run()


def _silence_libraries() -> None:
    """Silence library messages that are irrelevant to the user."""
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")
    warnings.filterwarnings("ignore", message="Could not find a config file in")


@contextmanager
def _open_studio(recipe: Recipe, output: Path, studio: Studio | None, ray: str) -> Iterator[Studio]:
    if studio is not None:
        yield studio
        return
    run_settings = replace(settings(), warm_sandboxes=0, data=output / "runs")
    with create_studio(run_settings, recipe.rollouts.sandbox, ray) as new_studio:
        yield new_studio


def _prepare_folder(recipe: Recipe, output: Path, *, resume: bool) -> None:
    """Create the training's folder, or check that it belongs to this recipe."""
    path = output / "recipe.json"
    recipe_json = json.loads(json.dumps(asdict(recipe)))
    try:
        if path.exists():
            if not resume:
                raise TrainError(f"{output} contains a training. Continue it with --resume.")
            _check_same(json.loads(path.read_text(encoding="utf-8")), recipe_json, output)
            return
        output.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(recipe_json, indent=2) + "\n", encoding="utf-8")
    except (OSError, ValueError) as error:
        raise TrainError(f"{path} cannot be used: {error}") from error


def _check_same(found: Any, wanted: dict[str, Any], output: Path) -> None:
    old = _with_defaults(_with_current_keys(found)) if isinstance(found, dict) else {}
    other = sorted(key for key in old.keys() | wanted.keys() if old.get(key) != wanted.get(key))
    if other:
        raise TrainError(
            f"{output} contains the training of another recipe, which differs in: "
            f"{', '.join(other)}."
        )


def _with_current_keys(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stored recipe, perhaps of an earlier version, with the keys of this one."""
    renamed = dict(found)
    for key, name in _EARLIER_KEYS.items():
        part, _, earlier = key.partition(".")
        inner = renamed.get(part)
        if isinstance(inner, dict) and earlier in inner:
            renamed[part] = {name if each == earlier else each: inner[each] for each in inner}
    return renamed


def _with_defaults(found: dict[str, Any]) -> dict[str, Any]:
    """Return a stored recipe with the keys that were added since; unchanged if it is not one."""
    try:
        recipe = TypeAdapter(Recipe).validate_json(json.dumps(found))
    except ValidationError:
        return found
    return dict(json.loads(json.dumps(asdict(recipe))))
