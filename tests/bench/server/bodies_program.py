"""``python -m tests.bench.server.bodies_program URL ATTACK CLIENTS LINK``: attack until stdin ends.

Prints a line when the first answers are there, and at the end the answered requests a second.
"""

import sys
import threading
import time
from contextlib import suppress

from tests.support import httpx
from tests.support.hostile.bodies import ATTACKS

_TIMEOUT_SECONDS = 600.0


def main(url: str, attack: str, clients: str, link: str) -> None:
    hostile = ATTACKS[attack]
    stopped, answers = threading.Event(), []

    def repeat() -> None:
        with httpx.Client(base_url=url, timeout=_TIMEOUT_SECONDS) as client:
            if hostile.from_guest:
                client.get(f"/{link}")
            else:
                client.post("/login", data={"name": "ann", "password": "ann"})
            while not stopped.is_set():
                with suppress(httpx.HTTPError):  # refused before the body was sent
                    hostile.send(client)
                answers.append(time.monotonic())

    threads = [threading.Thread(target=repeat) for _ in range(int(clients))]
    for thread in threads:
        thread.start()
    start_time = time.monotonic()
    while not answers:
        time.sleep(0.01)
    print("attacking", flush=True)
    sys.stdin.read()
    stopped.set()
    print(f"{len(answers) / (time.monotonic() - start_time):.1f}")
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
