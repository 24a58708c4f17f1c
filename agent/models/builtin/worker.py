"""The process that computes: llama.cpp behind a Unix socket, until its standard input ends.

It is a process of its own, so that nothing that llama.cpp does or dies of reaches the
application, its memory is given back at its end, and the page's work comes before its own.
"""

import json
import os
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

THREADS = 1
"""Two are a tenth faster on two idle processors (147 tokens a second against 133), and wait for
each other where anything else runs, as a sandbox does: 5 to 70 a second against 130."""
CONTEXT = 4096
BATCH = 256
"""Tokens read between two looks at whether anybody still waits for the answer."""

_POLITE = 5


def settings(llama: Any, weights: str, adapter: str, socket: str) -> Any:
    """The settings of llama.cpp's server: one conversation, no port, no page."""
    chosen = llama.CommonParams()
    chosen.model.path = weights
    chosen.n_ctx = CONTEXT
    chosen.n_parallel = 1
    chosen.n_batch = chosen.n_ubatch = BATCH
    chosen.cpuparams.n_threads = chosen.cpuparams_batch.n_threads = THREADS
    chosen.hostnames = [socket]  # a name that ends in .sock is a Unix socket
    chosen.n_threads_http = 2
    chosen.ui = chosen.endpoint_slots = chosen.warmup = False
    chosen.cache_ram_mib = chosen.n_ctx_checkpoints = 0
    chosen.verbosity = 0
    if adapter:
        chosen.lora_adapters = [llama.CommonAdapterLoraInfo(adapter, 1.0)]
    return chosen


def main(weights: str, adapter: str, socket: str) -> None:
    """Serve until the input ends; a line on stdout says that it is ready, or why not."""
    os.nice(_POLITE)
    try:
        llama: Any = import_module("xllamacpp")  # has no types, and is not installed everywhere
        server = llama.Server(settings(llama, weights, adapter, socket))
    except Exception as error:  # noqa: BLE001 - the boundary: whatever the library raises is told
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)
        return
    print(json.dumps({"ready": True}), flush=True)
    sys.stdin.read()
    del server
    with suppress(OSError):  # whoever started it may have died without clearing up
        Path(socket).unlink(missing_ok=True)
        Path(socket).parent.rmdir()


if __name__ == "__main__":
    main(*sys.argv[1:])
