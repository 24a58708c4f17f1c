"""``python -m agent``: see ``agent.cli.main``."""

import sys

from agent.cli.main import main

sys.exit(main())
