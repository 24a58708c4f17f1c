"""Demonstrations: tasks performed in sandboxes by scripts that emit token ids."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from agent.errors import ModelRefused, TrainError
from agent.models.base import AssistantMessage, Model
from agent.models.chatml import END_TOKEN, render_answer
from agent.models.token_model import SampledTokens, Sampler
from agent.tasks.document_qa.rng import Rng
from agent.tasks.task import TaskRecord
from agent.train.learning.solution_paths import (
    NoSolution,
    Solution,
    plain_solution,
    sandbox_solution,
)
from agent.train.recipe import Recipe
from agent.train.rollouts.sequence import TokenSequence
from agent.train.rollouts.workers import RolloutRunner
from agent.util.stop import Stop


class ScriptedSampler:
    """``Sampler`` that replays a script, regardless of the prompt, with another one's tokenizer."""

    def __init__(self, sampler: Sampler, turns: Sequence[AssistantMessage]) -> None:
        self._turns = iter(turns)
        self.context = sampler.context
        self.encode, self.control_token_id = sampler.encode, sampler.control_token_id

    def sample(self, ids: Sequence[int], max_tokens: int, stop: Stop) -> Iterator[SampledTokens]:
        """Yield the next turn at once; raise ``ModelRefused`` after the last one."""
        del ids, max_tokens, stop
        turn = next(self._turns, None)
        if turn is None:
            raise ModelRefused("The script has no more turns.")
        text = render_answer(turn)
        ids_out = (*self.encode(text), self.control_token_id(END_TOKEN.name))
        yield SampledTokens(ids_out, (0.0,) * len(ids_out), text)


def load_or_create(path: Path, make: Callable[[], list[TokenSequence]]) -> list[TokenSequence]:
    """Read the demonstrations in a file; if it is missing, create and write them."""
    try:
        if path.exists():
            rows = json.loads(path.read_text(encoding="utf-8"))
            return [TokenSequence(tuple(i), tuple(m), (0.0,) * len(i), p) for i, m, p in rows]
    except (ValueError, TypeError) as error:
        raise TrainError(f"{path} is not a file of demonstrations. Delete it.") from error
    sequences = make()
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".draft")
    rows = [[each.ids, each.mask, each.prompt] for each in sequences]
    draft.write_text(json.dumps(rows), encoding="utf-8")
    draft.replace(path)
    return sequences


def create_demonstrations(
    recipe: Recipe, tasks: Sequence[TaskRecord], sampler: Sampler, runner: RolloutRunner
) -> list[TokenSequence]:
    """Create as many demonstrations as the recipe requests, from the tasks in order."""
    assert recipe.supervised is not None
    scripts = list(islice(_scripts(recipe, tasks), recipe.supervised.demonstrations))
    if not scripts:
        raise TrainError("supervised: none of these tasks has a demonstration.")
    turns = {task.id: script for task, script in scripts}

    def model(task: TaskRecord) -> Model:
        return runner.make_model("demonstration", ScriptedSampler(sampler, turns[task.id]))

    finished = runner.run_models(model, [problem for problem, _ in scripts])
    sequences = [each.token_sequence() for each in finished]
    complete = [each for each in sequences if each is not None]
    if len(complete) < len(sequences) / 2:
        reasons = {each.reason for each in finished if each.reason}
        raise TrainError(f"supervised: most demonstrations failed: {'; '.join(sorted(reasons))}")
    return complete


def _scripts(recipe: Recipe, tasks: Sequence[TaskRecord]) -> Iterator[tuple[TaskRecord, Solution]]:
    assert recipe.supervised is not None
    correct_share = recipe.supervised.correct_share
    truths: dict[str, set[str]] = {}
    for task in tasks:
        truths.setdefault(task.domain, set()).add(task.ground_truth)
    make = plain_solution if recipe.rollouts.mode == "plain" else sandbox_solution
    for task in tasks:
        with suppress(NoSolution):
            rng = Rng("way", recipe.seed, task.id)
            yield task, make(task, correct_share, sorted(truths[task.domain]), rng)
