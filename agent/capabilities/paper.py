"""Capability usage by the paper's patterns, which match comments, file names and text, too."""

import json
from collections.abc import Mapping
from typing import Any

from agent.capabilities.usage import CAPABILITIES, Capability

PATTERNS: Mapping[Capability, tuple[str, ...]] = {
    "external": (
        "pip install", "apt-get install", "requests.get(", "curl", "wget", "BeautifulSoup",
        "rdkit", "biopython",
    ),
    "file": (
        "open(", "json.load", "pd.read_csv", "cat", "grep", "find", "os.path", "pathlib", "glob",
        "pickle.load", "np.load",
    ),
    "compute": (
        "scipy.optimize", "fsolve", "minimize", "odeint", "solve_ivp", "quad", "range(", "while ",
        "itertools.permutations", "combinations",
    ),
}  # fmt: skip


def paper_capabilities(arguments: Mapping[str, Any]) -> tuple[Capability, ...]:
    """Return the capabilities that the paper's patterns find in a call's parameters."""
    try:
        text = json.dumps(arguments, ensure_ascii=False)
    except (ValueError, RecursionError, TypeError):
        text = str(arguments)
    return tuple(
        name for name in CAPABILITIES if any(pattern in text for pattern in PATTERNS[name])
    )
