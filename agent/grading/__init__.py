"""Grading: what an answer is worth, from 0 to 1.

``grade`` is the only place that compares answers; ``checks.CHECKS`` says how they can be compared.
"""

from agent.grading.checks import CHECKS, Check, CheckInfo, Expected, Grade, JudgeAccess
from agent.grading.grade import grade, is_right

__all__ = ["CHECKS", "Check", "CheckInfo", "Expected", "Grade", "JudgeAccess", "grade", "is_right"]
