"""The numbers that a model is trained in."""

import pytest

pytest.importorskip("torch")

import torch

from agent.train.recipe import WeightsConfig, load_recipe
from agent.train.weights import resolve_dtype


@pytest.mark.parametrize(
    ("capabilities", "dtype"),
    [
        ({"avx512_f": True, "avx512_bf16": False, "amx_bf16": False}, "float32"),
        ({"avx512_f": True, "avx512_bf16": True}, "bfloat16"),
        ({"amx_bf16": True}, "bfloat16"),
        ({}, "float32"),
    ],
)
def test_auto_is_bfloat16_only_where_the_processor_has_it(
    monkeypatch: pytest.MonkeyPatch, capabilities: dict[str, bool], dtype: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    assert resolve_dtype(WeightsConfig("m", dtype="auto")).dtype == dtype
    assert resolve_dtype(WeightsConfig("m", dtype="bfloat16")).dtype == "bfloat16"


def test_the_recipe_for_processors_leaves_the_choice_to_the_machine() -> None:
    assert load_recipe("cpu").model.dtype == "auto"
