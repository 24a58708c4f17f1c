"""Kinds of arguments at the command line; what is wrong is told as ``argparse`` does."""

import argparse

from agent.sandbox.network import Policy, policy_of


def positive(text: str) -> int:
    """A whole number from 1 on."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def seconds(text: str) -> float:
    """A time of more than nothing."""
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError("must be more than 0")
    return number


def policy(text: str) -> Policy:
    """What a sandbox may reach; see ``policy_of``."""
    try:
        return policy_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
