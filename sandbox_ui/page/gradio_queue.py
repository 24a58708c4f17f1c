"""Event-driven replacement for Gradio's polling queue, with session owners."""

import asyncio
import secrets
import time
from typing import Any, Literal

import fastapi
from gradio import Blocks
from gradio.data_classes import PredictBodyInternal
from gradio.queueing import Event, Queue
from gradio.server_messages import EventMessage
from gradio.utils import run_coro_in_background, set_task_name

from sandbox_ui.auth.access import get_access

_PushResult = tuple[
    bool,
    str | list[dict[str, Any]],
    Literal["success", "error", "queue_full", "validator_error"],
]
_OTHER_USER_MESSAGE = "This session belongs to another user. Reload the page."


class _OwnedMessages(asyncio.Queue[EventMessage]):
    """Pending messages of one session, which only its owner may receive."""

    def __init__(self, owner: str) -> None:
        super().__init__()
        self.owner = owner


class OwnedQueue(Queue):
    """Queue that sleeps while idle and knows the owner of each session; Gradio's polls."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._changed = asyncio.Event()

    @classmethod
    def install(cls, blocks: Blocks) -> "OwnedQueue":
        """Give Blocks that are not served yet a queue of this class."""
        original = blocks._queue
        blocks._queue = queue = cls(
            live_updates=original.live_updates,
            concurrency_count=original.max_thread_count,
            update_intervals=original.update_intervals,
            max_size=original.max_size,
            blocks=blocks,
            default_concurrency_limit=original.default_concurrency_limit,
        )
        return queue

    def start(self) -> None:
        """Start processing in the running event loop."""
        self._changed = asyncio.Event()
        super().start()  # type: ignore[no-untyped-call]

    def close(self) -> None:
        """Stop processing; waiting calls are not started."""
        super().close()  # type: ignore[no-untyped-call]
        self._changed.set()

    async def push(
        self, body: PredictBodyInternal, request: fastapi.Request, username: str | None
    ) -> _PushResult:
        """Queue a call in a session of the caller's."""
        owner = get_access(request).result_owner
        body.session_hash = session = body.session_hash or secrets.token_urlsafe(16)
        if self.owner_of(session) not in (None, owner):
            return False, _OTHER_USER_MESSAGE, "error"
        if session not in self.pending_messages_per_session:
            self.pending_messages_per_session[session] = _OwnedMessages(owner)
        result = await super().push(body, request, username)
        self._changed.set()
        return result

    async def process_events(
        self, events: list[Event], batch: bool, begin_time: float, fn: Any
    ) -> None:
        """Call a function, then let the next call start."""
        try:
            await super().process_events(events, batch, begin_time, fn)
        finally:
            self._changed.set()

    async def start_processing(self) -> None:
        """Start calls after each arrival or completion, until the queue is closed."""
        try:
            while not self.stopped:
                self._changed.clear()
                async with self.delete_lock:
                    self._start_ready()
                await self._changed.wait()
        finally:
            self.stopped = True
            self._cancel_asyncio_tasks()  # type: ignore[no-untyped-call]

    async def start_progress_updates(self) -> None:
        """Return at once: nothing in the page uses ``gr.Progress``."""

    def owner_of(self, session: str) -> str | None:
        """Return the owner of a session; None if it is unknown."""
        messages = self.pending_messages_per_session.get(session)
        return messages.owner if isinstance(messages, _OwnedMessages) else None

    def owner_of_event(self, event_id: str) -> str | None:
        """Return the owner of a call that waits, runs or has unsent results, if any."""
        event = self.event_ids_to_events.get(event_id)
        if event is not None:
            return self.owner_of(event.session_hash)
        sessions = self.pending_event_ids_session.items()
        return next((self.owner_of(each) for each, ids in sessions if event_id in ids), None)

    def _start_ready(self) -> None:
        """Start all calls that may start now; as in Gradio's ``Queue.start_processing``."""
        while None in self.active_jobs and (ready := self.get_events()):
            events, batch, concurrency_id = ready
            self.active_jobs[self.active_jobs.index(None)] = events
            concurrency_queue = self.event_queue_per_concurrency_id[concurrency_id]
            concurrency_queue.current_concurrency += 1
            start_time, fn = time.time(), events[0].fn
            concurrency_queue.start_times_per_fn[fn].add(start_time)
            for event in events:
                if (analytics := self.event_analytics.get(event._id)) is not None:
                    analytics["status"] = "processing"
            task = run_coro_in_background(self.process_events, events, batch, start_time, fn)
            set_task_name(task, events[0].session_hash, fn._id, events[0]._id, batch)
            self._asyncio_tasks.add(task)
            task.add_done_callback(self._asyncio_tasks.discard)
            if self.live_updates:
                self.broadcast_estimations(concurrency_id)
