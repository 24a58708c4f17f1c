"""Path prefix under which a reverse proxy serves the studio."""

from starlette.types import ASGIApp, Receive, Scope, Send


class PathPrefix:
    """Accepts requests with and without the prefix, since proxies send either."""

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app = app
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request."""
        if scope["type"] == "http" and self._prefix:
            path: str = scope["path"]
            has_prefix = path == self._prefix or path.startswith(f"{self._prefix}/")
            full_path = path if has_prefix else self._prefix + path
            scope = {**scope, "path": full_path, "root_path": self._prefix}
        await self._app(scope, receive, send)


def path_without_prefix(scope: Scope) -> str:
    """Return a request's path without the prefix; it starts with a slash."""
    path: str = scope["path"].removeprefix(scope.get("root_path", ""))
    return path or "/"
