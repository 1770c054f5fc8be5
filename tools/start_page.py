"""Run the commands of docs/start.md and write what they print into the page; draws its picture, too.

python tools/start_page.py

The commands run one after another in a folder that holds the bare map of a scenario that ships.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "start.md"
HOME = ROOT / "src" / "sightline" / "scenarios" / "aws_small_house"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def commands(page: str) -> list[str]:
    """The commands of a page, in their order."""
    return [
        line.removeprefix("$ ")
        for block in BLOCK.findall(page)
        for line in block.splitlines()
        if line.startswith("$ ")
    ]


def prepare(folder: Path) -> None:
    """Put the bare map into a folder, as the page has its reader do."""
    for name in ("map.yaml", "map.png"):
        shutil.copy(HOME / name, folder / name)


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run one command of the page."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def main() -> None:
    """Run, and fill the page."""
    page = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "home"
        folder.mkdir()
        prepare(folder)

        def filled(block: re.Match[str]) -> str:
            lines = []
            for command in commands(block[0]):
                done = run(command, folder)
                if done.returncode:
                    raise SystemExit(f"{command}: {done.stderr}")
                lines += [f"$ {command}", *done.stdout.splitlines()]
            return "```console\n" + "\n".join(lines) + "\n```"

        PAGE.write_text(BLOCK.sub(filled, page), encoding="utf-8")
        shutil.copy(folder / "after.png", ROOT / "docs" / "img" / "start.png")


if __name__ == "__main__":
    main()
