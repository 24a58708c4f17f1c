"""Every state of a run in the timeline, for every role, at both widths, in light and dark."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from playwright.sync_api import expect

from agent.events import (
    Event,
    Preparing,
    ReasoningDelta,
    Retrying,
    SandboxReady,
    Status,
    StepStarted,
)
from tests.support.component.accessibility import violations
from tests.support.component.events import bash, ended, started, step
from tests.support.component.stage import Look, Role, Stage, looks
from tests.support.tab import WIDE

pytestmark = [pytest.mark.component, pytest.mark.thorough]

READY = SandboxReady(sandbox="s", seconds=1.0, pooled=False)
TASK = started("Chart the length of the day")
COLOURS = ["color-contrast"]


@dataclass(frozen=True)
class State:
    """A state of a run: what the timeline and the header say, and which buttons its owner has."""

    name: str
    events: Sequence[Event]
    says: Sequence[str]
    label: str
    offers: Sequence[str] = ()


def preparing(name: str, event: Preparing, label: str, *says: str) -> State:
    return State(name, [TASK, event], says, label)


def over(status: Status, title: str, label: str, *, reason: str = "", answer: str = "") -> State:
    events = [TASK, READY, *step(1, bash("echo one", "one")), ended(status, answer, reason)]
    says = [title, *filter(None, (reason, answer))]
    offers = ["Retry", "Open settings"] if status == "failed" else []
    return State(status, events, says, label, offers)


DETAIL = "2nd in the queue; each user may have 3 runs in progress"
WRITING: list[Event] = [TASK, READY, StepStarted(step=1, note="")]
RUNNING: list[Event] = [
    TASK,
    READY,
    *step(1, replace(bash("sleep 600", "rendering"), is_running=True)),
]
STATES = (
    preparing("queued", Preparing(state="queued", detail=DETAIL), "2nd in the queue", DETAIL),
    preparing(
        "first-in-the-queue",
        Preparing(state="queued", detail="1st in the queue"),
        "1st in the queue",
        "1st in the queue. It starts automatically.",
    ),
    preparing(
        "preparing-image",
        Preparing(state="preparing_image", detail="python3-numpy", progress=0.42),
        "preparing image 42%",
        "python3-numpy",
    ),
    preparing("starting", Preparing(state="starting_sandbox"), "starting a sandbox"),
    State("waiting-for-the-model", WRITING, ["waiting for the model"], "waiting for the model"),
    State(
        "thinking", [*WRITING, ReasoningDelta(step=1, text="First I count.")], ["Thinking"],
        "thinking",
    ),
    State("running-a-command", RUNNING, ["running", "rendering"], "running a command"),
    State(
        "retrying", [*WRITING, Retrying(step=1, attempt=1, reason="Overloaded", wait=20.0)],
        ["Overloaded", "in "], "retrying",
    ),
    over("submitted", "Answer", "submitted", answer="16 h 53 min"),
    over("answered", "Answer", "answered", answer="16 h 53 min"),
    over("stopped", "Stopped", "stopped"),
    over("failed", "Failed", "failed", reason="Incorrect API key provided."),
    over("step_limit", "Step limit reached", "step limit reached", reason="It took 1 step."),
    over("token_limit", "Token limit reached", "token limit reached", reason="It is full."),
    over("budget_limit", "Budget reached", "budget reached", reason="It cost 1."),
    over("time_limit", "Time limit reached", "time limit reached", reason="It took 1 h."),
)  # fmt: skip


@pytest.mark.parametrize("role", ["owner", "user", "guest"])
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.name)
def test_a_state_is_shown_to_every_role(stage: Stage, state: State, role: Role) -> None:
    stage.mount("header", "timeline", run=state.events, look=Look(role))
    for text in state.says:
        expect(stage.timeline).to_contain_text(text)
    expect(stage.state).to_contain_text(state.label)
    for name in state.offers:
        button = stage.timeline.get_by_role("button", name=name, exact=True)
        expect(button).to_have_count(int(role == "owner"))
    for look in looks(roles=[role]):
        stage.change_look(look)
        assert stage.page.evaluate("document.documentElement.scrollWidth") <= look.size[0], look
        if role == "owner" and look.size == WIDE:  # who sees the most; colours depend on the theme
            assert violations(stage.page, COLOURS) == [], look
