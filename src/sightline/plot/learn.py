"""What was learned: regret, curves over episodes, and beliefs beside the truth."""

from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Polygon
from numpy.typing import ArrayLike, NDArray

from sightline.maps import OccupancyMap, Points, as_points
from sightline.metrics import learning_curve
from sightline.places import Scenario
from sightline.plot.home import UNKNOWN, WALL, draw_map

HEAT, TABLE = "magma_r", "#b9bdc4"
LEAST_REGRET = 1e-3  # share of the greatest that is shown; below it lies rounding
LINES = (
    "#c8102e", "#1f5fa8", "#1b7837", "#c98a12", "#7b3fa0", "#0f8b8d", "#a0522d", "#d6568f", "#8a8f98",
    "#5b6bd1",
)  # fmt: skip


def draw_regret(curves: Mapping[str, ArrayLike], ax: Axes | None = None) -> Axes:
    """Cumulative regret (seeds, episodes) of each method: means and the middle 80 % of the seeds.

    Both axes are logarithmic, so that growth as a power of the episodes is a straight line; dashed
    lines show the slopes of T and of its root. Who has next to no regret is not shown.
    """
    ax = ax or Figure(figsize=(8.4, 5.2), layout="constrained").add_subplot()
    means = {name: np.atleast_2d(values).mean(axis=0) for name, values in curves.items()}
    least = LEAST_REGRET * max(mean[-1] for mean in means.values())
    shown = [name for name, mean in means.items() if mean[-1] > least]
    episodes = max(len(mean) for mean in means.values())
    steps = np.arange(1, episodes + 1)
    lowest = min((means[name][means[name] > 0].min() for name in shown), default=1.0)
    for name, colour in zip(shown, cycle(LINES), strict=False):
        low, high = np.percentile(np.atleast_2d(curves[name]), [10, 90], axis=0)
        ax.fill_between(
            steps, np.maximum(low, lowest), np.maximum(high, lowest), color=colour, alpha=0.15, lw=0
        )
        ax.plot(steps, np.where(means[name] > 0, means[name], np.nan), color=colour, lw=1.8)
    ax.set(xscale="log", yscale="log", xlim=(1, episodes), xlabel="episode")
    ax.set_ylabel("cumulative regret [m]")
    if shown:
        _slopes([means[name] for name in shown], ax)
        _label_ends({name: float(means[name][-1]) for name in shown}, episodes, ax)
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _label_ends(ends: Mapping[str, float], episodes: int, ax: Axes) -> None:
    """Names at the right ends of curves, in their colours, moved apart where they would touch."""
    low, high = np.log(ax.get_ylim())
    names, gap = sorted(ends, key=lambda name: ends[name]), 0.045 * (high - low)
    at = np.log([ends[name] for name in names])
    for i in range(1, len(at)):
        at[i] = max(at[i], at[i - 1] + gap)
    at[-1] = min(at[-1], high)
    for i in range(len(at) - 2, -1, -1):
        at[i] = min(at[i], at[i + 1] - gap)
    colours = dict(zip(ends, cycle(LINES), strict=False))
    for name, height in zip(names, at, strict=True):
        ax.annotate(
            name, (episodes, np.exp(height)), (6, 0), textcoords="offset points", va="center",
            color=colours[name], fontsize=9, annotation_clip=False,
        )  # fmt: skip


def _slopes(means: Sequence[NDArray[np.float64]], ax: Axes) -> None:
    """Lines from one point below the curves that grow as T and as its root, to compare with."""
    episodes = len(means[0])
    steps = np.array([max(1.0, episodes / 12), 0.9 * episodes])
    first = 0.15 * min(mean[int(steps[0]) - 1] for mean in means)
    if not first > 0:
        return
    for power, name in ((1.0, "T"), (0.5, "square root of T")):
        line = first * (steps / steps[0]) ** power
        ax.plot(steps, line, color=WALL, lw=0.9, ls=(0, (4, 3)), alpha=0.7, zorder=1)
        left = power == 1.0
        ax.annotate(
            name, (np.sqrt(steps.prod()), np.sqrt(line.prod())), (-4 if left else 4, 4 if left else -4),
            textcoords="offset points", color=WALL, fontsize=8,
            ha="right" if left else "left", va="bottom" if left else "top",
        )  # fmt: skip


def draw_learning(curves: Mapping[str, ArrayLike], *, window: int, ax: Axes | None = None) -> Axes:
    """SPL while learning (seeds, episodes): the mean of the last ``window`` searches, over the seeds.

    The band is the middle 80 % of the seeds, where there are at least three.
    """
    ax = ax or Figure(figsize=(7.6, 3.8), layout="constrained").add_subplot()
    for i, (method, values) in enumerate(curves.items()):
        runs = np.array([learning_curve(row, window) for row in np.atleast_2d(values)])
        steps, mean, colour = (
            np.arange(1, runs.shape[1] + 1),
            runs.mean(axis=0),
            LINES[i % len(LINES)],
        )
        if len(runs) > 2:
            low, high = np.percentile(runs, [10, 90], axis=0)
            ax.fill_between(steps, low, high, color=colour, alpha=0.12, lw=0)
        ax.plot(steps, mean, color=colour, lw=1.8, label=method)
    ax.set(xlabel="training episode", ylim=(0, None))
    ax.set_ylabel(f"SPL, mean of the last {window}")
    ax.legend(frameon=False, fontsize=9, ncols=2, loc="upper left", bbox_to_anchor=(0, -0.17))
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def draw_beliefs(
    home: Scenario,
    points: ArrayLike,
    rows: Mapping[str, Sequence[ArrayLike]],
    columns: Sequence[str],
    truth: ArrayLike,
    *,
    unscored: Sequence[str] = (),
) -> Figure:
    """Chances of spotting an object from points (n, 2), one row per learner, beside the truth.

    ``rows`` has one array (n,) for each of ``columns``, such as the episodes learned from. All panels
    share a colour scale from 0 to the greatest true chance; below each stands the mean distance to
    ``truth`` (n,), but not in the rows ``unscored``. The points are a lattice.
    """
    at, true = as_points(points).reshape(-1, 2), np.asarray(truth, dtype=np.float64)
    extent = np.ptp(home.map.to_world(_floor_box(home.map)), axis=0)
    wide = 2.1
    size = (wide * (len(columns) + 1) + 0.9, (wide * extent[1] / extent[0] + 0.2) * len(rows) + 0.3)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(len(rows), len(columns) + 1, squeeze=False)
    heat = None
    for row, (name, beliefs) in enumerate(rows.items()):
        for column, (ax, values) in enumerate(zip(grid[row], [*beliefs, true], strict=True)):
            chance = np.asarray(values, dtype=np.float64)
            heat = heat_on(home, at, chance, float(true.max(initial=1e-9)), ax)
            if row == 0:
                ax.set_title([*columns, "the truth"][column], fontsize=9.5)
            if column < len(columns) and name not in unscored:
                ax.set_xlabel(
                    f"off by {np.abs(chance - true).mean():.3f}", fontsize=7.5, labelpad=2
                )
        grid[row, 0].set_ylabel(name, fontsize=9.5)
    if heat is not None:
        bar = figure.colorbar(heat, ax=grid, shrink=0.45, pad=0.01, aspect=30, extend="max")
        bar.set_label("chance of spotting it", fontsize=9)
        bar.ax.tick_params(labelsize=8)
    return figure


def _floor_box(on: OccupancyMap) -> Points:
    """Two opposite corners (2, 2), in cells, of what is free of a map, with a cell or two of wall."""
    rows, columns = np.nonzero(on.free)
    if not len(rows):
        return np.array([[0.0, 0.0], on.shape[::-1]])
    corners = [[columns.min() - 2, rows.min() - 2], [columns.max() + 3, rows.max() + 3]]
    return np.array(corners, dtype=np.float64)


def heat_on(
    home: Scenario, at: Points, chance: NDArray[np.float64], top: float, ax: Axes
) -> PolyCollection:
    """A floor with squares around the points of a lattice, coloured by chance from 0 to ``top``."""
    draw_map(home.map, ax, but=home.heights_m > 0)
    for surface in home.places.surfaces.values():
        ax.add_patch(Polygon(surface.polygon, fc=TABLE, ec=UNKNOWN, lw=0.5, zorder=3))
    gaps = np.diff(np.unique(at[:, 0].round(6)))
    half = (float(gaps[gaps > 1e-4].min()) if (gaps > 1e-4).any() else 0.1) / 2
    corner = half * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    squares = PolyCollection(
        list(at[:, None, :] + corner), array=chance, cmap=HEAT, lw=0.3, edgecolors="face", zorder=1
    )
    squares.set_clim(0, top)
    ax.add_collection(squares)
    bare_floor(home, ax)
    return squares


def bare_floor(home: Scenario, ax: Axes) -> Axes:
    """Cut axes to what is free of a map and the walls around it, without ticks and frame."""
    corners = home.map.to_world(_floor_box(home.map))
    (left, low), (right, high) = corners.min(axis=0), corners.max(axis=0)
    ax.set(xlim=(left, right), ylim=(low, high), xticks=[], yticks=[], xlabel="", ylabel="")
    ax.spines[:].set_visible(False)
    return ax
