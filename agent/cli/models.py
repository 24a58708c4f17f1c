"""The command ``models``: tests a model and prints its passport."""

import argparse
import json
import sys

from agent.errors import UsageError
from agent.models.errors.failures import with_key_variables
from agent.models.parameters import add_options, checked_values
from agent.models.passport.passport import as_text
from agent.models.passport.store import PassportStore
from agent.settings import Settings, load
from agent.util.cli_types import Command
from agent.util.text import sanitize


def _add_actions(models: argparse.ArgumentParser) -> None:
    tests = models.add_subparsers(dest="action", metavar="ACTION", required=True)
    test = tests.add_parser("test", help="test a model with two short turns, and keep the result")
    add = test.add_argument
    add("model", metavar="MODEL", nargs="?", default="",
        help="the model's name (default: OPENAI_MODEL, or the endpoint's only one)")  # fmt: skip
    add("--base-url", metavar="URL", default="",
        help="URL of the endpoint; OPENAI_API_KEY is only sent to OPENAI_BASE_URL")  # fmt: skip
    add("--json", action="store_true", help="print the result as JSON")
    add_options(test)


def run_command(options: argparse.Namespace, settings: Settings) -> int:
    """Test the model and print its passport; return 0 if it answers, else 1."""
    from agent.models.passport.probe import check_endpoint  # imports the client
    from agent.runs.spec import RunSpec  # imports what carries out a run

    named = {"base_url": options.base_url or None, "model": options.model}
    config = RunSpec.of(named | checked_values(options)).model_config(settings)
    if not config.base_url:
        raise UsageError("No endpoint is set. Set OPENAI_BASE_URL, or use --base-url.")
    test = check_endpoint(config)
    if test.works:
        PassportStore(settings.data).put(test.passport)
    if options.json:
        described = {**test.passport.for_people(), "message": test.message}
        print(json.dumps({**described, "models": list(test.models)}, ensure_ascii=False))
    elif test.passport.facts:
        print(sanitize(as_text(test.passport)))
    if not options.json:
        print(sanitize(with_key_variables(test.message)), file=sys.stderr)
        if not test.passport.model and test.models:
            print("\n".join(test.models))
    return 0 if test.works else 1


MODELS = Command(
    "models", "test a model: what it can do at its endpoint", _add_actions,
    lambda options: run_command(options, load()),
)  # fmt: skip
