"""``python -m agent`` with sandboxes that are processes: no engine is needed.

python -m tests.support.evaluations.in_processes eval aime --output results/
"""

import sys
from functools import partial

from agent.api.studio import Studio
from agent.cli import experiments
from agent.cli.main import main
from agent.train.rollouts.sandboxes import ProcessSandboxProvider

if __name__ == "__main__":
    vars(experiments)["Studio"] = partial(Studio, source=ProcessSandboxProvider)
    sys.exit(main())
