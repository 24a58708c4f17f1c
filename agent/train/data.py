"""Training and evaluation tasks of a recipe, from a file or the generator."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from agent.errors import TaskError, TrainError
from agent.tasks.document_qa.draft import Split
from agent.tasks.document_qa.generate import generate_tasks
from agent.tasks.jsonl import read_tasks
from agent.tasks.task import TaskRecord
from agent.train.recipe import Recipe, TasksConfig

# Seeds reserved for evaluation, also for tasks whose wordings and names occur in training.
_EVALUATION_SEED = 1_000_003


def training_tasks(recipe: Recipe) -> list[TaskRecord]:
    """Return the training tasks, determined by the seed; none if none are named.

    Raises:
        TrainError: if the recipe names an unknown family or question.
        TaskError: if the file is invalid; names file, line and key.
    """
    tasks = recipe.tasks
    if tasks.file:
        selected = list(islice(read_tasks(Path(tasks.file)), tasks.count))
        if not selected:
            raise TrainError(f"tasks.file: {tasks.file} contains no tasks.")
        return selected
    if not tasks.kinds:
        return []
    return _generate(tasks, "train", tasks.kinds, tasks.count, recipe.seed)


def evaluation_tasks(recipe: Recipe, split: Split) -> list[TaskRecord]:
    """Return the evaluation tasks; they do not depend on the recipe's seed.

    The split ``train`` has tasks of the trained kinds that are not trained on, or those of the
    file that ``evaluation`` names. With a file there are no other splits.
    """
    if recipe.evaluation.file:
        selected = islice(read_tasks(Path(recipe.evaluation.file)), recipe.evaluation.tasks)
        return list(selected) if split == "train" else []
    kinds = recipe.tasks.unseen if split == "family" else recipe.tasks.kinds
    if recipe.tasks.file or not kinds:
        return []
    return _generate(recipe.tasks, split, kinds, recipe.evaluation.tasks, _EVALUATION_SEED)


def _generate(
    tasks: TasksConfig, split: Split, kinds: Sequence[str], count: int, seed: int
) -> list[TaskRecord]:
    """Generate tasks of all kinds in turn, with unique ids."""
    each = -(-count // len(kinds))
    try:
        columns = [list(_of_kind(tasks, split, kind, each, seed)) for kind in kinds]
    except TaskError as error:
        raise TrainError(f"tasks.{'unseen' if split == 'family' else 'kinds'}: {error}") from error
    generated = [task for row in zip(*columns, strict=True) for task in row][:count]
    if len({problem.id for problem in generated}) < len(generated):
        raise TrainError(
            f"tasks.{'unseen' if split == 'family' else 'kinds'}: the list contains a duplicate."
        )
    return generated


def _of_kind(
    tasks: TasksConfig, split: Split, kind: str, count: int, seed: int
) -> Iterator[TaskRecord]:
    family, _, question = kind.partition(".")
    return generate_tasks(split, count, seed, family, tasks.levels, question)
