"""Distances and a path on a map of your own.

python examples/your_own_map.py home/map.yaml
"""

import sys
from pathlib import Path

import numpy as np

import sightline as sl
from sightline import plot


def main() -> None:
    # a map.yaml, a folder with a map.yaml and perhaps a places.yaml, or a scenario that ships
    home = sl.Scenario.load(sys.argv[1] if len(sys.argv) > 1 else "kitchen1")

    # where a round robot of this radius can drive
    free = home.map.free_space(robot_radius_m=0.25)
    points = sl.farthest_points(free, k=10, rng=np.random.default_rng(7))

    # metres of shortest path between all pairs of points
    travel = free.distances(points)
    pairs = travel[np.triu_indices(len(points), 1)]
    print(f"{home.name}: {free.area_m2:.1f} m2 to drive in, {len(points)} vantage points")
    print(
        f"between two of them: {pairs.min():.2f} to {pairs.max():.2f} m, mean {pairs.mean():.2f} m"
    )

    # the path between the two that are farthest from each other
    start, goal = np.unravel_index(travel.argmax(), travel.shape)
    path = free.path(points[start], points[goal])
    print(f"from {start + 1} to {goal + 1}: {len(path) - 2} bends")

    # heights_m > 0: furniture, which draw_places draws
    ax = plot.draw_map(home.map, but=home.heights_m > 0)
    plot.draw_free_space(free, ax)
    plot.draw_places(home.places, ax, names=())
    ax.plot(*path.T, color="crimson", lw=2, zorder=6)
    plot.draw_points(points, ax)
    print(f"picture: {plot.save(ax, Path('out') / f'{home.name}_path.png')}")


if __name__ == "__main__":
    main()
