"""Training and evaluation tasks of a recipe, from a file or the generator."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from agent.errors import TaskError, TrainError
from agent.tasks.document_qa.draft import Split
from agent.tasks.document_qa.generate import problems
from agent.tasks.jsonl import read_problems
from agent.tasks.task import Problem
from agent.train.recipe import Recipe, Tasks

# Seeds reserved for evaluation, also for tasks whose wordings and names occur in training.
_FRESH = 1_000_003


def training(recipe: Recipe) -> list[Problem]:
    """Return the training tasks, determined by the seed; none if none are named.

    Raises:
        TrainError: if the recipe names an unknown family or question.
        TaskError: if the file is invalid; names file, line and key.
    """
    tasks = recipe.tasks
    if tasks.file:
        found = list(islice(read_problems(Path(tasks.file)), tasks.count))
        if not found:
            raise TrainError(f"tasks.file: {tasks.file} holds no tasks.")
        return found
    if not tasks.kinds:
        return []
    return _made(tasks, "train", tasks.kinds, tasks.count, recipe.seed)


def held_out(recipe: Recipe, split: Split) -> list[Problem]:
    """Return the evaluation tasks; they do not depend on the recipe's seed.

    The split ``train`` has tasks of the trained kinds that are not trained on, or those of the
    file that ``evaluation`` names. With a file there are no other splits.
    """
    if recipe.evaluation.file:
        found = islice(read_problems(Path(recipe.evaluation.file)), recipe.evaluation.tasks)
        return list(found) if split == "train" else []
    kinds = recipe.tasks.unseen if split == "family" else recipe.tasks.kinds
    if recipe.tasks.file or not kinds:
        return []
    return _made(recipe.tasks, split, kinds, recipe.evaluation.tasks, _FRESH)


def _made(tasks: Tasks, split: Split, kinds: Sequence[str], count: int, seed: int) -> list[Problem]:
    """Generate tasks of all kinds in turn, with unique ids."""
    each = -(-count // len(kinds))
    try:
        columns = [list(_of_kind(tasks, split, kind, each, seed)) for kind in kinds]
    except TaskError as error:
        raise TrainError(f"tasks.{'unseen' if split == 'family' else 'kinds'}: {error}") from error
    made = [problem for row in zip(*columns, strict=True) for problem in row][:count]
    if len({problem.id for problem in made}) < len(made):
        raise TrainError(
            f"tasks.{'unseen' if split == 'family' else 'kinds'}: one stands there twice."
        )
    return made


def _of_kind(tasks: Tasks, split: Split, kind: str, count: int, seed: int) -> Iterator[Problem]:
    family, _, question = kind.partition(".")
    return problems(split, count, seed, family, tasks.levels, question)
