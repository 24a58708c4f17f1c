"""The commands ``password NAME`` and ``token LABEL``: create credentials, in a checkout."""

import argparse
import getpass
import sys

from agent.cli.main import CREDENTIALS
from agent.errors import SettingError
from agent.settings import load
from sandbox_ui.auth.api_tokens import Tokens
from sandbox_ui.auth.passwords import hash_password


def main(arguments: list[str] | None = None) -> int:
    """Print a ``STUDIO_USERS`` line or a new operator token; return the exit code."""
    parser = argparse.ArgumentParser(description="Create credentials of the page.")
    commands = parser.add_subparsers(dest="command", required=True)
    password_parser = commands.add_parser(
        "password", help=CREDENTIALS["password"], description=CREDENTIALS["password"]
    )
    password_parser.add_argument("name")
    token_parser = commands.add_parser(
        "token", help=CREDENTIALS["token"], description=CREDENTIALS["token"]
    )
    token_parser.add_argument("label", nargs="?", default="command line")
    options = parser.parse_args(arguments)
    if options.command == "password":
        return _password(options.name)
    try:
        data = load().data
    except SettingError as error:
        sys.exit(str(error))
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    print(Tokens(data).create("", options.label)[1])
    return 0


def _password(name: str) -> int:
    if sys.stdin.isatty():
        password, repeated = getpass.getpass("Password: "), getpass.getpass("Repeat password: ")
    else:
        password = repeated = sys.stdin.readline().rstrip("\n")
    if not password or password != repeated:
        print("The passwords differ." if password else "The password is empty.", file=sys.stderr)
        return 1
    print(f"{name}:{hash_password(password)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
