"""Inference process: serve llama.cpp on a Unix socket until stdin ends."""

import json
import os
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

THREADS = 1
"""Two are 10 % faster on idle processors, but far slower (5 to 70 tokens/s) on busy ones."""
CONTEXT_TOKENS = 4096
# Prompt tokens processed between two checks whether the client is still connected
BATCH_TOKENS = 256
_NICE_INCREMENT = 5


def server_params(llama: Any, weights: str, adapter: str, socket: str) -> Any:
    """Return the settings of llama.cpp's server: one slot, no TCP port, no web page."""
    params = llama.CommonParams()
    params.model.path = weights
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = BATCH_TOKENS
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = THREADS
    params.hostnames = [socket]  # a name that ends in .sock is a Unix socket
    params.n_threads_http = 2
    params.ui = params.endpoint_slots = params.warmup = False
    params.cache_ram_mib = params.n_ctx_checkpoints = 0
    params.verbosity = 0
    if adapter:
        params.lora_adapters = [llama.CommonAdapterLoraInfo(adapter, 1.0)]
    return params


def main(weights: str, adapter: str, socket: str) -> None:
    """Serve until stdin ends; report readiness or an error as JSON on stdout."""
    os.nice(_NICE_INCREMENT)
    try:
        llama: Any = import_module("xllamacpp")  # has no types, and is not installed everywhere
        _server = llama.Server(server_params(llama, weights, adapter, socket))
    except Exception as error:  # noqa: BLE001 - process boundary: report any error as JSON
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)
        return
    print(json.dumps({"ready": True}), flush=True)
    sys.stdin.read()
    with suppress(OSError):  # the parent process may have died without deleting the socket
        Path(socket).unlink(missing_ok=True)
        Path(socket).parent.rmdir()
    os._exit(0)  # the server's destructor may wait for its own threads for ever


if __name__ == "__main__":
    main(*sys.argv[1:])
