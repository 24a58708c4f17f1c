"""The data type of a model's weights."""

import pytest

from agent.train.recipe import WeightsConfig, load_recipe

pytestmark = pytest.mark.usefixtures("training_packages")


@pytest.mark.parametrize(
    ("capabilities", "dtype"),
    [
        ({"avx512_f": True, "avx512_bf16": False, "amx_bf16": False}, "float32"),
        ({"avx512_f": True, "avx512_bf16": True}, "bfloat16"),
        ({"amx_bf16": True}, "bfloat16"),
        ({}, "float32"),
    ],
)
def test_auto_selects_bfloat16_only_with_processor_support(
    monkeypatch: pytest.MonkeyPatch, capabilities: dict[str, bool], dtype: str
) -> None:
    import torch

    from agent.train.weights import resolve_dtype

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    assert resolve_dtype(WeightsConfig("m", dtype="auto")).dtype == dtype
    assert resolve_dtype(WeightsConfig("m", dtype="bfloat16")).dtype == "bfloat16"


def test_the_cpu_recipe_selects_the_data_type_automatically() -> None:
    assert load_recipe("cpu").model.dtype == "auto"
