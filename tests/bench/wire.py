"""What leaves the application."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class ByteCounter:
    """Counts the bytes of all answers' bodies, as they leave the application."""

    def __init__(self) -> None:
        self.bytes = 0

    def middleware(self, app: ASGIApp) -> ASGIApp:
        """The application, counted."""

        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            async def sending(message: Message) -> None:
                self.bytes += len(message.get("body", b""))
                await send(message)

            await app(scope, receive, sending)

        return counted
