"""What the README claims about speed and size, measured: ``python -m tests.bench``.

Each module but the helpers makes one table: this program beside its rival, in the same run.
"""
