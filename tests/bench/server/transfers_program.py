"""``python -m tests.bench.server.transfers_program studio|gradio DATA``: serve until terminated.

Prints its address, and for the studio the run's id.
"""

import os
import signal
import sys
from pathlib import Path


def main() -> None:
    kind, data = sys.argv[1], Path(sys.argv[2])
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    from fastapi import FastAPI

    from agent.runs.folder import RunFolder
    from agent.settings import Settings
    from tests.support.local_provider import LocalSandboxProvider
    from tests.support.server import create_app, run_server

    run = ""
    if kind == "studio":
        app = create_app(Settings(data=data), LocalSandboxProvider(data))
        run = RunFolder.create(data, LocalSandboxProvider(data).create_workspace()).id
    else:
        import asyncio

        import gradio as gr

        with gr.Blocks() as blocks:
            gr.File()
        app = gr.mount_gradio_app(FastAPI(), blocks, path="/")
        app.state.closing = asyncio.Event()
    with run_server(app) as address:
        print(address, run, flush=True)
        signal.pause()


if __name__ == "__main__":
    main()
