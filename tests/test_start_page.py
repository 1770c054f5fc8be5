"""The commands of the page for beginners run, in the order in which it shows them."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import start_page  # noqa: E402


@pytest.mark.slow
def test_the_commands_of_the_page_run_and_begin_as_it_shows(tmp_path: Path) -> None:
    page = start_page.PAGE.read_text(encoding="utf-8")
    folder = tmp_path / "home"
    folder.mkdir()
    start_page.prepare(folder)
    lines = page.splitlines()
    commands = start_page.commands(page)
    assert len(commands) == 8
    for command in commands:
        done = start_page.run(command, folder)
        assert (done.returncode, done.stderr) == (0, ""), command
        shown = lines[lines.index(f"$ {command}") + 1]
        assert done.stdout.splitlines()[0] == shown
    for name in ("seen.png", "after.png", "home.db"):
        assert (folder / name).stat().st_size > 4000
