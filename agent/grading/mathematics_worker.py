"""Worker process that compares expressions with math-verify.

It writes ``ready`` first; requests are lines of JSON, ``[answer, truth]`` or ``["reference",
answer, truth]``, and each reply is ``equal`` or ``other``. The file is run by its path, so it
imports no module of this project.
"""

import json
import logging
import os
import resource
import sys

MAX_MEMORY_BYTES = 1024**3  # of address space


def main() -> None:
    """Answer each line of stdin until it ends."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # keep output of libraries out of the replies
    import math_verify  # noqa: F401 - load it before the first request

    logging.disable()
    answers.write("ready\n")
    for line in sys.stdin:
        *mode, answer, truth = json.loads(line)
        equal = _reference_equal(answer, truth) if mode else _equal(answer, truth)
        answers.write("equal\n" if equal else "other\n")


def _equal(answer: str, truth: str) -> bool:
    from math_verify import verify

    try:
        expected, actual = _parse(truth), _parse(answer)
        return bool(expected and actual and verify(expected, actual, timeout_seconds=None))
    except Exception:  # noqa: BLE001 - a hostile expression can raise any error
        return False


def _reference_equal(answer: str, truth: str) -> bool:
    from math_verify.metric import math_metric
    from math_verify.parser import ExprExtractionConfig, LatexExtractionConfig

    metric = math_metric(
        gold_extraction_target=(LatexExtractionConfig(),),
        pred_extraction_target=(ExprExtractionConfig(), LatexExtractionConfig()),
    )
    try:
        value, _ = metric([f"\\boxed{{{truth}}}"], [f"\\boxed{{{answer}}}"])
        return bool(value)
    except Exception:  # noqa: BLE001 - a hostile expression can raise any error
        return False


def _parse(expression: str) -> list[object]:
    from math_verify import LatexExtractionConfig, parse

    # The box makes the library take the whole expression, not just its last number.
    found: list[object] = parse(
        f"\\boxed{{{expression}}}",
        extraction_config=(LatexExtractionConfig(),),
        fallback_mode="no_fallback",
        parsing_timeout=None,
    )
    return found


if __name__ == "__main__":
    main()
