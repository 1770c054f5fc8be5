"""Draw every scenario that ships, with vantage points and what the robot sees from them.

``python examples/draw_scenarios.py out/demo`` writes the pictures and a page of them.
"""

import html
import sys
from pathlib import Path

import numpy as np

import sightline as sl
from sightline import plot

POINTS = {"kitchen1": 25, "kitchen2": 50, "aws_small_house": 50, "iai_apartment": 25, "wrs2020": 15}
RADIUS_M = {"wrs2020": 0.2}


def draw(name: str, folder: Path) -> str:
    """Draw one scenario; returns a line about it."""
    home = sl.Scenario.load(name)
    free = home.map.free_space(RADIUS_M.get(name, 0.25), beside_unknown=False)
    points = sl.farthest_points(free, POINTS[name], rng=np.random.default_rng(7))
    cells = home.target_cells()
    sees = sl.visible(home, points, cells, sl.Sensor(range_m=2.5))
    ax = plot.draw_survey(home, free, points, cells, sees)
    plot.save(ax, folder / f"{name}.png")
    seen = np.unique(sees.indices).size / len(cells)
    longest = free.distances(points).max()
    return (
        f"{name}: {free.area_m2:.0f} m2 to drive in, {len(points)} vantage points see {seen:.0%} "
        f"of {len(cells)} target cells, longest way between two of them {longest:.1f} m"
    )


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/demo")
    parts = ["<!doctype html><meta charset=utf-8><title>Sightline: scenarios</title>"]
    parts.append(
        "<style>body{font:16px sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}"
    )
    parts.append("img{max-width:100%}</style><h1>The scenarios that ship</h1>")
    for name in POINTS:
        line = draw(name, folder)
        print(line)
        parts.append(
            f"<h2>{name}</h2><p>{html.escape(line)}</p><img src='{name}.png' alt='{name}'>"
        )
    (folder / "index.html").write_text("\n".join(parts), encoding="utf-8")
    print(f"Pictures: {folder / 'index.html'}")


if __name__ == "__main__":
    main()
