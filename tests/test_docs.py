"""The documentation says what is so: its code runs and prints what it shows, its texts are not stale."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import sightline as sl

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]
# a block of code, and the block of text that follows directly, if one does: what the code prints
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)


def blocks(page):
    text = page.read_text(encoding="utf-8")
    return [
        (text[: match.start(1)].count("\n"), match[1], match[2]) for match in BLOCK.finditer(text)
    ]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page)], ids=lambda page: page.name
)
def test_code_runs_and_prints_what_the_page_says(page, tmp_path, monkeypatch, capsys):
    """All blocks of a page share one namespace and one empty folder."""
    if "worlds.bullet" in page.read_text(encoding="utf-8"):
        pytest.importorskip("pybullet")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for line, code, output in blocks(page):
        # blank lines, so that a traceback shows the line of the page
        exec(compile("\n" * line + code, page, "exec"), names)
        printed = capsys.readouterr().out
        if output is not None:
            assert printed == output, f"{page.name}, after line {line}"


def test_generated_texts_are_fresh():
    command = [sys.executable, str(ROOT / "tools" / "fill_docs.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_public_name_is_on_the_api_page():
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    names, measuring = page.split("\n## Measuring\n")
    listed = re.findall(r"^::: sightline\.[\w.]+\.(\w+)$", names, re.MULTILINE)
    assert sorted(listed) == sorted(sl.__all__)
    for name in re.findall(r"^::: (sightline[\w.]*)\.(\w+)$", measuring, re.MULTILINE):
        assert hasattr(import_module(name[0]), name[1]) or import_module(".".join(name))


def test_the_contributing_page_lists_the_targets_of_make():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z-]+):.*##", makefile, re.MULTILINE)
    assert sorted(re.findall(r"^\| `make ([a-z-]+)`", page, re.MULTILINE)) == sorted(targets)


def test_every_picture_has_a_maker():
    sources = (ROOT / "tools" / "docs_pictures.py").read_text(encoding="utf-8")
    for page in PAGES:
        for name in re.findall(r"\(pictures/(\w+)\.png\)", page.read_text(encoding="utf-8")):
            assert f'"{name}"' in sources or name in sl.places.SHIPPED, (page.name, name)


def test_the_example_draws_a_path_on_a_map_of_ones_own(tmp_path):
    sl.Scenario.load("kitchen1").map.save(tmp_path / "flat.yaml")
    command = [sys.executable, str(ROOT / "examples" / "your_own_map.py"), "flat.yaml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("flat: 45.2 m2 to drive in, 10 vantage points")
    assert (tmp_path / "out" / "flat_path.png").stat().st_size > 10_000
