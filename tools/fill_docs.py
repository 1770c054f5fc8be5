"""Fill the documentation with what the program itself says: help texts, tables and pictures.

    python tools/fill_docs.py           writes docs/cli.md, the marked tables and docs/pictures/
    python tools/fill_docs.py --check   writes nothing; exit code 1 if a text differs

A marked table stands between ``<!-- table: NAME -->`` and ``<!-- end -->`` in a page. What the examples
of the gallery print is left as it is; ``python tools/gallery.py`` runs them and writes it anew.
"""

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path

import gallery
import numpy as np
import typer
from docs_pictures import (
    PICTURES,
    POINTS,
    SEED,
    home_and_free_space,
    seen_from,
    vantage_sets,
)
from typer.testing import CliRunner

import sightline as sl
from sightline import plot
from sightline.cli import app
from sightline.metrics import RULE
from sightline.places import SHIPPED

DOCS = Path(__file__).resolve().parents[1] / "docs"


def command_line() -> str:
    """The page of the commands, from their own help."""
    group = typer.main.get_command(app)
    parts = [
        "# Command line",
        "This page holds the `--help` texts of the program. `python -m sightline` is the same as "
        "`sightline`.",
        "```text",
        _output("--help"),
        "```",
    ]
    for name in sorted(group.commands):
        parts += [f"## sightline {name}", "```text", _output(name, "--help"), "```"]
        if name == "map":
            parts += [MAP_NOTES, "```text", "$ sightline map kitchen1 --no-picture"]
            parts += [_output("map", "kitchen1", "--no-picture"), "```"]
    return "\n".join([*parts, FAILURES]).replace("\n```text", "\n\n```text") + "\n"


MAP_NOTES = """
`file` is one of three things: the name of a scenario that ships, a folder with a `map.yaml`, or a
`.yaml` file of a map. A `places.yaml` in the same folder is read too. A name that ships wins over a
folder of the same name; write `./kitchen1` for the folder.

What the lines say:

| line | meaning |
|---|---|
| size | width and height along the map's own axes, cells, resolution, origin (x, y, yaw) |
| area | free, occupied and unknown area; the footprints of the surfaces count as occupied |
| reachable | area in which the robot's centre can be, see [free space](maps.md#free-space) |
| surfaces, objects | what `places.yaml` names; the objects of its first distribution |
| coverage | how many target cells at least one vantage point sees |
| objects | for each object, the chance that it lies where some vantage point sees it |
| warning | see [the gray-205 trap](maps.md#the-gray-205-trap) |
| picture | the file that was drawn |

With `--json` the same facts come as one JSON object, with the vantage points in metres. A rerun with
the same arguments prints the same text."""

FAILURES = """
## When something fails

A command that cannot do its work prints one line on standard error and ends with exit code 2.
`sightline --debug map ...` shows the traceback instead."""


def _output(*words: str) -> str:
    result = CliRunner().invoke(
        app, list(words), prog_name="sightline", env={"COLUMNS": "80", "NO_COLOR": "1"}
    )
    if result.exit_code:
        raise SystemExit(f"sightline {' '.join(words)} failed: {result.output}")
    return "\n".join(line.rstrip() for line in result.output.strip().splitlines())


def scenario_table() -> str:
    """Sizes of the scenarios that ship."""
    rows = [
        "| scenario | size | cell | free | reachable | surfaces |",
        "|---" * 6 + "|",
    ]
    for name in SHIPPED:
        home, free = home_and_free_space(name)
        width, height = home.map.size_m
        area = home.map.free.sum() * home.map.resolution_m**2
        cells = (
            f"{width:.1f} x {height:.1f} m",
            f"{home.map.resolution_m:g} m",
            f"{area:.1f} m²",
            f"{free.area_m2:.1f} m²",
        )
        plain = " | ".join(cells).replace(" m", "&nbsp;m").replace(" x ", "&nbsp;x&nbsp;")
        rows.append(f"| {name} | {plain} | {len(home.places.surfaces)} |")
    return "\n".join(rows)


def eight_connected_table() -> str:
    """How much longer the 8-connected distances are, over all pairs of 25 vantage points."""
    rows = ["| scenario | pairs | mean | median | largest |", "|---" * 5 + "|"]
    for name in SHIPPED:
        _, free = home_and_free_space(name)
        points = sl.farthest_points(free, POINTS, rng=np.random.default_rng(SEED))
        pairs = np.triu_indices(POINTS, 1)
        exact = free.distances(points)[pairs]
        excess = 100 * (free.distances(points, eight_connected=True)[pairs] / exact - 1)
        rows.append(
            f"| `{name}` | {len(exact)} | {excess.mean():.1f} % | {np.median(excess):.1f} % "
            f"| {excess.max():.1f} % |"
        )
    return "\n".join(rows)


def vantage_table() -> str:
    """Three ways to choose points in kitchen2, and what they see."""
    rows = ["| method | points | target cells seen | mass seen |", "|---" * 4 + "|"]
    home, cells, mass, chosen = vantage_sets()
    for name, points in chosen.items():
        seen = seen_from(home, points, cells)
        rows.append(f"| `{name}` | {len(points)} | {seen.mean():.1%} | {mass[seen].sum():.1%} |")
    return "\n".join(rows).replace("%", " %")


TABLES: dict[str, Callable[[], str]] = {
    "scenarios": scenario_table,
    "eight connected": eight_connected_table,
    "vantage": vantage_table,
    "rule": lambda: RULE,
}


def texts() -> dict[Path, str]:
    """Every page that holds generated text, as it ought to be."""
    pages = {DOCS / "cli.md": command_line(), gallery.PAGE: gallery.page(gallery.shown())}
    for path in sorted(DOCS.glob("*.md")):
        if path not in pages:
            old = path.read_text(encoding="utf-8")
            new = re.sub(r"<!-- table: (.*?) -->\n.*?<!-- end -->", _filled, old, flags=re.DOTALL)
            if new != old or "<!-- table:" in old:
                pages[path] = new
    return pages


def _filled(match: re.Match[str]) -> str:
    name = match[1]
    return f"<!-- table: {name} -->\n{TABLES[name]()}\n<!-- end -->"


def main() -> int:
    """Fill, or check."""
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--check", action="store_true", help="compare the texts, write nothing")
    check = words.parse_args().check
    stale = [
        (path, new)
        for path, new in texts().items()
        if not path.exists() or path.read_text(encoding="utf-8") != new
    ]
    if check:
        for path, _ in stale:
            print(f"{path.name} is stale; run python tools/fill_docs.py.", file=sys.stderr)
        return 1 if stale else 0
    for path, new in stale:
        path.write_text(new, encoding="utf-8")
    for name, draw in PICTURES.items():
        plot.save(draw(), DOCS / "pictures" / f"{name}.png", dpi=90)
    return 0


if __name__ == "__main__":
    sys.exit(main())
