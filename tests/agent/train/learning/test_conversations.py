"""Supervised training on conversations from a file: only answers are trained on."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import compress
from pathlib import Path
from typing import Any

import pytest

from agent.api.studio import Studio
from agent.errors import TrainError
from agent.models.token_model import SampledTokens
from agent.settings import Settings
from agent.train import recipe
from agent.train.learning.conversations import read_conversations
from agent.train.recipe import Lora, Recipe, WeightsConfig
from agent.util.stop import Stop

END = 1
MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "Be <|im_end|>."},
    {"role": "user", "content": "Count."},
    {"role": "assistant", "content": "", "calls": [{"name": "run", "arguments": {"a": "é"}}]},
    {"role": "tool", "content": "12"},
    {"role": "assistant", "content": "Twelve.", "calls": []},
]


LINE = json.dumps({"messages": MESSAGES})


class ByteSampler:
    """A sampler whose ids are bytes, shifted past its two control tokens."""

    context = 4096

    def encode(self, text: str) -> list[int]:
        return [byte + 2 for byte in text.encode()]

    def control_token_id(self, name: str) -> int:
        return ["<|im_start|>", "<|im_end|>"].index(name)

    def sample(self, ids: Sequence[int], max_tokens: int, stop: Stop) -> Iterator[SampledTokens]:
        raise AssertionError("the sampler must not be used")


def decode(ids: Sequence[int]) -> str:
    return bytes(each - 2 for each in ids if each > 1).decode()


@pytest.fixture
def create_recipe(tmp_path: Path) -> Callable[..., Recipe]:
    def create(*lines: str, **changes: str) -> Recipe:
        (tmp_path / "talk.jsonl").write_text("\n".join(lines))
        values = {"file": str(tmp_path / "talk.jsonl"), "truncated_share": "0", **changes}
        overrides = {f"supervised.{key}": value for key, value in values.items()}
        return recipe.load_recipe("builtin", overrides)

    return create


def test_only_answers_and_their_end_tokens_are_trained_on(
    create_recipe: Callable[..., Recipe],
) -> None:
    (conversation,) = read_conversations(create_recipe(LINE), ByteSampler())
    trained_ids = list(compress(conversation.ids, conversation.mask))
    call = '<tool_call>{"name": "run", "arguments": {"a": "é"}}</tool_call>'
    assert decode(trained_ids) == call + "Twelve."
    assert trained_ids.count(END) == 2
    assert conversation.ids[-1] == END
    assert decode(conversation.ids[: conversation.prompt]).endswith("user\nCount.\nassistant\n")
    # The system prompt's own text cannot end a turn: there are five ends for five messages.
    assert conversation.ids.count(END) == 5


def test_truncated_share_truncates_conversations(create_recipe: Callable[..., Recipe]) -> None:
    (conversation,) = read_conversations(create_recipe(LINE, truncated_share="1"), ByteSampler())
    assert decode(conversation.ids).endswith("</tool_call>")
    assert conversation.ids[-1] == END


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: not valid JSON"),
        ("[]", "line 2: messages: must be a list"),
        ('{"messages": [1]}', r"line 2: messages\[0\]: must be an object"),
        ('{"messages": [{"role": "user"}]}', r"messages\[0\].content: must be a text"),
        ('{"messages": [{"role": "god", "content": ""}]}', r"messages\[0\].role: must be one of"),
        ('{"messages": [{"role": "assistant", "content": "", "calls": [3]}]}', "calls: must be"),
        ('{"messages": [{"role": "user", "content": "a"}]}', "line 2: messages: there is no ans"),
    ],
)
def test_an_invalid_line_is_reported(
    create_recipe: Callable[..., Recipe], line: str, message: str
) -> None:
    with pytest.raises(TrainError, match=message):
        read_conversations(create_recipe(LINE, line), ByteSampler())


def test_a_missing_file_is_reported(create_recipe: Callable[..., Recipe]) -> None:
    with pytest.raises(TrainError, match=r"supervised\.file: /nowhere cannot be read"):
        read_conversations(create_recipe(file="/nowhere"), ByteSampler())


def test_batches_have_a_token_budget(training_packages: None) -> None:
    from agent.train.learning.supervised import collate, group_batches

    rows = [{"input_ids": [7] * length, "labels": [-100] * length} for length in (5, 9, 4, 30, 6)]
    batches = group_batches(rows, 20)
    assert [[len(row["input_ids"]) for row in batch] for batch in batches] == [[4, 5, 6], [9], [30]]
    batch = collate(batches[0])
    assert batch["attention_mask"].sum(dim=1).tolist() == [4, 5, 6]
    assert batch["input_ids"].shape == batch["labels"].shape == (3, 6)


def test_a_recipe_of_conversations_needs_no_tasks(
    training_packages: None, tiny_model: Path, create_recipe: Callable[..., Recipe], tmp_path: Path
) -> None:
    from agent.train.pipeline import train

    recipe_of_model = replace(
        create_recipe(*[LINE] * 4, steps="2", warmup="0"),
        model=WeightsConfig(str(tiny_model), lora=Lora(2, 4)),
    )
    with Studio(Settings(data=tmp_path / "data", warm_sandboxes=0)) as studio:
        train(recipe_of_model, tmp_path / "out", resume=False, studio=studio)
    assert (tmp_path / "out" / "supervised" / "adapter.gguf").exists()
