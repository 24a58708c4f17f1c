"""Detection of refusals because of the context's or the answer's length."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent.errors import ContextTooLong, MaxTokensTooHigh

_N = r"(?P<{}>\d[\d,_]*)"
_LIMIT, _USED, _GRANT = _N.format("limit"), _N.format("used"), _N.format("grant")

_ANSWER = [
    rf"can only afford {_GRANT}",  # OpenRouter, with 402
    rf"supports at most {_GRANT} completion tokens",  # OpenAI
    rf"valid range of max_(?:completion_)?tokens is \[\d+, ?{_GRANT}\]",  # DeepSeek, DashScope
    rf"max_tokens: \d+ > {_GRANT}, which is the maximum allowed number of output",  # Anthropic
    rf"max_(?:completion_)?tokens`? must be less than or equal to `?{_GRANT}",  # Groq
    rf"max_(?:completion_)?tokens\D{{0,40}}(?:at most|maximum(?: of)?|exceeds?|<=) {_GRANT}",
    r"fewer max_tokens",
    r"max_(?:completion_)?tokens['\"`]? (?:is |value )?(?:too (?:large|big|high)|exceeds)",
]
_CONTEXT = [
    # vLLM, if the answer's budget exceeds the remaining context
    rf"maximum context length is {_LIMIT} tokens and your request has {_USED} input tokens",
    # OpenAI, DeepSeek, vLLM, OpenRouter: tokens of the messages, without the answer
    rf"maximum context length (?:is|of) {_LIMIT} tokens.{{0,80}}requested.{{0,60}}"
    rf"\({_USED} (?:in the messages|of text input)",
    # SGLang
    rf"maximum context length of {_LIMIT} tokens.{{0,80}}: {_USED} tokens from the input",
    # OpenAI, vLLM, OpenRouter
    rf"maximum context length (?:is|of) {_LIMIT} tokens.{{0,80}}(?:resulted in|request has|"
    rf"requested(?: about)?) {_USED}",
    # recent vLLM
    rf"passed {_USED} input tokens.{{0,80}}context length is only {_LIMIT}",
    # vLLM with the V1 engine
    rf"prompt \(length {_USED}\) is longer than the maximum model length of {_LIMIT}",
    # SGLang
    rf"input \({_USED} tokens\) is longer than the model's context length \({_LIMIT} tokens\)",
    # llama.cpp
    rf"request \({_USED} tokens\) exceeds the available context size \({_LIMIT} tokens\)",
    rf"exceeds the available context size \({_LIMIT} tokens\)",
    r"exceeds? the available context size",
    rf"Requested tokens \({_USED}\) exceed context window of {_LIMIT}",  # llama-cpp-python
    rf"prompt is too long: {_USED} tokens > {_LIMIT} maximum",  # Anthropic
    rf"exceed context limit: {_USED} \+ \d+ > {_LIMIT}",  # Anthropic
    rf"Prompt contains {_USED} tokens.{{0,60}}model with {_LIMIT} maximum",  # Mistral
    rf"input token count \({_USED}\) exceeds.{{0,60}}\({_LIMIT}\)",  # Gemini
    rf"`max_new_tokens` must be <= {_LIMIT}\. Given: {_USED} `inputs`",  # TGI
    rf"maximum prompt length is {_LIMIT} but the request contains {_USED}",  # xAI
    rf"input length should be \[\d+, ?{_LIMIT}\]",  # DashScope
    rf"model token limit: {_LIMIT}(?: \(requested: {_USED}\))?",  # Moonshot
    rf"keep the first {_USED} tokens.{{0,120}}context length of only {_LIMIT}",  # LM Studio
    rf"token count of {_USED} exceeds the limit of {_LIMIT}",  # GitHub Copilot
    rf"token count {_USED} exceeds model max context {_LIMIT}",  # proxies of Copilot
    rf"Request body too large.{{0,80}}Max size: {_LIMIT} tokens",  # GitHub Models
    rf"n_keep: {_USED}\s*>=?\s*n_ctx: {_LIMIT}",  # LM Studio
    rf"context length of \S{{1,100}} is {_LIMIT}\.?.{{0,80}}will take {_USED} tokens",  # SambaNova
    rf"Prompt length \({_USED}\) exceeds maximum sequence length \({_LIMIT}\)",  # TensorRT-LLM
    # OpenAI and Groq: one request exceeds the quota per minute; waiting does not help
    rf"Request too large.{{0,200}}Limit {_LIMIT}, Requested {_USED}",
    rf"maximum context length (?:is|of) {_LIMIT}",
    r"context[_ ](?:length|window|size)[_ ]?(?:is |was |has been )?(?:exceed|overflow)",
    r"exceed\w* (?:the )?(?:\w+(?:'s)? )?(?:maximum )?(?:context|max length|input length)",
    r"(?:input|prompt) is too long|too many (?:input |prompt )?tokens|input tokens exceed",
    rf"conversation has {_USED} tokens; the model's context has {_LIMIT}",  # the built-in model
    r"max_tokens must be at least 1, got -",  # old vLLM
    r"Request too large",
    r"greater than the context length",  # LM Studio
    r"ContextWindowExceededError",  # LiteLLM
    r"reduce the length of the (?:messages|prompt|input)",  # OpenAI, Groq
]
_CONTEXT_ERROR_CODES = {
    "context_length_exceeded",
    "exceed_context_size_error",
    "context_window_exceeded",
    "model_max_prompt_tokens_exceeded",
    "tokens_limit_reached",
}


@dataclass(frozen=True, slots=True)
class ErrorDetails:
    """The content of an error response: a text for display, codes, and tokens if it states them."""

    text: str
    codes: frozenset[str] = frozenset()
    limit: int | None = None
    used: int | None = None


def length_error(details: ErrorDetails, message: str) -> ContextTooLong | MaxTokensTooHigh | None:
    """Return the length error with text ``message``; None for other refusals."""
    context, answer = first_match(_CONTEXT, details.text), first_match(_ANSWER, details.text)
    if answer is not None and (context is None or answer.re.pattern == _ANSWER[0]):
        return MaxTokensTooHigh(message, _number(answer, "grant"))
    if context is None and not details.codes & _CONTEXT_ERROR_CODES:
        return None
    limit, used = _number(context, "limit"), _number(context, "used")
    return ContextTooLong(message, details.limit or limit, details.used or used)


def first_match(patterns: Sequence[str], text: str) -> re.Match[str] | None:
    """Return the first match of any pattern; they are compiled on first use, not at each start."""
    matches = (re.search(each, text, re.IGNORECASE | re.DOTALL) for each in patterns)
    return next(filter(None, matches), None)


def _number(match: re.Match[str] | None, group: str) -> int | None:
    value = match.groupdict().get(group) if match else None
    # A number with more than 12 digits is not a context length, and may be slow to convert.
    digits = re.sub(r"[,_]", "", value) if value else ""
    return int(digits) if 0 < len(digits) <= 12 else None
