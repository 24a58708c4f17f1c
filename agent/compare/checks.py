"""The ways in which an answer is compared with the expected one."""

from typing import Literal, get_args

Check = Literal["exact", "contains", "number", "choice", "math", "f1", "rouge_l", "judge"]
CHECKS: tuple[Check, ...] = get_args(Check)
