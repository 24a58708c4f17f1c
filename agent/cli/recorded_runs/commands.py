"""The commands on recorded runs and their options; each command is imported when it is executed."""

import argparse
from pathlib import Path

from agent.models import parameters
from agent.run_fields import add_option
from agent.settings import load
from agent.util.cli_types import Command, megabytes, natural_number

FORMATS = (
    "trajectory", "markdown", "csv", "atif", "messages", "anthropic", "sts", "otel", "report",
)  # fmt: skip
"""The formats of a run; ``agent.cli.recorded_runs.export`` writes them."""

# Further formats, of comparisons and evaluations: ``agent.cli.recorded_runs.tables``
TABLE_FORMATS = ("json", "tex", "svg", "png")
RUN_HELP = "id of a run in the data folder, an exported folder, or a journal.jsonl"


def _add_import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", metavar="FILE", nargs="+", type=Path,
        help="an exported run (zip file, folder or journal.jsonl), or a trace: ATIF, "
        "trajectory.json, mini-swe-agent, SWE-agent, Inspect log, OpenAI or Anthropic messages "
        "(JSON Lines) or Hugging Face session trace",
    )  # fmt: skip


def _add_export(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("run", metavar="RUN", help=f"{RUN_HELP}; or the id of a comparison or an evaluation")
    add("--format", choices=(*FORMATS, *TABLE_FORMATS), default="",
        help="default: trajectory; of a comparison or an evaluation, which have csv, markdown, "
        "report, json, tex, svg and png: csv")  # fmt: skip
    add("-o", "--output", metavar="FILE", type=Path,
        help="the file to write; an existing one is replaced (default: stdout; "
        "spans go to OTEL_EXPORTER_OTLP_ENDPOINT, if it is set)")  # fmt: skip
    add("--files", metavar="MB", type=megabytes, default="20",
        help="with report: size of the files in it; 0 for none (default: 20)")  # fmt: skip


def _add_fork(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("run", metavar="RUN", help=f"{RUN_HELP}; an exported one is imported first")
    add("message", metavar="MESSAGE", nargs="?", default="",
        help="what the model is to do now; without it, it goes on from the step")  # fmt: skip
    add("--step", metavar="K", type=natural_number, required=True,
        help="the last step to keep; 0 starts over with the same files")  # fmt: skip
    add("--model", metavar="MODEL", default="", help="the model's name, or builtin")
    add("--base-url", metavar="URL", default="",
        help="URL of the endpoint; OPENAI_API_KEY is only sent to OPENAI_BASE_URL")  # fmt: skip
    add_option(parser, "max_steps")
    add("--summarise", action="store_true",
        help="summarise older steps near the context limit")  # fmt: skip
    add_option(parser, "mode", help="another mode")
    add("--prompt", metavar="NAME|FILE", default="", help="another prompt")
    add("--reinstall", action="store_true",
        help="first install again what the steps have installed")  # fmt: skip
    add("--output", metavar="DIR", type=Path,
        help="folder for the results: output/, the journal and the trajectory")  # fmt: skip
    add("--overwrite", action="store_true",
        help="replace the results of another run in that folder")  # fmt: skip
    add("--image", metavar="TAG", default="", help="sandbox image to use instead of STUDIO_IMAGE")
    add("--json", action="store_true", help="write the events to stdout as JSON Lines")
    parameters.add_options(parser)


def _add_replay(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("run", metavar="RUN", help=RUN_HELP)
    add("--image", metavar="TAG", default="", help="sandbox image to use instead of STUDIO_IMAGE")
    add("--input", metavar="PATH", action="append", default=[], type=Path,
        help="a file or folder for input/, if the record does not hold it; repeatable")  # fmt: skip
    reach = "what the sandbox can reach (default: what the recorded run's could)"
    add_option(parser, "network", help=reach)
    add("--allow-unverified", action="store_true",
        help="exit with 0 although some steps could not be verified")  # fmt: skip
    add("--output", metavar="DIR", type=Path, help="folder for the replay's results")
    add("--overwrite", action="store_true",
        help="replace the results of another run in that folder")  # fmt: skip
    add("--json", action="store_true", help="write the events to stdout as JSON Lines")


def _export(options: argparse.Namespace) -> int:
    from agent.cli.recorded_runs.export import export_run

    return export_run(options, load())


def _fork(options: argparse.Namespace) -> int:
    from agent.cli.recorded_runs.fork import fork_run

    return fork_run(options, load())


def _replay(options: argparse.Namespace) -> int:
    from agent.cli.recorded_runs.replay import replay_run

    return replay_run(options, load())


def _import(options: argparse.Namespace) -> int:
    from agent.cli.recorded_runs.import_traces import import_traces

    return import_traces(options, load())


COMMANDS = (
    Command("export", "write a recorded run in another format", _add_export, _export),
    Command("fork", "start a run from a step of another one", _add_fork, _fork),
    Command("replay", "execute a run's recorded calls again and compare", _add_replay, _replay),
    Command("import", "make runs of exported ones and of other tools' traces", _add_import,
            _import),
)  # fmt: skip
