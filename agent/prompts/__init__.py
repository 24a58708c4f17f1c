"""Prompts: one YAML file per domain, and ``prompt`` that reads them."""

from agent.prompts.prompt import (
    INPUT_DIR,
    OUTPUT_DIR,
    Prompt,
    get_bundled,
    list_all_names,
    list_names,
    load,
    with_documents,
)

__all__ = [
    "INPUT_DIR",
    "OUTPUT_DIR",
    "Prompt",
    "get_bundled",
    "list_all_names",
    "list_names",
    "load",
    "with_documents",
]
