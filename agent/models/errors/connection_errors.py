"""Error messages for network failures."""

import socket
import ssl

from agent.errors import ModelUnavailable
from agent.models.errors.failures import Endpoint
from agent.models.transport.redaction import redact

CONNECT_TIMEOUT_SECONDS = 15.0


def connection_error(
    error: BaseException, endpoint: Endpoint, read_timeout: float
) -> ModelUnavailable:
    """Return the error for a request that failed before or during an answer."""
    causes = _causes(error)
    names = " ".join(type(cause).__name__ for cause in causes)
    names = names.replace("APIConnectionError", "")  # wraps every kind of error
    text = redact(" ".join(str(cause) for cause in causes), endpoint.key)
    return ModelUnavailable(
        f"The endpoint {endpoint.display_url} {_describe(causes, names, text, read_timeout)}"
    )


def _describe(causes: list[BaseException], names: str, text: str, read_timeout: float) -> str:
    if "ConnectTimeout" in names:
        seconds = min(CONNECT_TIMEOUT_SECONDS, read_timeout)
        return f"did not accept a connection within {seconds:g} s."
    if "Timeout" in names:
        return f"sent nothing for {read_timeout:g} s."
    if any(isinstance(cause, socket.gaierror) for cause in causes) or "getaddrinfo" in text:
        return "cannot be found: its host name does not exist. Check the address."
    if any(isinstance(cause, ssl.SSLError) for cause in causes) or "CERTIFICATE" in text:
        return (
            "cannot be reached securely. If your network has its own certificate authority, "
            f"set SSL_CERT_FILE to its certificates. ({_innermost_message(causes)})"
        )
    if "ProxyError" in names:
        reason = _innermost_message(causes)
        return f"cannot be reached through the proxy set in the environment. ({reason})"
    if "Connect" in names:
        return "cannot be reached. Check that it is running and that the address is correct."
    if any(name in names for name in ("JSON", "Unicode", "Recursion", "Decoding")):
        return "sent an answer that cannot be decoded."
    return "closed the connection before the end of the answer."


def _causes(error: BaseException) -> list[BaseException]:
    """Return the chain of an exception and its causes, at most 12, outermost first."""
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in chain and len(chain) < 12:
        chain.append(cause)
        cause = cause.__cause__ or cause.__context__
    return chain


def _innermost_message(causes: list[BaseException]) -> str:
    text = next((str(cause) for cause in reversed(causes) if str(cause)), "no reason given")
    return text[:200]
