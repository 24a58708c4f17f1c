"""What a run's steps do not keep: times before the first answer, and the hosts reached."""

from dataclasses import dataclass, field

from agent.events import (
    CallDelta,
    Event,
    ReasoningDelta,
    Retrying,
    RunContinued,
    RunEnded,
    RunStarted,
    StepStarted,
    TextDelta,
    ToolEnded,
)
from agent.runs.metrics.picture_tokens import PictureTokens

MAX_HOSTS = 100
"""Maximum number of hosts to name; the requests to further ones are counted in ``requests``."""


@dataclass
class Tally:
    """Figures that are counted while the events of a run are applied.

    ``first_token`` is in seconds from the beginning of the first step; ``waiting`` in seconds in
    the queue, until the sandbox was ready, and before another attempt; ``hosts`` has the bytes
    received from each in allowed requests.
    """

    first_token: float | None = None
    waiting: float = 0.0
    hosts: dict[str, int] = field(default_factory=dict)
    requests: int = 0
    refused: int = 0
    prompt_characters: int | None = None
    round_began: float | None = None
    first_step_began: float | None = None
    pictures: PictureTokens = field(default_factory=PictureTokens)

    def apply(self, event: Event) -> None:
        """Count one event."""
        self.pictures.apply(event)
        match event:
            case RunStarted() | RunContinued():
                self.round_began = event.at
                if isinstance(event, RunStarted):
                    earlier = sum(len(message.text) for message in event.history)
                    self.prompt_characters = len(event.system) + earlier + len(event.user)
            case StepStarted():
                self._end_waiting(event.at)
                if self.first_step_began is None:
                    self.first_step_began = event.at
            case RunEnded():
                self._end_waiting(event.at)
            case ReasoningDelta() | TextDelta() | CallDelta():
                if self.first_token is None and self.first_step_began is not None:
                    self.first_token = max(0.0, event.at - self.first_step_began)
            case Retrying():
                self.waiting += event.wait
            case ToolEnded():
                self._count_requests(event)
            case _:
                pass

    def _end_waiting(self, at: float) -> None:
        """End the time between the beginning of a round and its first step."""
        if self.round_began is not None:
            self.waiting += max(0.0, at - self.round_began)
            self.round_began = None

    def _count_requests(self, event: ToolEnded) -> None:
        for request in event.requests:
            self.requests += 1
            if request.refused:
                self.refused += 1
            elif request.host in self.hosts or len(self.hosts) < MAX_HOSTS:
                self.hosts[request.host] = self.hosts.get(request.host, 0) + request.received
