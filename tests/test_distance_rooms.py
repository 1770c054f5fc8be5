"""Distances in real rooms: against exact visibility graphs, of polygons and of shipped kitchens."""

from itertools import combinations

import numpy as np
import pytest

import naive
import sightline as sl
from sightline import polygon as poly

SIZE_M = (10.0, 8.0)
RESOLUTION_M = 0.05


def turned_box(rng):
    """A table at any angle that stands clear of the walls, and the same table 15 cm larger."""
    half, yaw = rng.uniform(0.3, 1.0, 2), rng.uniform(0, np.pi)
    turn = np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]])
    middle = rng.uniform((1.8, 1.8), np.subtract(SIZE_M, 1.8))
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    return tuple(corners * (half + more) @ turn.T + middle for more in (0.0, 0.15))


def polygon_room(rng, count):
    """Tables at least 15 cm apart in a 10 x 8 m room, and the same room as a map of 5 cm."""
    tables, reach = [], []
    while len(tables) < count:
        table, larger = turned_box(rng)
        if not any(touches(larger, other) for other in reach):
            tables.append(table)
            reach.append(larger)
    columns, rows = (round(side / RESOLUTION_M) for side in SIZE_M)
    centres = (np.stack(np.meshgrid(np.arange(columns), np.arange(rows)), -1) + 0.5) * RESOLUTION_M
    occupied = np.any([poly.holds(table, centres) for table in tables], axis=0)
    return tables, sl.OccupancyMap.from_array(occupied, RESOLUTION_M)


def touches(table, other):
    return any(crosses_inside(other, a, b) for a, b in sides(table)) or any(
        crosses_inside(table, a, b) for a, b in sides(other)
    )


def sides(polygon):
    return list(zip(polygon, np.roll(polygon, -1, axis=0), strict=True))


def crosses_inside(table, a, b):
    """Whether the segment ab runs through the inside of a convex table (not only along its rim)."""
    enter, leave = 0.0, 1.0
    for p, q in sides(table):
        normal = np.array([p[1] - q[1], q[0] - p[0]])  # to the inside: the corners run to the left
        start, gain = normal @ (a - p), normal @ (b - a)
        if abs(gain) < 1e-12:
            if start <= 1e-12:
                return False
            continue
        share = -start / gain
        enter, leave = (max(enter, share), leave) if gain > 0 else (enter, min(leave, share))
    return leave - enter > 1e-9


def shortest(tables, start, goal):
    nodes = [start, goal, *np.concatenate(tables)]
    lengths = np.full((len(nodes), len(nodes)), np.inf)
    np.fill_diagonal(lengths, 0)
    for i, j in combinations(range(len(nodes)), 2):
        if not any(crosses_inside(table, nodes[i], nodes[j]) for table in tables):
            lengths[i, j] = lengths[j, i] = np.hypot(*(nodes[i] - nodes[j]))
    for k in range(len(nodes)):
        lengths = np.minimum(lengths, lengths[:, k, None] + lengths[None, k, :])
    return lengths[0, 1]


@pytest.mark.parametrize("seed", range(8))
def test_rooms_with_turned_tables_are_within_one_percent(seed):
    rng = np.random.default_rng(seed)
    tables, room = polygon_room(rng, 6)
    free = room.free_space(0.0)
    checked = 0
    while checked < 12:
        start, goal = rng.uniform((0.2, 0.2), np.subtract(SIZE_M, 0.2), (2, 2))
        if not free.contains([start, goal]).all() or np.hypot(*(start - goal)) < 3:
            continue
        if any(poly.holds(table, np.array([start, goal])).any() for table in tables):
            continue  # in a rim cell whose centre is free
        true = shortest(tables, start, goal)
        length = free.distances([start], [goal])[0, 0]
        assert length == pytest.approx(true, rel=0.01)
        assert length >= np.hypot(*(start - goal)) - 1e-9
        checked += 1


@pytest.mark.slow
@pytest.mark.parametrize(("name", "radius_m"), [("kitchen1", 0.25), ("wrs2020", 0.2)])
def test_shipped_scenarios_equal_their_visibility_graphs(name, radius_m):
    free = sl.Scenario.load(name).map.free_space(radius_m)
    rng = np.random.default_rng(1)
    cells = np.argwhere(free.mask)
    points = cells[rng.integers(len(cells), size=12)][:, ::-1] + rng.uniform(0.1, 0.9, (12, 2))
    expected = naive.visibility_graph_distances(free.mask, points, points)
    np.testing.assert_allclose(free.geodesics.matrix(points), expected, atol=1e-5)
