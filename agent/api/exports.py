"""Where the public names of the package are defined."""

from importlib import import_module
from typing import Any

_PACKAGE = __name__.removesuffix(".api.exports")
_HOMES = {
    "api.aio": ("AsyncRun", "AsyncSandbox", "AsyncStudio"),
    "api.experiments": ("ComparisonResult", "EvaluationResult"),
    "api.files": ("File", "Files"),
    "api.run": ("Run", "RunResult"),
    "api.sandbox": ("CommandResult", "Entry", "Sandbox"),
    "api.studio": ("Studio",),
    "errors": (
        "CommandError",
        "ModelError",
        "NoSuchFile",
        "RunError",
        "SandboxError",
        "SteeringRefused",
        "StudioError",
        "UsageError",
        "WorkspaceError",
    ),
    "events": ("Event", "Totals"),
    "experiments.experiment": ("ExpectedAnswer", "Judge", "Member"),
    "experiments.suite": ("EvalTask", "Suite", "SuiteLimits"),
    "limits": ("Limits", "Price"),
    "loop.steering": ("Steering",),
    "models.base": ("Model", "ModelConfig"),
    "models.endpoint.client": ("EndpointModel",),
    "prompts.prompt": ("Prompt",),
    "sandbox.network.policy": ("NetworkPolicy",),
    "settings": ("Settings", "load"),
    "util.stop": ("Stop",),
    "tools.custom": ("Tool", "tool"),
}
_OTHER_NAMES = {"load_settings": "load"}
"""Public names that their modules call otherwise."""


def find(name: str) -> Any:
    """Return the public name's value; its module is imported now."""
    name = _OTHER_NAMES.get(name, name)
    home = next(home for home, names in _HOMES.items() if name in names)
    return getattr(import_module(f"{_PACKAGE}.{home}"), name)
