"""LLM-in-Sandbox Studio from Python: the public API (docs/python-api.md), imported on first use."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent.api.aio import AsyncRun, AsyncSandbox, AsyncStudio
    from agent.api.experiments import ComparisonResult, EvaluationResult
    from agent.api.files import File, Files
    from agent.api.run import Run, RunResult
    from agent.api.sandbox import CommandResult, Entry, Sandbox
    from agent.api.studio import Studio
    from agent.errors import (
        CommandError,
        ModelError,
        NoSuchFile,
        RunError,
        SandboxError,
        SteeringRefused,
        StudioError,
        UsageError,
        WorkspaceError,
    )
    from agent.events import Event, Totals
    from agent.experiments.experiment import ExpectedAnswer, Judge, Member
    from agent.experiments.suite import EvalTask, Suite, SuiteLimits
    from agent.limits import Limits, Price
    from agent.loop.steering import Steering
    from agent.models.base import Model, ModelConfig
    from agent.models.endpoint.client import EndpointModel
    from agent.prompts import Prompt
    from agent.sandbox.network.policy import NetworkPolicy
    from agent.settings import Settings
    from agent.settings import load as load_settings
    from agent.tools.custom import Tool, tool
    from agent.util.stop import Stop

__all__ = [
    "AsyncRun",
    "AsyncSandbox",
    "AsyncStudio",
    "CommandError",
    "CommandResult",
    "ComparisonResult",
    "EndpointModel",
    "Entry",
    "EvalTask",
    "EvaluationResult",
    "Event",
    "ExpectedAnswer",
    "File",
    "Files",
    "Judge",
    "Limits",
    "Member",
    "Model",
    "ModelConfig",
    "ModelError",
    "NetworkPolicy",
    "NoSuchFile",
    "Price",
    "Prompt",
    "Run",
    "RunError",
    "RunResult",
    "Sandbox",
    "SandboxError",
    "Settings",
    "Steering",
    "SteeringRefused",
    "Stop",
    "Studio",
    "StudioError",
    "Suite",
    "SuiteLimits",
    "Tool",
    "Totals",
    "UsageError",
    "WorkspaceError",
    "load_settings",
    "tool",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import and return one of the names above."""
        from agent.api.exports import find

        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return find(name)
