"""``python -m tests.support.browser.gradio_files`` lists the files that the page makes Gradio load.

Run it after an update of Gradio, or when the page uses another kind of component.
"""

import json
import re
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from sandbox_ui.page import gradio_files
from tests.support.browser.chromium import FLAGS, LAUNCHER
from tests.support.server import serve_studio


def loaded_files(page: Page, url: str) -> dict[str, list[str]]:
    """Open the page; return the names of Gradio's files that it loads besides those it links."""
    names: list[str] = []
    page.on("request", lambda request: names.extend(re.findall(r"/assets/(.+)", request.url)))
    page.goto(url)
    page.wait_for_function("'mounted' in document.documentElement.dataset")
    page.wait_for_load_state("networkidle")
    linked = set(re.findall(r"\./assets/([^\"]+)", page.request.get(url).text()))
    loaded = [name for name in dict.fromkeys(names) if name not in linked]
    return {
        kind: [name for name in loaded if name.endswith(suffix)]
        for kind, suffix in (("modules", ".js"), ("styles", ".css"))
    }


def main() -> None:
    gradio_files.LIST.write_text('{"modules": [], "styles": []}\n')
    with (
        tempfile.TemporaryDirectory() as folder,
        serve_studio(Path(folder)) as url,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=LAUNCHER, args=FLAGS)
        files = loaded_files(browser.new_page(), url)
        browser.close()
    gradio_files.LIST.write_text(json.dumps(files, indent=1) + "\n")


if __name__ == "__main__":
    main()
