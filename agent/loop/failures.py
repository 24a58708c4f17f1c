"""Failures of the model itself, as opposed to those of its endpoint or of the sandbox."""

EMPTY_ANSWER = "The model wrote no text and called no tool. Try again, or choose another model."
NO_TOOLS_MESSAGE = (
    "The model called tools twice in a row, but a run in plain mode has none. Start the run with a "
    "sandbox, or choose another model."
)
FALSE_CLAIM = (
    "The model reported that {path} is done, but {problem}. Rephrase the task, or "
    "connect a larger model."
)


def is_models_failure(reason: str) -> bool:
    """Whether the reason for which a run failed is something that the model did."""
    return reason in (EMPTY_ANSWER, NO_TOOLS_MESSAGE) or reason.startswith(
        FALSE_CLAIM.partition("{")[0]
    )
