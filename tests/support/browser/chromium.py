"""The browser of the tests: Debian's Chromium, which does not see the machine's networks change."""

from pathlib import Path

CHROMIUM = Path("/usr/bin/chromium")
LAUNCHER = Path(__file__).with_name("chromium_launcher.py")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
    "--allow-loopback-in-peer-connection",  # without netlink, WebRTC finds no other interface
]  # fmt: skip
