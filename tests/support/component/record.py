"""Records the fixtures of the component tests by running the real routes.

``python -m tests.support.component.record`` writes ``tests/fixtures/component/``.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from agent.settings import Settings
from tests.support import httpx
from tests.support.component.answers import as_fixture, serve
from tests.support.component.layout import bare_page
from tests.support.component.recorded import FOLDER, PAGE
from tests.support.component.scenarios import SCENARIOS


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, content in record_all():
        (FOLDER / name).write_text(content)
        print(name, f"{len(content):,}")


def record_all() -> Iterator[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as folder, serve(Settings(data=Path(folder))) as url:
        yield PAGE, bare_page(httpx.get(url, timeout=60).text)
    for scenario in SCENARIOS:
        with tempfile.TemporaryDirectory() as folder:
            yield f"{scenario.__name__}.json", as_fixture(scenario(Path(folder)))


if __name__ == "__main__":
    main()
