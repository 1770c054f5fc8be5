"""A home: its map, where the robot can be, and points to look from.

A scenario is a Nav2 map with named surfaces over it. The free space is where the centre of a robot of
some radius can be. Vantage points are spread over it, the next one always farthest from all before, and
each sees the cells in its line of sight. Cells that no point sees are drawn in orange.
"""

import numpy as np

import sightline as sl
from sightline import plot

POINTS = 10


def main() -> None:
    home = sl.Scenario.load("kitchen2")
    free = home.map.free_space(robot_radius_m=0.25)
    points = sl.farthest_points(free, POINTS, rng=np.random.default_rng(7))
    cells = home.target_cells()
    sees = sl.visible(home, points, cells, sl.Sensor(range_m=2.5))

    print(f"{home.name}: {len(home.places.surfaces)} surfaces, {free.area_m2:.1f} m2 to drive in")
    print(f"objects: {', '.join(home.objects)}")
    print(f"the {POINTS} points see {len(np.unique(sees.indices))} of {len(cells)} target cells")
    for thing in home.objects:
        mass = home.mass(thing, cells)
        seen = mass[np.unique(sees.indices)].sum()
        print(f"  the {thing} lies in view of one of them with chance {seen:.2f}")

    plot.save(
        plot.draw_survey(home, free, points, cells, sees), "out/01_map_and_points.png", dpi=70
    )


if __name__ == "__main__":
    main()
