"""``python -m agent``: see ``agent.cli.main``."""

import sys

from agent.cli.startup import put_off_collection

put_off_collection()  # before all other imports; saves a run 0.1 s

from agent.cli.main import main  # noqa: E402

sys.exit(main())
