"""``python -m sandbox_ui password NAME`` and ``token LABEL``: create credentials."""

import argparse
import getpass
import sys

from agent.errors import SettingError
from agent.settings import load
from sandbox_ui.auth.passwords import hash_password
from sandbox_ui.auth.tokens import Tokens


def main(arguments: list[str] | None = None) -> int:
    """Print a ``STUDIO_USERS`` line or a new operator token; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m sandbox_ui", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    password = commands.add_parser(
        "password", help="ask for a password and print a line for STUDIO_USERS"
    )
    password.add_argument("name")
    token = commands.add_parser("token", help="create an operator token for programs and print it")
    token.add_argument("label", nargs="?", default="command line")
    chosen = parser.parse_args(arguments)
    if chosen.command == "password":
        return _password(chosen.name)
    try:
        data = load().data
    except SettingError as error:
        sys.exit(str(error))
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    print(Tokens(data).create("", chosen.label)[1])
    return 0


def _password(name: str) -> int:
    if sys.stdin.isatty():
        typed, again = getpass.getpass("Password: "), getpass.getpass("Repeat password: ")
    else:
        typed = again = sys.stdin.readline().rstrip("\n")
    if not typed or typed != again:
        print("The passwords differ." if typed else "The password is empty.", file=sys.stderr)
        return 1
    print(f"{name}:{hash_password(typed)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
