"""Furnished rooms for the physical world: small enough that an engine is built in no time."""

import numpy as np

import sightline as sl
from grids import ascii_map
from sightline.places import Places, Surface

OBJECTS = ("bottle", "can", "cup", "bowl", "chips-bag")


def rectangle(left, bottom, right, top):
    return np.array([(left, bottom), (right, bottom), (right, top), (left, top)], float)


def two_rooms() -> sl.Scenario:
    """A room of 4 x 3 m and one of 2.4 x 3 m behind it, joined by a doorway of 0.9 m, y 1.0 to 1.9.

    In the first: a table with legs in the middle, so that there are two ways around it; a counter along
    the left wall; an open shelf beside the doorway. In the second: a side table and a stool.
    """
    wide, high = 66, 32
    cells = np.full((high, wide), ".")
    cells[[0, -1], :] = cells[:, [0, -1]] = "#"
    cells[:, 41] = "#"
    cells[11:20, 41] = "."
    on = ascii_map("\n".join("".join(row) for row in cells[::-1]), 0.1, (-0.1, -0.1, 0.0))
    surfaces = {
        one.name: one
        for one in (
            Surface("table", "DiningTable", rectangle(1.6, 1.2, 2.5, 1.9), 0.75, support="legs"),
            Surface("counter", "CounterTop", rectangle(0.0, 0.8, 0.5, 2.4), 0.9),
            Surface("shelf", "Shelf", rectangle(2.4, 0.0, 3.4, 0.3), 1.8),
            Surface("side table", "SideTable", rectangle(5.6, 1.9, 6.4, 2.5), 0.6, support="legs"),
            Surface("stool", "Stool", rectangle(4.4, 0.1, 4.7, 0.4), 0.45),
        )
    }
    where = {
        "bottle": {"table": 0.5, "counter": 0.5},
        "can": {"counter": 1.0},
        "cup": {"table": 1.0},
        "bowl": {"side table": 1.0},
        "chips-bag": {"shelf": 0.7, "side table": 0.3},
    }
    return sl.Scenario("two rooms", on, Places(surfaces, {}, {"usual": where}))
