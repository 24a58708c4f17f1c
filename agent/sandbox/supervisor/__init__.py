"""The program that runs inside the sandbox and owns its shell.

The host starts it once per sandbox (``python3 -I -S``, standard library only) and speaks
frames with it over its standard input and output. It runs there from a read-only mount and
is loaded whole at the start, so that nothing the model does to Python can hurt it later.
Modules import one another relatively: the package is ``supervisor`` inside the sandbox and
``agent.sandbox.supervisor`` outside, where the host shares ``frames``.
"""
