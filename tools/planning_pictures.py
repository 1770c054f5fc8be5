"""The pictures of the planning page."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

import sightline as sl
from sightline import plot
from sightline.maps import FreeSpace, Points
from sightline.plan.problem import SearchProblem

START = (1.0, 5.0)
COLOURS = {
    "shortest tour": "#8a8f98",
    "greedy": "#c98a12",
    "minimum latency": "#1f5fa8",
    "search": "#c8102e",
}
SHOWN_M = 25.0  # of each plan


def orders() -> Axes:
    """Four plans for a cup in kitchen2, and how soon each has seen it."""
    home = sl.Scenario.load("kitchen2")
    free = home.map.free_space(0.25)
    points = sl.farthest_points(free, 50, rng=np.random.default_rng(7))
    rows = np.vstack([START, points])
    cells = home.target_cells()
    sees = sl.visible(home, rows, cells, sl.Sensor(range_m=2.5))
    mass = home.mass("cup", cells)
    problem = SearchProblem(free.distances(rows), sees @ mass, sees=sees, mass=mass)
    planners = (sl.Tsp(), sl.Greedy(0.5), sl.Wmlp(), sl.Coverage())
    figure = Figure(figsize=(12, 5.4), layout="constrained")
    grid = figure.add_gridspec(2, 4, width_ratios=(1, 1, 0.9, 0.9))
    chart = figure.add_subplot(grid[:, 2:])
    for i, (planner, name) in enumerate(zip(planners, COLOURS, strict=True)):
        route = planner(problem, rng=np.random.default_rng(1))
        metres = sl.expected_cost(problem.travel, sees, mass, route.order)
        ax = figure.add_subplot(grid[i // 2, i % 2])
        _draw_plan(home, free, rows, route.order, COLOURS[name], ax)
        ax.set_title(f"{name}: {metres:.1f} m expected", fontsize=9)
        driven, found = _curve(problem.travel, sees.toarray(), mass, route.order)
        chart.step(driven, found, where="post", color=COLOURS[name], lw=2, label=name)
    chart.set(xlim=(0, 40), ylim=(0, 1.02), xlabel="metres driven", ylabel="chance of being seen")
    chart.legend(loc="lower right")
    chart.grid(alpha=0.3)
    return chart


def _draw_plan(
    home: sl.Scenario,
    free: FreeSpace,
    rows: Points,
    order: NDArray[np.int64],
    colour: str,
    ax: Axes,
) -> None:
    plot.draw_map(home.map, ax, but=home.heights_m > 0)
    plot.draw_places(home.places, ax, names=())
    driven, here = 0.0, rows[0]
    for number, row in enumerate(order, start=1):
        path = free.path(here, rows[row])
        driven += float(np.hypot(*np.diff(path, axis=0).T).sum())
        if driven > SHOWN_M:
            break
        ax.plot(*path.T, color=colour, lw=1.5, zorder=6)
        ax.plot(*rows[row], "o", color=colour, ms=7, zorder=7)
        ax.text(*rows[row], str(number), ha="center", va="center", color="w", fontsize=5, zorder=8)
        here = rows[row]
    ax.plot(*rows[0], "s", color="black", ms=7, zorder=8)
    ax.set(xticks=[], yticks=[], xlabel="", ylabel="")


def _curve(
    travel: NDArray[np.float64],
    sees: NDArray[np.bool_],
    mass: NDArray[np.float64],
    order: NDArray[np.int64],
) -> tuple[list[float], list[float]]:
    """Metres driven at each stop, and the mass seen by then."""
    seen = sees[0].copy()
    driven, found = [0.0], [float(mass[seen].sum())]
    here = 0
    for row in order:
        seen |= sees[row]
        driven.append(driven[-1] + float(travel[here, row]))
        found.append(float(mass[seen].sum()))
        here = row
    return [*driven, 100.0], [*found, found[-1]]
