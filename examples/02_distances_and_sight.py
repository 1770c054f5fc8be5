"""Distances and lines of sight between places.

Distances are those of the shortest collision-free path, exact and at any angle; on a grid graph, where
moves have eight directions, they come out longer. Sight ends at walls and at what is higher than the
camera, but not at tables. Here: a path through the kitchen, and in green the cells in view of its end.
"""

import numpy as np

import sightline as sl
from sightline import plot

START, GOAL = (0.85, 2.05), (6.2, 7.3)


def main() -> None:
    home = sl.Scenario.load("kitchen1")
    site = sl.Site.of(home, sensor=sl.Sensor(range_m=3.0))
    path = site.free.path(START, GOAL)
    exact = site.ways.metres(START, GOAL)
    grid = site.free.distances([START], [GOAL], eight_connected=True)[0, 0]
    print(f"as the crow flies {np.hypot(*np.subtract(GOAL, START)):.2f} m")
    print(f"shortest path     {exact:.2f} m, bends: {len(path) - 2}")
    print(f"in 8 directions   {grid:.2f} m")

    for kind in ("line_of_sight", "disc"):
        sees = sl.visible(home, [GOAL], site.cells, sl.Sensor(range_m=3.0, kind=kind))
        print(f"{sees.sum()} of {len(site.cells)} cells in view of the goal ({kind})")

    # how far one must drive from the start until a cup comes into view
    cup = home.places.surfaces["round table"].polygon.mean(axis=0)
    least_m = site.least_way_m(START, cup)
    print(f"a cup on the round table comes into view after {least_m:.2f} m at the least")

    ax = plot.draw_home(home)
    plot.draw_coverage(home.map, site.cells, site.sees([GOAL]), ax)
    ax.plot(*path.T, color="crimson", lw=2, zorder=6)
    plot.draw_points([START, GOAL], ax)
    plot.save(ax, "out/02_distances_and_sight.png", dpi=70)


if __name__ == "__main__":
    main()
