"""The program that runs inside the sandbox and owns its shell.

The host starts it once per sandbox (``python3 -I -S``, standard library only) and exchanges
frames with it over standard input and output. It runs from a read-only mount and imports all
its modules at the start, so that later changes by the model to Python cannot affect it.
Imports are relative because the package is ``supervisor`` inside the sandbox and
``agent.sandbox.supervisor`` on the host, which shares ``frames``.
"""
