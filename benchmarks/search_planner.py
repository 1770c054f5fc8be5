"""Searching with overlapping views: how good, how fast, and how well proven the tours are."""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy import sparse

import sightline as sl

ESCAPE_M = 20.0
MOST_POINTS = 1000


class Instance(NamedTuple):
    """One search: positional arguments of ``solve_search``."""

    travel: np.ndarray
    sees: sparse.csr_array
    mass: np.ndarray


class Kitchen(NamedTuple):
    """A scenario with many candidate points, and the distances between them."""

    home: sl.Scenario
    free: sl.FreeSpace
    cells: np.ndarray
    points: np.ndarray
    travel: np.ndarray


@cache
def kitchen(name: str, distribution: str, points: int = MOST_POINTS) -> Kitchen:
    home = sl.Scenario.load(name, distribution=distribution)
    free = home.map.free_space(0.25)
    spread = sl.farthest_points(free, points, rng=np.random.default_rng(0))
    return Kitchen(home, free, home.target_cells(), spread, free.distances(spread))


@cache
def seen_from(name: str, distribution: str, range_m: float) -> sparse.csr_array:
    place = kitchen(name, distribution)
    return sl.visible(
        place.home, place.points, place.cells, sl.Sensor(range_m=range_m, kind="disc")
    )


def instances(count: int, points: int, range_m: float, *, seed: int) -> Iterator[Instance]:
    """Random starts, random subsets of the candidate points, all objects of both kitchens in turns.

    The kitchens have 2,184 and 3,224 target cells.
    """
    rng = np.random.default_rng([seed, points])
    for i in range(count):
        name = ("kitchen2", "kitchen1")[i % 2]
        distribution = ("spread", "peaky")[i // 2 % 2]
        place = kitchen(name, distribution)
        things = place.home.objects
        mass = place.home.mass(things[i // 4 % len(things)], place.cells)
        chosen = np.sort(rng.choice(len(place.points), points, replace=False))
        start = rng.choice(place.free.points())
        travel = np.zeros((points + 1, points + 1))
        travel[1:, 1:] = place.travel[np.ix_(chosen, chosen)]
        travel[0, 1:] = travel[1:, 0] = place.free.distances(start, place.points[chosen])[0]
        sensor = sl.Sensor(range_m=range_m, kind="disc")
        sees = sparse.vstack(
            [
                sl.visible(place.home, start, place.cells, sensor),
                seen_from(name, distribution, range_m)[chosen],
            ],
            format="csr",
        )
        yield Instance(travel, sparse.csr_array(sees), mass)
