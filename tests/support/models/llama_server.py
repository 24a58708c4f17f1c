"""Serve a GGUF file with llama.cpp, with a projector for pictures if one is given.

It prints the address and ends when its input is closed.
"""

import sys
from importlib import import_module
from typing import Any

# Has no types, and is not installed everywhere.
xllamacpp: Any = import_module("xllamacpp")


def main(weights: str, context: int, projector: str = "") -> None:
    settings = xllamacpp.CommonParams()
    settings.model.path = weights
    if projector:
        settings.mmproj.path = projector
        settings.mmproj_use_gpu = False
    settings.n_ctx = context
    settings.n_parallel = 1
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 2
    settings.use_jinja = True
    settings.verbosity = 0
    server = xllamacpp.Server(settings)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
