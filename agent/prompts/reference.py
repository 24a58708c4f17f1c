"""Conversion of LLM-in-Sandbox prompts (``prompt_config.yaml``) to our format.

Their ``system_prompt`` and ``instance_prompt`` are format strings: a literal brace is doubled,
and ``{problem_statement}``, ``{working_dir}``, ``{input_dir}`` and ``{output_dir}`` are
replaced. The files name their workspace ``/testbed`` literally; ours is ``/workspace``.
"""

import re
from collections.abc import Mapping
from typing import Any

_NAMES = {"system_prompt": "system", "instance_prompt": "user"}
_WORDS = {
    "{{": "{",
    "}}": "}",
    "{problem_statement}": "{task}",
    "{working_dir}": "/workspace",
    "{command_docs}": "",
    "{demo}": "",
}
_WORD = re.compile("|".join(map(re.escape, _WORDS)))
_FOLDER = re.compile(r"/testbed(?![\w.-])")


def translated(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields with those of LLM-in-Sandbox converted; keep all others.

    A field present under both names is kept as well; the caller rejects it as unknown.
    """
    made = dict(fields)
    for theirs, ours in _NAMES.items():
        if ours not in fields and isinstance(made.get(theirs), str):
            made[ours] = _text(made.pop(theirs))
    return made


def _text(text: str) -> str:
    return _FOLDER.sub("/workspace", _WORD.sub(lambda match: _WORDS[match[0]], text))
