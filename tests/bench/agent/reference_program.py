"""The reference's command line, run in its own environment.

The only difference: its containers get a label, the first argument, so that they can be removed.
"""

import sys
from typing import Any

from docker.models.containers import ContainerCollection
from llm_in_sandbox.cli import main  # type: ignore[import-not-found]

_label = sys.argv.pop(1)
_run: Any = ContainerCollection.run


def _labelled(self: Any, image: str, **options: Any) -> Any:
    return _run(self, image, labels=[_label], **options)


setattr(ContainerCollection, "run", _labelled)  # noqa: B010 - the stubs know overloads only
main()
