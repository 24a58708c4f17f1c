"""Parameters of a request: forwarded, understood, accepted without effect, or refused."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agent.models.builtin.install import BUILTIN_ID
from agent.runs.spec import RunSpec
from sandbox_ui.openai_api.errors import SANDBOX_FIELDS, ApiError

Body = Mapping[str, Any]

SANDBOX_SUFFIX = "@sandbox"
_MAX_PAIRS, _MAX_KEY, _MAX_VALUE = 16, 64, 512
_MAX_STOPS = 4
_FORWARDED = {
    "frequency_penalty", "presence_penalty", "seed", "logit_bias", "reasoning_effort", "verbosity",
    "top_k", "min_p", "typical_p", "repetition_penalty", "length_penalty", "min_tokens",
    "stop_token_ids", "ignore_eos", "chat_template_kwargs", "enable_thinking", "thinking",
}  # fmt: skip
"""Sampling fields of OpenAI, vLLM, SGLang and llama.cpp: sent to the endpoint as they are."""

_SAMPLING = ("temperature", "top_p", "seed")
"""What the built-in model ignores."""

_WITHOUT_EFFECT = {
    "user", "safety_identifier", "service_tier", "store", "prompt_cache_key",
    "prompt_cache_retention", "prompt_cache_options", "parallel_tool_calls", "truncation",
    "include",
}  # fmt: skip
_IGNORED = {
    "priority", "request_id", "rid", "cache_salt", "cache_prompt", "id_slot", "n_keep",
    "keep_alive", "timings_per_token", "return_progress", "post_sampling_probs", "stream_reasoning",
    "spaces_between_special_tokens",
}  # fmt: skip
"""How the servers of models schedule, cache and report a request: ignored with a notice."""

_CHAT_ONLY = {"messages", "max_tokens", "max_completion_tokens", "stop", "response_format"}
_RESPONSES_ONLY = {
    "input", "instructions", "previous_response_id", "max_output_tokens", "text", "reasoning",
}  # fmt: skip
_COMMON = {
    "model",
    "stream",
    "stream_options",
    "metadata",
    "temperature",
    "top_p",
    "sandbox",
    "pdfs",
}
_KNOWN = _COMMON | _CHAT_ONLY | _RESPONSES_ONLY | _FORWARDED | _WITHOUT_EFFECT | _IGNORED

_NO_TOOLS = "The caller's tools are not supported."
_ONE_ANSWER = "Only one answer is returned; send several requests."
_NO_LOGPROBS = "Log probabilities are not returned."
_NO_IDS = "Token ids are not returned; the run's record has them."
_AS_MESSAGES = "The prompt is made of the messages."
_AS_TEXT = "The answer is text without special tokens and stop texts."
_ONLY: dict[str, tuple[tuple[Any, ...], str]] = {
    "n": ((1,), _ONE_ANSWER),
    "best_of": ((1,), _ONE_ANSWER),
    "use_beam_search": ((False,), _ONE_ANSWER),
    "logprobs": ((False,), _NO_LOGPROBS),
    "top_logprobs": ((0,), _NO_LOGPROBS),
    "n_probs": ((0,), _NO_LOGPROBS),
    "echo": ((False,), "The prompt is not returned."),
    "suffix": (("",), "Nothing follows the answer."),
    "add_generation_prompt": ((True,), _AS_MESSAGES),
    "add_special_tokens": ((False,), _AS_MESSAGES),
    "continue_final_message": ((False,), _AS_MESSAGES),
    "skip_special_tokens": ((True,), _AS_TEXT),
    "include_stop_str_in_output": ((False,), _AS_TEXT),
    "no_stop_trim": ((False,), _AS_TEXT),
    "separate_reasoning": ((True,), "Reasoning is not a part of the answer."),
    "return_tokens": ((False,), _NO_IDS),
    "return_token_ids": ((False,), _NO_IDS),
    "return_tokens_as_token_ids": ((False,), _NO_IDS),
    "return_hidden_states": ((False,), "Hidden states are not returned."),
    "tools": (([],), _NO_TOOLS),
    "functions": (([],), _NO_TOOLS),
    "tool_choice": (("auto", "none"), _NO_TOOLS),
    "function_call": (("auto", "none"), _NO_TOOLS),
    "modalities": ((["text"],), "Only text is returned."),
    "background": ((False,), "Keep the connection open, or stream."),
}
"""Parameters that change what is returned: only the values without effect are accepted."""

_REFUSED = {
    "audio", "prediction", "web_search_options", "conversation", "prompt", "max_tool_calls",
    "moderation", "context_management", "image", "access_programs",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """What a request asks for, besides its messages.

    Attributes:
        model: The model's id here, ``NAME`` or ``NAME@sandbox``.
        stop: Texts that end the answer; for a run with a sandbox they shorten its answer only.
        echo: The request's values that a response repeats.
        notices: Sentences on what was ignored.
    """

    model: str
    spec: RunSpec = field(default_factory=RunSpec)
    stream: bool = False
    include_usage: bool = False
    metadata: Mapping[str, str] = field(default_factory=dict)
    stop: tuple[str, ...] = ()
    echo: Mapping[str, Any] = field(default_factory=dict)
    notices: tuple[str, ...] = ()


def parse_parameters(body: Body, *, chat: bool) -> Parameters:
    """Return a request's parameters; refuse what is unknown, or would change the answer."""
    given = {name: value for name, value in body.items() if value is not None}
    model = given.get("model")
    if not isinstance(model, str) or not model:
        raise ApiError("Name a model: GET /v1/models lists them.", param="model")
    name = model.removesuffix(SANDBOX_SUFFIX)
    has_sandbox = name != model
    _refuse_unsupported(given, _RESPONSES_ONLY if chat else _CHAT_ONLY)
    if "sandbox" in given and not has_sandbox:
        raise ApiError(f"sandbox is for {model}{SANDBOX_SUFFIX} only.", param="sandbox")
    if "pdfs" in given and has_sandbox:
        raise ApiError(f"pdfs is for {name}: {model} opens PDFs itself.", param="pdfs")
    forwarded = {name: given[name] for name in _FORWARDED & given.keys()}
    forwarded |= _reasoning(given.get("reasoning"))
    param, output = _output_format(given, chat=chat)
    if output is not None and has_sandbox:
        raise ApiError(
            "A run with a sandbox answers with text; ask for a file instead.", param=param
        )
    if output is not None:
        forwarded["response_format"] = output
    ignored = ", ".join(sorted(_IGNORED & given.keys()))
    stop = _stops(given.get("stop"))
    if stop and not has_sandbox:
        forwarded["stop"] = list(stop)
    if name == BUILTIN_ID:
        _refuse_for_builtin(forwarded)
    sampling = {each: forwarded.pop(each, given.get(each)) for each in _SAMPLING}
    spec = RunSpec.of({
        "model": name,
        "mode": "sandbox" if has_sandbox else "plain",
        "pdfs": given.get("pdfs"),
        **({} if name == BUILTIN_ID else sampling),
        "effort": forwarded.pop("reasoning_effort", None),
        "verbosity": forwarded.pop("verbosity", None),
        "max_tokens": _max_tokens(given),
        "extra_body": forwarded,
        **_sandbox_fields(given.get("sandbox")),
    })  # fmt: skip
    return Parameters(
        model=model,
        spec=spec,
        stream=_flag(given, "stream"),
        include_usage=_flag(_object(given, "stream_options"), "include_usage"),
        metadata=_metadata(given),
        stop=stop if has_sandbox else (),
        echo=given,
        notices=(f"Ignored, since it is for the server of a model: {ignored}.",) if ignored else (),
    )


def _refuse_for_builtin(forwarded: Body) -> None:
    """Refuse what the built-in model would ignore, except how it samples."""
    for name in forwarded.keys() - set(_SAMPLING):
        raise ApiError(
            f"The built-in model does not support {name}.",
            param=name,
            code="unsupported_parameter",
        )


def _sandbox_fields(value: Any) -> dict[str, Any]:
    """Return what ``sandbox`` sets, by the names of ``RunSpec``."""
    value = {} if value is None else value
    if not isinstance(value, dict):
        raise ApiError("sandbox must be an object.", param="sandbox")
    names = {shown: name for name, shown in SANDBOX_FIELDS.items()}
    for shown in value.keys() - names:
        raise ApiError(
            f"sandbox: “{shown:.60}” is none of {', '.join(names)}.", param=f"sandbox.{shown:.60}"
        )
    return {names[shown]: each for shown, each in value.items()}


def _refuse_unsupported(given: Body, of_other_route: set[str]) -> None:
    for name, value in given.items():
        accepted, why = _ONLY.get(name, ((), ""))
        if name in _REFUSED or (name in _ONLY and value not in accepted):
            raise ApiError(
                f"{name} is not supported with this value. {why}".strip(),
                param=name,
                code="unsupported_parameter",
            )
        if name in of_other_route or name not in _KNOWN | _ONLY.keys():
            raise ApiError(
                f"Unknown parameter: {name[:100]}.", param=name[:100], code="unknown_parameter"
            )


def _reasoning(value: Any) -> dict[str, Any]:
    """Return the field of ``reasoning`` that chat endpoints know."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ApiError("reasoning must be an object.", param="reasoning")
    effort = value.get("effort")
    return {} if effort is None else {"reasoning_effort": effort}


def _output_format(given: Body, *, chat: bool) -> tuple[str, Any]:
    """Return the asked format as ``response_format``, and its parameter; None for text."""
    if chat:
        value, name = given.get("response_format"), "response_format"
    else:
        value, name = _object(given, "text").get("format"), "text.format"
    if value is None:
        return name, None
    if not isinstance(value, dict):
        raise ApiError(f"{name} must be an object.", param=name)
    if value.get("type") == "text":
        return name, None
    if not chat and value.get("type") == "json_schema":
        schema = {key: each for key, each in value.items() if key != "type"}
        return name, {"type": "json_schema", "json_schema": schema}
    return name, value


def _stops(value: Any) -> tuple[str, ...]:
    stops = [value] if isinstance(value, str) else value or []
    valid = isinstance(stops, list) and all(isinstance(each, str) for each in stops)
    if not valid or len(stops) > _MAX_STOPS:
        raise ApiError(f"stop must be a text or up to {_MAX_STOPS} texts.", param="stop")
    return tuple(each for each in stops if each)


def _metadata(given: Body) -> dict[str, str]:
    value = _object(given, "metadata")
    for key, text in value.items():
        if not isinstance(text, str) or len(key) > _MAX_KEY or len(text) > _MAX_VALUE:
            raise ApiError(
                f"metadata: a key has at most {_MAX_KEY} characters, a value is a text of at most "
                f"{_MAX_VALUE}.",
                param="metadata",
            )
    if len(value) > _MAX_PAIRS:
        raise ApiError(f"metadata has at most {_MAX_PAIRS} pairs.", param="metadata")
    return value


def _max_tokens(given: Body) -> int | None:
    name = next(
        (
            name
            for name in ("max_completion_tokens", "max_output_tokens", "max_tokens")
            if name in given
        ),
        None,
    )
    if name is None:
        return None
    value = given[name]
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 10_000_000:
        raise ApiError(f"{name} must be a positive number.", param=name)
    return value


def _flag(given: Body, name: str) -> bool:
    value = given.get(name, False)
    if not isinstance(value, bool | None):
        raise ApiError(f"{name} must be true or false.", param=name)
    return bool(value)


def _object(given: Body, name: str) -> dict[str, Any]:
    value = given.get(name) or {}
    if not isinstance(value, dict):
        raise ApiError(f"{name} must be an object.", param=name)
    return value
