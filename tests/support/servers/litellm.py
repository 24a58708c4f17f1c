"""LiteLLM's proxy in front of a strict server, with all three APIs (make .make/litellm)."""

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.support.servers.server import StrictServer

PROGRAM = Path(__file__).parents[3] / ".make" / "litellm-venv" / "bin" / "litellm"
KEY = "sk-litellm-of-the-tests-0123456789"
MODEL = "strict"
_START_SECONDS = 240.0


@contextmanager
def serve_litellm(backend: StrictServer, folder: Path) -> Iterator[str]:
    """Run the proxy, which bridges all APIs to Chat Completions; yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    entry = {"model": f"custom_openai/{backend.model}", "api_base": backend.url, "api_key": "sk-x"}
    models = [{"model_name": MODEL, "litellm_params": entry}]
    config, log = folder / "litellm.yaml", folder / "litellm.log"
    config.write_text(json.dumps({"model_list": models}))  # JSON is YAML
    environment = {
        **os.environ,
        "LITELLM_MASTER_KEY": KEY,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # otherwise it is downloaded
    }
    command = [
        str(PROGRAM), "--config", str(config), "--host", "127.0.0.1", "--port", str(port),
        "--telemetry", "False",
    ]  # fmt: skip
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command, env=environment, cwd=folder, stdout=output, stderr=subprocess.STDOUT
        ) as process,
    ):
        address = f"http://127.0.0.1:{port}"
        try:
            _wait_until_ready(process, address, log)
            yield address
        finally:
            process.terminate()


def _wait_until_ready(process: "subprocess.Popen[bytes]", address: str, log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            if httpx.get(f"{address}/health/liveliness").is_success:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise RuntimeError(f"LiteLLM did not start: {log.read_text()[-2000:]}")
