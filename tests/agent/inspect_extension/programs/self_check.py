"""Inspect's own suite for sandbox providers, on real sandboxes: a line of JSON for each check.

Runs in Inspect's environment. The arguments are users; the suite runs once for each of them.
"""

import asyncio
import inspect
import json
import sys
import traceback

from inspect_ai.util._sandbox import self_check

from agent.inspect_extension import StudioSandboxConfig, StudioSandboxEnvironment


async def check_sandbox(user: str) -> None:
    config = StudioSandboxConfig(user=user)
    environments = await StudioSandboxEnvironment.sample_init("self_check", config, {})
    try:
        for name, check in inspect.getmembers(self_check, inspect.iscoroutinefunction):
            if not name.startswith("test_"):
                continue
            problem = ""
            try:
                await check(environments["default"])
            except Exception:  # noqa: BLE001 - the test shows it
                problem = traceback.format_exc()
            print(json.dumps({"user": user, "check": name, "problem": problem}), flush=True)
    finally:
        await StudioSandboxEnvironment.sample_cleanup("", config, environments, False)


async def main() -> None:
    await StudioSandboxEnvironment.task_init("self_check", None)
    try:
        await asyncio.gather(*map(check_sandbox, sys.argv[1:]))
    finally:
        await StudioSandboxEnvironment.task_cleanup("self_check", None, True)


asyncio.run(main())
