"""Counting the bytes that the application sends."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class ByteCounter:
    """Counts the bytes of all response bodies."""

    def __init__(self) -> None:
        self.bytes = 0

    def middleware(self, app: ASGIApp) -> ASGIApp:
        """Wrap the application, as ASGI middleware."""

        async def counting_app(scope: Scope, receive: Receive, send: Send) -> None:
            async def counting_send(message: Message) -> None:
                self.bytes += len(message.get("body", b""))
                await send(message)

            await app(scope, receive, counting_send)

        return counting_app
