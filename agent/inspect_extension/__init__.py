"""Extension of Inspect (inspect_ai): the studio's sandbox and the LLM-in-Sandbox agent.

Inspect imports it through the entry point ``inspect_ai``; see docs/inspect.md. It registers the
sandbox ``studio``, the agent ``llm_in_sandbox_studio/llm_in_sandbox``, the solver ``in_sandbox``
and the task ``llm_in_sandbox_studio/sample``. This is the only package that imports inspect_ai, and
nothing of the studio imports this package: Inspect's pins conflict with the studio's locked
versions, so both are installed together in an environment of their own.
"""

from agent.inspect_extension.agent import in_sandbox, llm_in_sandbox
from agent.inspect_extension.config import StudioSandboxConfig
from agent.inspect_extension.environment import StudioSandboxEnvironment
from agent.inspect_extension.sample import sample

__all__ = [
    "StudioSandboxConfig",
    "StudioSandboxEnvironment",
    "in_sandbox",
    "llm_in_sandbox",
    "sample",
]
