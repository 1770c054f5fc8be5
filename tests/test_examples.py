"""The examples of the gallery run, and print what the gallery says."""

import ast
import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# what makes the long ones short; the others take no settings
SMALL = {
    "05_search_and_learn": ["4"],
    "06_own_learner": ["4"],
    "07_own_planner": ["8"],
    "08_troubles": ["3"],
    "09_gymnasium": ["4"],
    "10_belief_pictures": ["0", "3"],
}


def load_gallery():
    spec = importlib.util.spec_from_file_location("gallery", ROOT / "tools" / "gallery.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


gallery = load_gallery()
every = pytest.mark.parametrize("path", gallery.EXAMPLES, ids=lambda path: path.stem)


def same_page(stem, printed):
    """Whether an example has printed what the page shows."""
    return gallery.shown().get(stem) == printed


@every
def test_examples_run(path, tmp_path):
    """In small; those without settings must print what the page shows."""
    if "worlds.bullet" in path.read_text("utf-8"):
        pytest.importorskip("pybullet", reason="the physical world needs PyBullet")
    printed = gallery.run(path, tmp_path, *SMALL.get(path.stem, []))
    assert printed.strip()
    assert path.stem in SMALL or same_page(path.stem, printed)
    drawn = [picture.name for picture in tmp_path.glob("out/*.png")]
    assert drawn == ([f"{path.stem}.png"] if "plot.save(" in path.read_text("utf-8") else [])


@pytest.mark.slow
@every
def test_the_gallery_shows_what_the_examples_print(path, tmp_path):
    if path.stem in SMALL:  # the others are compared above
        assert same_page(path.stem, gallery.run(path, tmp_path))


def test_the_gallery_is_the_examples():
    """Words and code of the page are those of the files; tools/fill_docs.py writes them anew."""
    page = gallery.PAGE.read_text(encoding="utf-8")
    assert page == gallery.page(gallery.shown())
    assert [path.stem for path in gallery.EXAMPLES] == list(gallery.shown())
    numbers = [int(path.stem[:2]) for path in gallery.EXAMPLES]
    assert numbers == list(range(1, len(numbers) + 1))


@every
def test_examples_are_short_and_say_what_they_show(path):
    source = path.read_text(encoding="utf-8")
    assert source.count("\n") < 60
    title, empty, *words = (ast.get_docstring(ast.parse(source)) or "").splitlines()
    assert title.endswith(".")
    assert empty == ""
    assert words


def test_pictures_are_small_and_shown():
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md"))
    shown = set(re.findall(r"\(img/gallery/(\w+\.png)\)", pages))
    there = {picture.name: picture.stat().st_size for picture in gallery.PICTURES.glob("*")}
    assert set(there) == shown
    assert all(size < 150_000 for size in there.values())


def test_an_example_that_fails_is_noticed(tmp_path):
    bad = tmp_path / "99_bad.py"
    bad.write_text("import warnings\nwarnings.warn('old')\n")
    with pytest.raises(RuntimeError, match=r"99_bad.py failed: (.|\n)*UserWarning: old"):
        gallery.run(bad, tmp_path)
