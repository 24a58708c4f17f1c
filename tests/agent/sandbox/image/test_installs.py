"""Packages that runs often need are installed in a real sandbox and used."""

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from agent.data_folder import DataFolder
from agent.provisioning.provider import DockerSandboxProvider
from agent.runs.folder import RunFolder
from agent.settings import load
from tests.contract.sandbox_helpers import acquire_sandbox, run

pytestmark = [pytest.mark.engine, pytest.mark.nightly, pytest.mark.timeout(1200)]

# Packages, and commands with their expected output. Each group has its own sandbox, which frees the
# disk space of its packages when it is closed.
PACKAGE_GROUPS: dict[str, tuple[str, dict[str, str]]] = {
    "chemistry": (
        "openjdk-21-jre-headless libopsin-java openbabel nodejs",
        {
            "java -version 2>&1": "openjdk version",
            "java -cp '/usr/share/java/*' uk.ac.cam.ch.wwmm.opsin.Cli <<< ethanol 2>&1": "C(C)O",
            "obabel -:OCC -ocan 2>&1": "CCO",
            "pip install rdkit && python3 -c 'from rdkit import Chem;"
            'print(Chem.CanonSmiles("OCC"))\'': "CCO",
            "node -e 'console.log(6 * 7)'": "42",
        },
    ),
    "documents and media": (
        "pandoc graphviz tesseract-ocr ffmpeg chromium",
        {
            "echo '**bold**' > a.md && pandoc a.md -o a.docx && pandoc a.docx -t plain": "bold",
            "echo 'digraph { a -> b }' | dot -Tsvg": "<svg",
            "python3 -c 'import pylab; pylab.figure(figsize=(6, 2));"
            'pylab.figtext(0.1, 0.4, "typeset words", size=40); pylab.savefig("a.png")\''
            " && tesseract a.png -": "typeset words",
            "ffmpeg -v error -f lavfi -i testsrc=d=1 a.mp4 && ffprobe -i a.mp4 2>&1": "h264",
            "chromium --headless --no-sandbox --disable-gpu --dump-dom"
            " 'data:text/html,<b id=x></b><script>x.append(6 * 7)</script>'": "42",
        },
    ),
}


@pytest.fixture(scope="module")
def provider(
    image: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DockerSandboxProvider]:
    host = {key: os.environ[key] for key in ("DOCKER_HOST",) if key in os.environ}
    folder = tmp_path_factory.mktemp("installs")
    with DataFolder(Path(folder) / "data") as data:
        provider = DockerSandboxProvider(replace(load(host), image=image, warm_sandboxes=0), data)
        with closing(provider):
            provider.open()
            yield provider


@pytest.mark.parametrize("group", PACKAGE_GROUPS)
def test_installed_packages_work(provider: DockerSandboxProvider, group: str) -> None:
    packages, commands = PACKAGE_GROUPS[group]
    folder = RunFolder.create(provider.data.path, provider.create_workspace())
    with closing(acquire_sandbox(provider, folder)) as sandbox:
        result = run(
            sandbox,
            f"apt-get update && apt-get install -y --no-install-recommends {packages}",
            timeout=900,
        )
        assert result.code == 0, result.stdout[-3000:] + result.stderr[-3000:]
        for command, expected in commands.items():
            result = run(sandbox, command, timeout=120)
            assert (result.code, expected in result.stdout.decode()) == (0, True), result
