"""What endpoints of chat completions require, as their refusals say it."""

from itertools import pairwise

from agent.models.chat import changes
from agent.models.endpoint.api import Body, Requirement
from agent.models.endpoint.pictures import REFUSES_PICTURES


def _roles(messages: list[Body]) -> list[tuple[str, str]]:
    roles = [str(message.get("role")) for message in messages]
    return list(pairwise(roles))


_SIGNATURE = r"missing a `?thought_signature|thought_signature\b.{0,40}(?:missing|required)"
_ALTERNATE = r"roles? must alternate|alternate user/assistant|alternating (?:user|roles)"
_BETWEEN_NOTICE = (
    "This endpoint accepts no message of the user after a tool's result; a message of the model "
    "is sent between them."
)

REQUIREMENTS = (
    Requirement(
        r"reasoning_content\b.{0,80}(?:must be (?:passed|provided|included|sent|preserved)|"
        r"is (?:missing|required))|(?:missing|requires?|pass back)\b.{0,40}reasoning_content",
        changes.REASONING_REQUIRED,
        "This model requires the reasoning of each of its calls; it is sent back, also where it "
        "is empty.",
        lambda body: any(
            message.get("tool_calls") and "reasoning_content" not in message
            for message in body["messages"]
        ),
    ),
    Requirement(
        _SIGNATURE,
        changes.VERTEX_SIGNATURES,
        "This endpoint is Vertex AI's; signatures are sent as it expects them.",
        lambda body: changes.has_placeholder(body["messages"], "google"),
    ),
    Requirement(
        _SIGNATURE,
        changes.GOOGLE_SIGNATURES,
        "This model requires a signature of each call; for calls of other models, the placeholder "
        "is sent.",
        lambda body: any(
            calls and not any("extra_content" in call for call in calls)
            for calls in (message.get("tool_calls") for message in body["messages"])
        ),
    ),
    Requirement(
        r"content\b.{0,80}(?:'null' not in 'string'|(?:must|should) be a (?:valid )?string|"
        r"(?:cannot|can't|must not|may not) be null|null is not|not of type 'string'|"
        r"expected a string)|"
        r"(?:null|none)\b.{0,40}\bcontent",
        changes.CONTENT_AS_TEXT,
        "This endpoint requires a text in each message; it is sent empty where there is none.",
        lambda body: any(message.get("content") is None for message in body["messages"]),
    ),
    Requirement(
        r"content\b.{0,60}(?:must not be|cannot be|can't be|must be non-?|should not be)"
        r" ?empty|"
        r"message\b.{0,60}must not be empty|empty (?:message )?content",
        changes.CONTENT_NOT_EMPTY,
        "This endpoint accepts no empty message; “(no text)” is sent instead.",
        lambda body: any(not message.get("content") for message in body["messages"]),
    ),
    Requirement(
        r"(?:tool.?call.{0,4}\bid\b|tool_calls?\b.{0,20}\bid\b|\bid\b).{0,120}(?:length of 9|"
        r"maximum length|too long|match(?:es)? (?:the )?pattern)",
        changes.SHORT_CALL_IDS,
        "This endpoint requires call ids of nine letters and digits; others are replaced.",
        lambda body: any("tool_call_id" in message for message in body["messages"]),
    ),
    Requirement(
        r"unexpected role ['\"]?user['\"]? after role ['\"]?tool",
        changes.ASSISTANT_AFTER_TOOL,
        _BETWEEN_NOTICE,
        lambda body: ("tool", "user") in _roles(body["messages"]),
    ),
    Requirement(
        _ALTERNATE,
        changes.MERGED_ROLES,
        "This endpoint requires that the user and the model take turns; consecutive messages are "
        "merged.",
        lambda body: any(one == other != "tool" for one, other in _roles(body["messages"])),
    ),
    Requirement(
        _ALTERNATE,
        changes.ASSISTANT_AFTER_TOOL,
        _BETWEEN_NOTICE,
        lambda body: ("tool", "user") in _roles(body["messages"]),
    ),
    Requirement(
        r"system(?: role| message| prompt|['\"])\W.{0,30}not (?:be )?(?:supported|allowed|"
        r"accepted)|not support (?:the )?['\"]?(?:system|developer)",
        changes.SYSTEM_AS_USER,
        "This model accepts no system prompt; it is sent with the first message instead.",
        lambda body: bool(body["messages"]) and body["messages"][0].get("role") == "system",
        any_status=True,
    ),
    REFUSES_PICTURES,
)
