"""Whether a model behind an endpoint takes pictures, and the refusals that say that it does not."""

import re
from collections.abc import Mapping

from agent.models.base import ModelConfig, PictureLimits
from agent.models.endpoint.api import Body, Requirement
from agent.models.endpoint.families import Traits, traits_of
from agent.models.endpoint.learned import Learned
from agent.models.endpoint.writing import NO_PICTURES

_PICTURE_TYPES = {"image_url", "input_image", "image"}
_SEEING = (
    r"claude|gemini|gpt-4o|gpt-4\.1|gpt-4\.5|gpt-4-turbo|chatgpt|gpt-(?:[5-9]|\d\d)|o1(?!-mini)|"
    r"o3(?!-mini)|o4|vision|multimodal|omni|llava|pixtral|qvq|gemma-?[3-9]|internvl|minicpm-[vo]|"
    r"(?:^|[-_/.\d])vl(?:$|[-_:.\d])|llama-?4|kimi-k2\.[5-9]|kimi-k[3-9]|glm-\d(?:\.\d)?v"
)
"""Names of models that are known to take pictures; about others, an endpoint has to say it."""

_TOO_MUCH = r"too large|exceed|too many|larger than|at most [1-9]"  # of pictures that it takes
_PICTURE = r"image|vision|multi-?modal|mmproj"
REFUSES_PICTURES = Requirement(
    rf"\A(?!.*(?:{_TOO_MUCH})).*(?:"
    rf"(?:{_PICTURE}).{{0,120}}(?:not\b|n't\b|\bno\b|unsupported|only|disabled|missing|unknown)|"
    rf"(?:\bnot\b|n't\b|\bno\b|unsupported|unknown|only)\b.{{0,120}}(?:{_PICTURE})|"
    r"at most 0 image|content\b.{0,80}(?:expected|must be|should be) (?:a )?(?:valid )?string|"
    r"content\b.{0,40}'array' not in 'string'|invalid type: sequence)",
    NO_PICTURES,
    "This endpoint takes no pictures; their descriptions are sent instead.",
    lambda body: any(map(_has_pictures, body.get("messages") or body.get("input") or ())),
    any_status=True,
)
"""The last requirement of each API."""


def picture_limits(
    config: ModelConfig, fact: bool | None, learned: Learned
) -> PictureLimits | None:
    """Return what pictures a model takes, None if none; ``fact`` is what its server says."""
    traits = traits_of(config.base_url, config.model)
    refused = any(NO_PICTURES in each.changes for each in learned.lessons.values())
    if config.images == "off" or refused:
        return None
    known = fact if fact is not None else is_known_to_see(traits)
    return PictureLimits(traits.family) if known or config.images == "on" else None


def is_known_to_see(traits: Traits) -> bool:
    """Return whether a model's name says that it takes pictures."""
    return re.search(_SEEING, traits.name) is not None


def _has_pictures(message: Body) -> bool:
    parts = message.get("content") or message.get("output")
    return isinstance(parts, list) and any(
        isinstance(part, Mapping)
        and (part.get("type") in _PICTURE_TYPES or _has_pictures(dict(part)))
        for part in parts
    )
