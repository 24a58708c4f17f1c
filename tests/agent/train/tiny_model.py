"""A model of a few thousand random weights with a byte tokenizer, made in a moment."""

from pathlib import Path
from typing import Any


def make_tiny_model(folder: Path, seed: int = 0) -> Path:
    """Save a random Llama that knows ChatML's control tokens into a folder."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=260,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=4096,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
        tie_word_embeddings=True,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


def tokenizer() -> Any:
    """Bytes, and the control tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    special = ["<|pad|>", "<|im_start|>", "<|im_end|>"]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: at for at, token in enumerate([*special, *alphabet])}
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(special)
    return PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<|pad|>", bos_token="<|im_start|>", eos_token="<|im_end|>"
    )
