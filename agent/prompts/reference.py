"""Conversion of LLM-in-Sandbox prompts (``prompt_config.yaml``) to our format.

``system_prompt`` and ``instance_prompt`` are format strings, which name folders literally:
``/testbed`` is our ``/workspace``, and ``/testbed/documents`` the input folder.
"""

import re
from collections.abc import Mapping
from typing import Any

_FIELD_NAMES = {"system_prompt": "system", "instance_prompt": "user"}
_REPLACEMENTS = {
    "{{": "{",
    "}}": "}",
    "{problem_statement}": "{task}",
    "{working_dir}": "/workspace",
    "{command_docs}": "",
    "{demo}": "",
}
_REPLACEMENT_PATTERN = re.compile("|".join(map(re.escape, _REPLACEMENTS)))
_FOLDER_PATTERN = re.compile(r"/testbed(/documents)?(?![\w.-])")


def convert_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields with those of LLM-in-Sandbox converted, unless both names are present."""
    converted = dict(fields)
    for theirs, ours in _FIELD_NAMES.items():
        if ours not in fields and isinstance(converted.get(theirs), str):
            converted[ours] = _convert_text(converted.pop(theirs))
    return converted


def _convert_text(text: str) -> str:
    text = _REPLACEMENT_PATTERN.sub(lambda match: _REPLACEMENTS[match[0]], text)
    return _FOLDER_PATTERN.sub(lambda match: "/workspace/input" if match[1] else "/workspace", text)
