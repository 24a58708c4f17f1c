"""Cold start: supervised training on demonstrations, before reinforcement."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from transformers import Trainer, TrainingArguments

from agent.tasks.document_qa.rng import Rng
from agent.train.callbacks import StepLogger, attach_logger, last_checkpoint
from agent.train.log import Progress, TrainingLog
from agent.train.recipe import Recipe
from agent.train.rollouts.sequence import TokenSequence
from agent.train.weights import unwrap_adapter

TrainingRow = dict[str, list[int]]

IGNORED = -100
_SORT_WINDOW = 256
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
    log: TrainingLog,
) -> None:
    """Train the model from the last checkpoint on; the environment's tokens are not learned."""
    config = recipe.supervised
    assert config is not None
    schedule, options = _SCHEDULES[config.decay]
    arguments = TrainingArguments(
        output_dir=str(folder),
        max_steps=config.steps,
        per_device_train_batch_size=1 if config.batch_tokens else config.batch,
        learning_rate=config.learning_rate,
        lr_scheduler_type=schedule,
        lr_scheduler_kwargs=options,
        warmup_steps=min(config.warmup, config.steps - 1),
        weight_decay=0.0,
        **shared_arguments(recipe),
    )
    rows = [_to_row(each) for each in demonstrations]
    checkpoint = last_checkpoint(folder)
    progress = Progress("cold start", config.steps, checkpoint[1] if checkpoint else 0)
    trainer = _SupervisedTrainer(
        model=model,
        args=arguments,
        train_dataset=group_batches(rows, config.batch_tokens) if config.batch_tokens else rows,
        data_collator=_collate_prepared if config.batch_tokens else collate,
    )
    attach_logger(trainer, StepLogger("supervised", log, progress, displayed=("loss",)))
    trainer.train(resume_from_checkpoint=str(checkpoint[0]) if checkpoint else None)


def shared_arguments(recipe: Recipe) -> dict[str, Any]:
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


def collate(rows: Sequence[TrainingRow]) -> dict[str, Any]:
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


def group_batches(rows: Sequence[TrainingRow], tokens: int) -> list[list[TrainingRow]]:
    """Group rows into batches of about ``tokens`` tokens, with little padding.

    Rows are sorted by length among neighbours only: sorting all would put one kind of task into a
    batch, and a step would overfit to it.
    """
    grouped: list[list[TrainingRow]] = []
    mixed = Rng("batches").shuffled(rows)
    for start in range(0, len(mixed), _SORT_WINDOW):
        grouped.append([])
        for row in sorted(mixed[start : start + _SORT_WINDOW], key=_length):
            if grouped[-1] and (len(grouped[-1]) + 1) * _length(row) > tokens:
                grouped.append([])
            grouped[-1].append(row)
    return grouped


def _length(row: TrainingRow) -> int:
    return len(row["input_ids"])


def _collate_prepared(prepared: Sequence[Sequence[TrainingRow]]) -> dict[str, Any]:
    """Collate the prepared batch of a step."""
    return collate(prepared[0])


def _to_row(sequence: TokenSequence) -> TrainingRow:
    labels = [
        id_ if is_learned else IGNORED
        for id_, is_learned in zip(sequence.ids, sequence.mask, strict=True)
    ]
    return {"input_ids": list(sequence.ids), "labels": labels}


class _SupervisedTrainer(Trainer):  # type: ignore[misc]
    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        """Return the loss over the labelled tokens; logits of others are not computed."""
        del return_outputs, num_items_in_batch
        base = unwrap_adapter(model)
        labels = inputs["labels"][:, 1:]
        counts = labels != IGNORED
        # The accelerator wraps only the full model's forward in autocast, which is not called here.
        with self.accelerator.autocast():
            hidden = base.base_model(
                input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]
            ).last_hidden_state[:, :-1]
            logits = base.get_output_embeddings()(hidden[counts])
        return cross_entropy(logits.float(), labels[counts])
