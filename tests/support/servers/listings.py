"""What servers say about their models and the length of their context, by path."""

from collections.abc import Callable, Mapping
from typing import Any

Routes = Mapping[str, Any]
Listing = Callable[[str, int], Routes]
"""Returns the routes of a server with this model and context."""


def _models(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {"object": "list", "data": [{"object": "model", **entry}]}


def plain(model: str, context: int) -> Routes:
    """OpenAI and others: nothing about the context."""
    return {"/v1/models": _models({"id": model, "owned_by": "organization"})}


def anthropic(model: str, context: int) -> Routes:
    entry = {"id": model, "type": "model", "display_name": model}
    return {"/v1/models": {"data": [entry], "has_more": False, "first_id": model}}


def vllm(model: str, context: int) -> Routes:
    """vLLM and SGLang: the length that the server was started with."""
    entry = {"id": model, "owned_by": "vllm", "max_model_len": context}
    return {"/v1/models": _models(entry), "/version": {"version": "0.16.0"}}


def sglang(model: str, context: int) -> Routes:
    entry = {"id": model, "owned_by": "sglang", "max_model_len": context}
    info = {"model_path": model, "is_generation": True}
    return {"/v1/models": _models(entry), "/get_model_info": info}


def llama_cpp(model: str, context: int) -> Routes:
    """llama.cpp: the list has what the model was trained with, ``/props`` what is used."""
    entry = {"id": model, "owned_by": "llamacpp", "meta": {"n_ctx_train": 131072}}
    props = {"default_generation_settings": {"n_ctx": context}, "total_slots": 1}
    return {"/v1/models": _models(entry), "/props": props | {"build_info": "b9000-test"}}


def ollama(model: str, context: int) -> Routes:
    """Ollama: the loaded model has the length in use, the model's description the longest."""
    loaded = {"name": model, "model": model, "context_length": context, "size_vram": 0}
    info = {"general.architecture": "qwen3", "qwen3.context_length": 262144}
    show = {"model_info": info, "capabilities": ["completion", "tools", "thinking"]}
    return {
        "/v1/models": _models({"id": model, "owned_by": "library"}),
        "/api/ps": {"models": [loaded]},
        "/api/show": show,
        "/api/tags": {"models": [{"name": model, "model": model}]},
        "/api/version": {"version": "0.15.0"},
    }


def lm_studio(model: str, context: int) -> Routes:
    entry = {"id": model, "object": "model", "type": "llm", "state": "loaded"}
    entry |= {"max_context_length": 131072, "loaded_context_length": context}  # type: ignore[dict-item]
    return {
        "/v1/models": _models({"id": model, "owned_by": "organization_owner"}),
        "/api/v0/models": {"object": "list", "data": [entry]},
    }


def with_context_length(model: str, context: int) -> Routes:
    return {"/v1/models": _models({"id": model, "context_length": context})}
