"""Export of an adapter as a GGUF file for llama.cpp."""

from pathlib import Path
from typing import Any

import pytest

from agent.errors import TrainError
from agent.train.recipe import Lora, WeightsConfig

pytestmark = [
    pytest.mark.usefixtures("training_packages"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),  # PEFT's, of transformers
]


def adapted_model(folder: Path, *targets: str) -> Any:
    """Return the tiny model with random adapters."""
    import torch

    from agent.train.weights import load_model

    lora = Lora(2, 6.0, targets) if targets else Lora(2, 6.0)
    model, _ = load_model(WeightsConfig(str(folder), lora=lora))
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter)
    return model


def test_every_adapter_is_in_the_file(tiny_model: Path, tmp_path: Path) -> None:
    import gguf
    from peft import get_peft_model_state_dict

    from agent.train.learning.gguf_export import export, is_exportable

    model = adapted_model(tiny_model)
    assert is_exportable(model)
    export(model, tmp_path / "adapter.gguf")
    reader = gguf.GGUFReader(tmp_path / "adapter.gguf")
    assert reader.fields["adapter.lora.alpha"].parts[-1].tolist() == [6.0]
    tensors = {each.name: each for each in reader.tensors}
    assert len(tensors) == len(get_peft_model_state_dict(model)) == 2 * 7 * 2
    # GGUF stores shapes in reverse; rows of two numbers are too short for 8-bit quantization.
    kinds = {
        each: (tensors[f"blk.1.attn_q.weight.lora_{each}"].shape.tolist(),
               tensors[f"blk.1.attn_q.weight.lora_{each}"].tensor_type.name)
        for each in "ab"
    }  # fmt: skip
    assert kinds == {"a": ([32, 2], "Q8_0"), "b": ([2, 32], "F16")}
    assert [each.name for each in tmp_path.iterdir()] == ["adapter.gguf"]


def test_heads_are_permuted_as_in_llama_cpp(tiny_model: Path, tmp_path: Path) -> None:
    """Rows i and i + half of a head are adjacent in the file; other tensors are unchanged."""
    import gguf
    from peft import get_peft_model_state_dict

    from agent.train.learning.gguf_export import export

    model = adapted_model(tiny_model)
    export(model, tmp_path / "adapter.gguf")
    tensors = {each.name: each.data for each in gguf.GGUFReader(tmp_path / "adapter.gguf").tensors}
    weights = {name: each.numpy() for name, each in get_peft_model_state_dict(model).items()}
    layer = "base_model.model.model.layers.0.self_attn"
    exported_from, exported = (
        weights[f"{layer}.q_proj.lora_B.weight"],
        tensors["blk.0.attn_q.weight.lora_b"],
    )
    head_size, half = 8, 4
    for row in range(32):
        head_index, row_in_head = divmod(row, head_size)
        new_row = head_index * head_size + 2 * (row_in_head % half) + row_in_head // half
        assert exported[new_row] == pytest.approx(exported_from[row], abs=1e-2)
    unchanged = weights[f"{layer}.v_proj.lora_B.weight"]
    assert tensors["blk.0.attn_v.weight.lora_b"] == pytest.approx(unchanged, abs=1e-2)


@pytest.mark.filterwarnings("ignore:Model has `tie_word_embeddings")
def test_an_adapter_unsupported_by_gguf_is_reported(tiny_model: Path, tmp_path: Path) -> None:
    from agent.train.learning.gguf_export import export

    with pytest.raises(TrainError, match=r"model\.lora\.targets: .*embed_tokens"):
        export(adapted_model(tiny_model, "embed_tokens"), tmp_path / "adapter.gguf")
    assert not list(tmp_path.iterdir())
