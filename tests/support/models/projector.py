"""A multimodal projector of random weights, of LLaVA's form, for llama.cpp."""

import random
import struct
from array import array
from pathlib import Path

WIDTH, PATCH, IMAGE, HIDDEN = 32, 16, 64, 64
TOKENS = (IMAGE // PATCH) ** 2  # of one picture
_U32, _F32, _BOOL, _STRING, _ARRAY, _ALIGNMENT = 4, 6, 7, 8, 9, 32


def write_projector(path: Path, width: int) -> None:
    """Write a projector to a model whose tokens are so wide."""
    shapes: dict[str, tuple[int, ...]] = {
        "v.patch_embd.weight": (PATCH, PATCH, 3, WIDTH),
        "v.patch_embd.bias": (WIDTH,),
        "v.position_embd.weight": (WIDTH, TOKENS),
        "v.post_ln.weight": (WIDTH,),
        "v.post_ln.bias": (WIDTH,),
        "mm.0.weight": (WIDTH, width),
        "mm.0.bias": (width,),
        "mm.2.weight": (width, width),
        "mm.2.bias": (width,),
    }
    for name in ("attn_q", "attn_k", "attn_v", "attn_out"):
        shapes |= {f"v.blk.0.{name}.weight": (WIDTH, WIDTH), f"v.blk.0.{name}.bias": (WIDTH,)}
    for name in ("ln1", "ln2"):
        shapes |= {f"v.blk.0.{name}.weight": (WIDTH,), f"v.blk.0.{name}.bias": (WIDTH,)}
    shapes |= {"v.blk.0.ffn_up.weight": (WIDTH, HIDDEN), "v.blk.0.ffn_up.bias": (HIDDEN,)}
    shapes |= {"v.blk.0.ffn_down.weight": (HIDDEN, WIDTH), "v.blk.0.ffn_down.bias": (WIDTH,)}
    fields = [
        _text("general.architecture", "clip"),
        _text("general.type", "mmproj"),
        _text("clip.projector_type", "mlp"),
        _flag("clip.has_vision_encoder"),
        _flag("clip.use_gelu"),
        *(
            _number(f"clip.vision.{name}", value)
            for name, value in {
                "image_size": IMAGE, "patch_size": PATCH, "embedding_length": WIDTH,
                "feed_forward_length": HIDDEN, "projection_dim": width, "block_count": 1,
                "attention.head_count": 2,
            }.items()
        ),
        _real("clip.vision.attention.layer_norm_epsilon", 1e-6),
        _reals("clip.vision.image_mean", [0.5] * 3),
        _reals("clip.vision.image_std", [0.5] * 3),
    ]  # fmt: skip
    infos, data = b"", b""
    chosen = random.Random(7)
    for name, shape in shapes.items():
        count = 1
        for side in shape:
            count *= side
        infos += _string(name) + struct.pack("<I", len(shape))
        infos += struct.pack(f"<{len(shape)}QIQ", *shape, 0, len(data))
        data += array("f", (chosen.uniform(-0.05, 0.05) for _ in range(count))).tobytes()
        data += bytes(-len(data) % _ALIGNMENT)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(shapes), len(fields)) + b"".join(fields) + infos
    path.write_bytes(head + bytes(-len(head) % _ALIGNMENT) + data)


def _string(text: str) -> bytes:
    return struct.pack("<Q", len(text)) + text.encode()


def _text(key: str, value: str) -> bytes:
    return _string(key) + struct.pack("<I", _STRING) + _string(value)


def _flag(key: str) -> bytes:
    return _string(key) + struct.pack("<IB", _BOOL, 1)


def _number(key: str, value: int) -> bytes:
    return _string(key) + struct.pack("<II", _U32, value)


def _real(key: str, value: float) -> bytes:
    return _string(key) + struct.pack("<If", _F32, value)


def _reals(key: str, values: list[float]) -> bytes:
    head = struct.pack("<IIQ", _ARRAY, _F32, len(values))
    return _string(key) + head + array("f", values).tobytes()
