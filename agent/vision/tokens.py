"""How many tokens a picture takes in a model's context, by the model's family; an estimate."""

import math

_TILE, _TILE_BASE = 512, 85
_PATCH = 28  # pixels of one token's side, of most open models


def estimate_picture_tokens(family: str, width: int, height: int) -> int:
    """Estimate tokens by the rules of Anthropic, OpenAI and Google; others count as Qwen-VL."""
    if family == "claude":
        return math.ceil(width * height / 750)
    if family == "gemini":
        small = max(width, height) <= 384
        return 258 * (1 if small else math.ceil(width / 768) * math.ceil(height / 768))
    if family == "openai":
        scale = min(1.0, 768 / min(width, height))
        tiles = math.ceil(width * scale / _TILE) * math.ceil(height * scale / _TILE)
        return _TILE_BASE + 2 * _TILE_BASE * tiles
    return math.ceil(width / _PATCH) * math.ceil(height / _PATCH)
