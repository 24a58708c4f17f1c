"""Compares expressions, a line each: ``[answer, truth]`` in JSON, ``equal`` or ``other`` back.

When it is ``ready`` it says so. It imports nothing of ours: it is run by its path.
"""

import json
import logging
import os
import resource
import sys

MEMORY = 1024**3
"""Bytes of address space."""


def main() -> None:
    """Answer each line of stdin until it ends."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a library prints is no answer
    import math_verify  # noqa: F401 - loaded before the first question

    logging.disable()
    answers.write("ready\n")
    for line in sys.stdin:
        answer, truth = json.loads(line)
        answers.write("equal\n" if _equal(answer, truth) else "other\n")


def _equal(answer: str, truth: str) -> bool:
    from math_verify import verify

    try:
        wanted, said = _parsed(truth), _parsed(answer)
        return bool(wanted and said and verify(wanted, said, timeout_seconds=None))
    except Exception:  # noqa: BLE001 - whatever a hostile expression does to the library
        return False


def _parsed(expression: str) -> list[object]:
    from math_verify import LatexExtractionConfig, parse

    # In a box the whole is taken; else the library would look for the last number in it.
    found: list[object] = parse(
        f"\\boxed{{{expression}}}",
        extraction_config=(LatexExtractionConfig(),),
        fallback_mode="no_fallback",
        parsing_timeout=None,
    )
    return found


if __name__ == "__main__":
    main()
