"""The program that runs inside the sandbox and owns its shell.

The host starts it once (``python3 -I -S``, standard library only) and exchanges frames over
standard input and output. It runs from a read-only mount and imports everything at the start, so
that changes by the model to Python cannot affect it. Imports are relative: the package is
``supervisor`` inside the sandbox, and the host shares ``frames``.
"""
