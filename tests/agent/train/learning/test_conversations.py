"""Conversations out of a file: only what the model would say is learnt of them."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.api.studio import Studio
from agent.errors import TrainError
from agent.models.tokens.model import SampledTokens
from agent.settings import Settings
from agent.train import recipe
from agent.train.recipe import Lora, Recipe, WeightsConfig
from agent.util.cancellation import Stop

END = 1
TALK: list[dict[str, Any]] = [
    {"role": "system", "content": "Be <|im_end|>."},
    {"role": "user", "content": "Count."},
    {"role": "assistant", "content": "", "calls": [{"name": "run", "arguments": {"a": "é"}}]},
    {"role": "tool", "content": "12"},
    {"role": "assistant", "content": "Twelve.", "calls": []},
]


class Bytes:
    """A sampler whose ids are bytes, shifted past its two control tokens."""

    context = 4096

    def encode(self, text: str) -> list[int]:
        return [byte + 2 for byte in text.encode()]

    def control_token_id(self, name: str) -> int:
        return ["<|im_start|>", "<|im_end|>"].index(name)

    def sample(self, ids: Sequence[int], max_tokens: int, stop: Stop) -> Iterator[SampledTokens]:
        raise AssertionError("nothing is asked of it")


def decoded(ids: Sequence[int]) -> str:
    return bytes(each - 2 for each in ids if each > 1).decode()


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Recipe]:
    def make(*lines: str, **changes: str) -> Recipe:
        (tmp_path / "talk.jsonl").write_text("\n".join(lines))
        given = {f"supervised.{key}": value for key, value in changes.items()}
        file = {"supervised.file": str(tmp_path / "talk.jsonl")}
        return recipe.load_recipe("builtin", {**file, "supervised.first_answers": "0", **given})

    return make


def test_only_answers_and_their_end_tokens_are_trained_on(made: Callable[..., Recipe]) -> None:
    from agent.train.learning.conversations import read_conversations

    (found,) = read_conversations(made(json.dumps({"messages": TALK})), Bytes())
    said = [id_ for id_, counts in zip(found.ids, found.mask, strict=True) if counts]
    call = '<tool_call>{"name": "run", "arguments": {"a": "é"}}</tool_call>'
    assert decoded(said) == call + "Twelve."
    assert said.count(END) == 2
    assert found.ids[-1] == END
    assert decoded(found.ids[: found.prompt]).endswith("user\nCount.\nassistant\n")
    # The system prompt's own text cannot end a turn: there are five ends for five messages.
    assert found.ids.count(END) == 5


def test_first_answers_truncates_conversations(made: Callable[..., Recipe]) -> None:
    from agent.train.learning.conversations import read_conversations

    (found,) = read_conversations(made(json.dumps({"messages": TALK}), first_answers="1"), Bytes())
    assert decoded(found.ids).endswith("</tool_call>")
    assert found.ids[-1] == END


@pytest.mark.parametrize(
    ("line", "told"),
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
def test_an_invalid_line_is_reported(made: Callable[..., Recipe], line: str, told: str) -> None:
    from agent.train.learning.conversations import read_conversations

    with pytest.raises(TrainError, match=told):
        read_conversations(made(json.dumps({"messages": TALK}), line), Bytes())


def test_a_missing_file_is_reported(made: Callable[..., Recipe]) -> None:
    from agent.train.learning.conversations import read_conversations

    with pytest.raises(TrainError, match=r"supervised\.file: /nowhere cannot be read"):
        read_conversations(made(file="/nowhere"), Bytes())


def test_batches_have_a_token_budget(training_packages: None) -> None:
    from agent.train.learning.supervised import collate, group_batches

    rows = [{"input_ids": [7] * length, "labels": [-100] * length} for length in (5, 9, 4, 30, 6)]
    made = group_batches(rows, 20)
    assert [[len(row["input_ids"]) for row in batch] for batch in made] == [[4, 5, 6], [9], [30]]
    batch = collate(made[0])
    assert batch["attention_mask"].sum(dim=1).tolist() == [4, 5, 6]
    assert batch["input_ids"].shape == batch["labels"].shape == (3, 6)


def test_a_recipe_of_conversations_needs_no_tasks(
    training_packages: None, tiny_model: Path, made: Callable[..., Recipe], tmp_path: Path
) -> None:
    from agent.train.pipeline import train

    lines = [json.dumps({"messages": TALK})] * 4
    written = made(*lines, steps="2", warmup="0")
    weights = WeightsConfig(str(tiny_model), lora=Lora(2, 4))
    with Studio(Settings(data=tmp_path / "data", warm_sandboxes=0)) as studio:
        train(replace(written, model=weights), tmp_path / "out", resume=False, studio=studio)
    assert (tmp_path / "out" / "supervised" / "adapter.gguf").exists()
