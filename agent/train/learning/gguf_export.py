"""Export of adapters for llama.cpp: a GGUF file to use with the base model's."""

import re
from pathlib import Path
from typing import Any

import gguf
import gguf.quants
from peft import PeftModel, get_peft_model_state_dict

from agent.errors import TrainError

_GGUF_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_Q8_0 = gguf.GGMLQuantizationType.Q8_0
_ADAPTER_NAME = re.compile(r"layers\.(\d+)\.(.+)\.lora_([AB])\.weight$")


def is_exportable(model: Any) -> bool:
    """Return whether the model is a Llama with adapters."""
    return isinstance(model, PeftModel) and model.config.model_type == "llama"


def export(model: Any, path: Path) -> None:
    """Write a Llama's adapters for use with its base model's GGUF file, atomically."""
    tensors = {}
    adapters = get_peft_model_state_dict(model, save_embedding_layers=False)
    for name, tensor in sorted(adapters.items()):
        gguf_name, heads = _gguf_name(name, model.config)
        value = tensor.detach().float().cpu()
        tensors[gguf_name] = _permute_rope_rows(value, heads) if heads else value
    draft = path.with_name(f".{path.name}.draft")
    writer = gguf.GGUFWriter(draft, "llama")
    writer.add_string("general.type", "adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", float(model.peft_config["default"].lora_alpha))
    for gguf_name, value in tensors.items():
        _add(writer, gguf_name, value.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    draft.replace(path)


def _add(writer: gguf.GGUFWriter, name: str, value: Any) -> None:
    """Add a tensor as Q8_0, equal to float16 in effect; odd row lengths as float16."""
    if value.shape[-1] % gguf.GGML_QUANT_SIZES[_Q8_0][0]:
        writer.add_tensor(name, value.astype("float16"))
    else:
        writer.add_tensor(name, gguf.quants.quantize(value, _Q8_0), raw_dtype=_Q8_0)


def _gguf_name(name: str, config: Any) -> tuple[str, int]:
    """Return a tensor's GGUF name, and the number of heads to permute by, or 0."""
    found = _ADAPTER_NAME.search(name)
    layer = _GGUF_NAMES.get(found[2]) if found else None
    if not found or not layer:
        raise TrainError(f"model.lora.targets: a GGUF adapter cannot contain {name}.")
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    permuted_heads = heads.get(layer, 0) if found[3] == "B" else 0
    return f"blk.{found[1]}.{layer}.weight.lora_{found[3].lower()}", permuted_heads


def _permute_rope_rows(value: Any, heads: int) -> Any:
    """Permute rows from transformers' RoPE, which pairs halves, to llama.cpp's: neighbours."""
    rows, columns = value.shape
    halves = value.reshape(heads, 2, rows // heads // 2, columns)
    return halves.transpose(1, 2).reshape(rows, columns).contiguous()
