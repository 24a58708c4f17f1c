"""An adapter as a GGUF file: what llama.cpp would read is what was trained."""

from pathlib import Path
from typing import Any

import pytest

from agent.errors import TrainError

pytestmark = [
    pytest.mark.usefixtures("training_packages"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),  # PEFT's, of transformers
]


def adapted(folder: Path, *targets: str) -> Any:
    """The tiny model with adapters that do something."""
    import torch

    from agent.train.recipe import Lora, WeightsConfig
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

    model = adapted(tiny_model)
    assert is_exportable(model)
    export(model, tmp_path / "adapter.gguf")
    found = gguf.GGUFReader(tmp_path / "adapter.gguf")
    assert found.fields["adapter.lora.alpha"].parts[-1].tolist() == [6.0]
    tensors = {each.name: each for each in found.tensors}
    assert len(tensors) == len(get_peft_model_state_dict(model)) == 2 * 7 * 2
    # Shapes are GGUF's, the other way round; rows of two numbers are too short for eight bits.
    kinds = {
        each: (tensors[f"blk.1.attn_q.weight.lora_{each}"].shape.tolist(),
               tensors[f"blk.1.attn_q.weight.lora_{each}"].tensor_type.name)
        for each in "ab"
    }  # fmt: skip
    assert kinds == {"a": ([32, 2], "Q8_0"), "b": ([2, 32], "F16")}
    assert [each.name for each in tmp_path.iterdir()] == ["adapter.gguf"]


def test_heads_are_permuted_as_in_llama_cpp(tiny_model: Path, tmp_path: Path) -> None:
    """Row i and i + half of a head stand beside each other; all else is as it was."""
    import gguf
    from peft import get_peft_model_state_dict

    from agent.train.learning.gguf_export import export

    model = adapted(tiny_model)
    export(model, tmp_path / "adapter.gguf")
    tensors = {each.name: each.data for each in gguf.GGUFReader(tmp_path / "adapter.gguf").tensors}
    weights = {name: each.numpy() for name, each in get_peft_model_state_dict(model).items()}
    layer = "base_model.model.model.layers.0.self_attn"
    ours, theirs = weights[f"{layer}.q_proj.lora_B.weight"], tensors["blk.0.attn_q.weight.lora_b"]
    head, half = 8, 4
    for row in range(32):
        at, place = divmod(row, head)
        turned = at * head + 2 * (place % half) + place // half
        assert theirs[turned] == pytest.approx(ours[row], abs=1e-2)
    same = weights[f"{layer}.v_proj.lora_B.weight"]
    assert tensors["blk.0.attn_v.weight.lora_b"] == pytest.approx(same, abs=1e-2)


@pytest.mark.filterwarnings("ignore:Model has `tie_word_embeddings")
def test_an_adapter_unsupported_by_gguf_is_reported(tiny_model: Path, tmp_path: Path) -> None:
    from agent.train.learning.gguf_export import export

    with pytest.raises(TrainError, match=r"model\.lora\.targets: .*embed_tokens"):
        export(adapted(tiny_model, "embed_tokens"), tmp_path / "adapter.gguf")
    assert not list(tmp_path.iterdir())
