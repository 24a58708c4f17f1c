"""The cold start: a model shown how, before it is rewarded for what it finds out itself."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from transformers import Trainer, TrainingArguments

from agent.tasks.generator.dice import Dice
from agent.train.following import Follower, follow, last_checkpoint
from agent.train.log import Log, Progress
from agent.train.recipe import Recipe
from agent.train.sequence import TokenSequence
from agent.train.weights import plain

Row = dict[str, list[int]]

IGNORED = -100
_NEIGHBOURS = 256
_SCHEDULES = {
    "cosine": ("cosine_with_min_lr", {"min_lr_rate": 0.1}),
    "linear": ("linear", {}),
    "constant": ("constant_with_warmup", {}),
}


def train(
    recipe: Recipe,
    model: Any,
    demonstrations: Sequence[TokenSequence],
    folder: Path,
    log: Log,
) -> None:
    """Train on demonstrations; what the environment said in them is read, never learnt.

    Args:
        recipe: How long, and how fast.
        model: What is trained, in place.
        demonstrations: What it is shown, over and over.
        folder: Where checkpoints go; with one there it goes on from the last.
        log: Told of each step.
    """
    given = recipe.supervised
    assert given is not None
    schedule, options = _SCHEDULES[given.decay]
    arguments = TrainingArguments(
        output_dir=str(folder),
        max_steps=given.steps,
        per_device_train_batch_size=1 if given.batch_tokens else given.batch,
        learning_rate=given.learning_rate,
        lr_scheduler_type=schedule,
        lr_scheduler_kwargs=options,
        warmup_steps=min(given.warmup, given.steps - 1),
        weight_decay=0.0,
        **common(recipe),
    )
    rows = [_row(each) for each in demonstrations]
    begun = last_checkpoint(folder)
    progress = Progress("cold start", given.steps, begun[1] if begun else 0)
    trainer = _Supervised(
        model=model,
        args=arguments,
        train_dataset=batches(rows, given.batch_tokens) if given.batch_tokens else rows,
        data_collator=_first if given.batch_tokens else collate,
    )
    follow(trainer, Follower("supervised", log, progress, told=("loss",)))
    trainer.train(resume_from_checkpoint=str(begun[0]) if begun else None)


def common(recipe: Recipe) -> dict[str, Any]:
    """What both stages tell transformers."""
    return {
        "use_cpu": not torch.cuda.is_available(),
        "bf16": recipe.model.dtype == "bfloat16",
        "seed": recipe.seed,
        "logging_steps": 1,
        "save_strategy": "steps",
        "save_steps": recipe.save_every,
        "save_total_limit": 2,
        "report_to": "none",
        "remove_unused_columns": False,
        "disable_tqdm": True,
        "dataloader_pin_memory": False,
    }


def collate(rows: Sequence[Row]) -> dict[str, Any]:
    """Rows as one batch, filled up at the right."""
    longest = max(map(_length, rows))

    def filled(key: str, filler: int) -> Any:
        return torch.tensor([row[key] + [filler] * (longest - len(row[key])) for row in rows])

    mask = [[1] * len(row["input_ids"]) + [0] * (longest - len(row["input_ids"])) for row in rows]
    return {
        "input_ids": filled("input_ids", 0),
        "labels": filled("labels", IGNORED),
        "attention_mask": torch.tensor(mask),
    }


def batches(rows: Sequence[Row], tokens: int) -> list[list[Row]]:
    """Rows put together so that each batch has about so many tokens.

    Those of a batch are neighbours after a shuffle and of like length, which leaves little to be
    filled up; of all rows the likest would be of one kind, and a step would learn that alone.
    """
    made: list[list[Row]] = []
    mixed = Dice("batches").shuffled(rows)
    for start in range(0, len(mixed), _NEIGHBOURS):
        made.append([])
        for row in sorted(mixed[start : start + _NEIGHBOURS], key=_length):
            if made[-1] and (len(made[-1]) + 1) * _length(row) > tokens:
                made.append([])
            made[-1].append(row)
    return made


def _length(row: Row) -> int:
    return len(row["input_ids"])


def _first(made: Sequence[Sequence[Row]]) -> dict[str, Any]:
    """The one batch of a step, which was put together before."""
    return collate(made[0])


def _row(shown: TokenSequence) -> Row:
    labels = [id_ if said else IGNORED for id_, said in zip(shown.ids, shown.mask, strict=True)]
    return {"input_ids": list(shown.ids), "labels": labels}


class _Supervised(Trainer):  # type: ignore[misc]
    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        """The loss over the tokens that count; for the others no chances are computed at all."""
        del return_outputs, num_items_in_batch
        base = plain(model)
        labels = inputs["labels"][:, 1:]
        counts = labels != IGNORED
        # What is prepared to compute in bfloat16 is the model as a whole, which is not called.
        with self.accelerator.autocast():
            hidden = base.base_model(
                input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]
            ).last_hidden_state[:, :-1]
            logits = base.get_output_embeddings()(hidden[counts])
        return cross_entropy(logits.float(), labels[counts])
