"""A request for an evaluation, parsed strictly."""

from typing import Any

from pydantic import Field

from agent.grading.checks import Extraction
from sandbox_ui.compare.request import Few, JudgeRequest, StrictRequest


class SuiteRequest(StrictRequest):
    """A suite as a client asks for it.

    Attributes:
        path: The authors' data on the server, which only the operator may name.
        upload: The same below ``input/`` of the draft; both empty: the packaged sample.
        extraction: How final answers are found in the texts.
    """

    name: str
    path: str = Field("", max_length=4096)
    upload: str = Field("", max_length=4096)
    extraction: Extraction = "lenient"


class EvaluationRequest(StrictRequest):
    """An evaluation as a client asks for it; ``inputs`` is a draft with uploads, or empty."""

    suites: Few[SuiteRequest]
    members: Few[dict[str, Any]]
    inputs: str = ""
    title: str = ""
    baseline: int = 0
    repetitions: int = 1
    at_once: int = 4
    limit: int | None = Field(None, ge=1)
    judge: JudgeRequest | None = None
