"""Cold start: supervised training on demonstrations, before reinforcement."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from transformers import Trainer, TrainingArguments

from agent.tasks.document_qa.rng import Dice
from agent.train.callbacks import Follower, follow, last_checkpoint
from agent.train.log import Log, Progress
from agent.train.recipe import Recipe
from agent.train.rollouts.sequence import TokenSequence
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
    """Train on demonstrations; the environment's tokens are read but not learned.

    Args:
        recipe: Determines steps, batches and learning rate.
        model: The model, trained in place.
        demonstrations: Training sequences, repeated as needed.
        folder: Folder for checkpoints; training resumes from the last one.
        log: Receives the figures of each step.
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
    """Return the training arguments that both stages share."""
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
    """Return rows as one right-padded batch."""
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
    """Group rows into batches of about ``tokens`` tokens.

    Rows are shuffled, then sorted by length among neighbours only. This needs little padding;
    sorting all rows would put one kind of task into a batch, and a step would overfit to it.
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
    """Collate the prepared batch of a step."""
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
        """Return the loss over the labelled tokens; logits of others are not computed."""
        del return_outputs, num_items_in_batch
        base = plain(model)
        labels = inputs["labels"][:, 1:]
        counts = labels != IGNORED
        # The accelerator wraps only the full model's forward in autocast, which is not called here.
        with self.accelerator.autocast():
            hidden = base.base_model(
                input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]
            ).last_hidden_state[:, :-1]
            logits = base.get_output_embeddings()(hidden[counts])
        return cross_entropy(logits.float(), labels[counts])
