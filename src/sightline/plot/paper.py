"""The figures of the paper."""

import textwrap
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon, Rectangle
from numpy.typing import ArrayLike, NDArray

from sightline.features import PATCH, Features
from sightline.itinerary import Plan
from sightline.maps import as_point, as_points
from sightline.places import Scenario
from sightline.plot.home import (
    INK,
    POINT,
    ROOM,
    WALL,
    draw_home,
    draw_map,
    draw_points,
    label_point,
)
from sightline.plot.learn import LINES, bare_floor, heat_on
from sightline.plot.search import TRUTH, draw_way
from sightline.records import Episode
from sightline.site import Site

FAINT = "#9aa3ad"
SHARE = "#1b7837"  # of a surface that always holds the object
WIDE_IN = 4.6  # width of one floor
LINE_IN = 0.46  # height of one line of a list of stops


def draw_overview(plan: Plan, episode: Episode) -> Figure:
    """One search: all vantage points, the planned stops with their chances, and where it was seen."""
    site = plan.site
    figure, (floor, words) = _floors(site.home, 2, wide=6.4, shares=(1.0, 0.62))
    draw_home(site.home, floor)
    draw_points(plan.points, floor, numbered=False)
    for line in floor.lines:
        line.set(color=FAINT, markersize=4.5)
    driven = [visit.position for visit in episode.visits]
    planned = [plan.query.start, *(stop.position for stop in plan.stops)]
    draw_way(site, planned, floor, faint=True)
    draw_way(site, driven, floor)
    draw_points(planned[1:], floor)
    if episode.position is not None:
        _star(episode.position, floor)
    bare_floor(site.home, floor)
    words.axis("off")
    _list_stops(plan, episode, words)
    thing = plan.query.thing
    figure.suptitle(
        f"One search for the {thing}: {len(plan.points)} vantage points, {len(plan.stops)} planned "
        f"stops, {episode.outcome.replace('_', ' ')} after {episode.visits[-1].driven_m:.1f} m",
        fontsize=11, x=0.01, ha="left",
    )  # fmt: skip
    return figure


def _list_stops(plan: Plan, episode: Episode, ax: Axes) -> None:
    """What is known of each stop, the ones that were driven to in dark letters."""
    visited = {visit.point for visit in episode.visits}
    height = float(ax.get_figure(root=True).get_figheight()) * 0.9  # type: ignore[union-attr]
    step = min(LINE_IN / height, 0.95 / (len(plan.stops) + 1))
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ax.text(
        0, 1, "stop   chance   arrival   why", fontsize=8.5, color=WALL, va="top", weight="bold"
    )
    for number, stop in enumerate(plan.stops, start=1):
        colour = INK if stop.point in visited else FAINT
        at = 1 - number * step
        ax.text(0.06, at, str(number), fontsize=8.5, color=colour, va="top", ha="right")
        ax.text(0.22, at, f"{stop.chance:.1%}", fontsize=8.5, color=colour, va="top", ha="right")
        ax.text(
            0.38, at, f"{stop.arrival_m:.1f} m", fontsize=8.5, color=colour, va="top", ha="right"
        )
        why = textwrap.shorten(stop.why, 92, placeholder=" ...")
        ax.text(0.42, at, textwrap.fill(why, 46), fontsize=7.5, color=colour, va="top")


def draw_augmentation(
    site: Site, find: ArrayLike, positives: ArrayLike, thing: str, chances: ArrayLike
) -> Figure:
    """Left: a find and the points that it makes positive; right: the true chances at all points.

    ``chances`` (n,) are those of spotting ``thing`` from ``site.standing`` (n, 2).
    """
    home = site.home
    figure, (left, right) = _floors(home, 2)
    draw_home(home, left)
    points = as_points(positives).reshape(-1, 2)
    left.plot(*site.standing.T, ".", ms=1.2, color=FAINT, alpha=0.6, zorder=4.5)
    left.plot(*points.T, "P", ms=3.6, color=TRUTH, mec=SHARE, mew=0.3, zorder=6)
    x, y = as_point(find).tolist()
    left.add_patch(
        Circle((x, y), site.sensor.range_m, fc="none", ec=POINT, lw=1.3, ls="--", zorder=7)
    )
    _star((x, y), left)
    left.set_title(
        f"Seen once: {len(points)} navigable points within {site.sensor.range_m:g} m get +1",
        fontsize=10,
    )
    bare_floor(home, left)
    heat = heat_on(home, site.standing, np.asarray(chances), float(np.max(chances)), right)
    _shares_on(home, thing, right)
    right.set_title(f"True chance of spotting the {thing} from each point", fontsize=10)
    bar = figure.colorbar(heat, ax=right, shrink=0.75, pad=0.01)
    bar.set_label("chance")
    return figure


def draw_learned(
    site: Site, thing: str, panels: Mapping[str, tuple[ArrayLike, Episode]], truth: ArrayLike
) -> Figure:
    """The way of a search over what each learner has learned, with the truth beside it.

    Each panel has chances (n,) at ``site.standing`` and the search it led to. Colours go from the
    lowest to the highest chance of a panel: the order of visits depends on no more than that.
    """
    figure, axes = _floors(site.home, len(panels) + 1, wide=4.2)
    found: ArrayLike | None = None
    for ax, (name, (chance, episode)) in zip(axes, panels.items(), strict=False):
        values = np.asarray(chance, dtype=np.float64)
        heat = heat_on(site.home, site.standing, values, float(values.max()), ax)
        heat.set_clim(float(values.min()), float(values.max()))
        places = [visit.position for visit in episode.visits]
        draw_way(site, places, ax)
        draw_points(places[1:], ax)
        driven = episode.visits[-1].driven_m
        ax.set_title(
            f"{name}: {episode.outcome.replace('_', ' ')} after {driven:.1f} m", fontsize=10
        )
        found = episode.position if found is None else found
        if episode.position is not None:
            _star(episode.position, ax)
        figure.colorbar(heat, ax=ax, shrink=0.6, pad=0.01)
    true = np.asarray(truth, dtype=np.float64)
    heat = heat_on(site.home, site.standing, true, float(true.max()), axes[-1])
    _shares_on(site.home, thing, axes[-1])
    if found is not None:
        _star(found, axes[-1])
    axes[-1].set_title(f"The truth, and the share of each surface ({thing})", fontsize=10)
    figure.colorbar(heat, ax=axes[-1], shrink=0.6, pad=0.01)
    return figure


def draw_distributions(homes: Sequence[Scenario]) -> Figure:
    """Where objects lie: a row per home, a column per object; surfaces are darker the more they hold."""
    columns = max(len(home.objects) for home in homes)
    wide = 2.7
    tall = sum(_shape(home) for home in homes) * wide + 0.5
    figure = Figure(figsize=(wide * columns, tall), layout="constrained")
    grid = figure.subplots(
        len(homes), columns, squeeze=False, height_ratios=[_shape(home) for home in homes]
    )
    for row, home in zip(grid, homes, strict=True):
        for ax in row[len(home.objects) :]:
            ax.axis("off")
        for ax, thing in zip(row, home.objects, strict=False):
            draw_map(home.map, ax, but=home.heights_m > 0)
            _shares_on(home, thing, ax, all_surfaces=True)
            bare_floor(home, ax)
            ax.set_title(thing, fontsize=10)
        row[0].set_ylabel(home.name, fontsize=11)
    return figure


def _shares_on(home: Scenario, thing: str, ax: Axes, *, all_surfaces: bool = False) -> None:
    """Surfaces in green by the share of the searches in which an object lies on them, with the share."""
    chances = home.probabilities(thing)
    white, dark = np.array(to_rgb(ROOM)), np.array(to_rgb(SHARE))
    top = max(chances.values())
    for name, surface in home.places.surfaces.items():
        share = chances.get(name, 0.0)
        if not share and not all_surfaces:
            continue
        colour = (
            white + (0.12 + 0.88 * share / top) * (dark - white) if share else to_rgb("#e9eaec")
        )
        ax.add_patch(Polygon(surface.polygon, fc=colour, ec=INK, lw=0.5, zorder=4))
        if share >= 0.005:
            x, y = label_point(surface.polygon)
            sides = np.ptp(surface.polygon, axis=0)
            ax.text(
                x, y, f"{share:.0%}", ha="center", va="center", fontsize=6.5, zorder=9,
                color="white" if share > 0.55 * top else INK,
                rotation=90 if sides[1] > 1.8 * sides[0] else 0,
            )  # fmt: skip


def draw_patches(features: Features, points: ArrayLike) -> Figure:
    """The wall-distance map, and around some points the patches of it that describe them."""
    at = as_points(points).reshape(-1, 2)
    figure = Figure(figsize=(9.6, 5.2), layout="constrained")
    cells = -(-len(at) // 2)
    grid = figure.add_gridspec(2, cells + 2, width_ratios=[*[2.2] * 2, *[1.0] * cells])
    whole = figure.add_subplot(grid[:, :2])
    field = features.wall_distance
    rows, columns = field.shape
    whole.imshow(
        field, cmap="viridis", origin="lower", vmin=0, vmax=1, extent=(0, columns, 0, rows)
    )
    whole.set_xlim(-PATCH / 2, columns + PATCH / 2)
    whole.set_ylim(-PATCH / 2, rows + PATCH / 2)
    whole.set_facecolor("#2a0a3a")
    scale = features.map.resolution_m / features.pixel_m
    pixels = np.floor(features.map.to_grid(at) * scale + 1e-9)
    patches = features.places(at)[:, : PATCH * PATCH].reshape(-1, PATCH, PATCH)
    for number, (corner, patch) in enumerate(zip(pixels - PATCH // 2, patches, strict=True)):
        whole.add_patch(Rectangle(corner, PATCH, PATCH, fc="none", ec="white", lw=1.3, ls=":"))
        x, y = corner + np.array([0.8, PATCH - 0.8])
        whole.text(x, y, str(number + 1), color="white", fontsize=9, va="top")
        small = figure.add_subplot(grid[number // cells, 2 + number % cells])
        small.imshow(patch, cmap="viridis", origin="lower", vmin=0, vmax=1)
        small.set(xticks=[], yticks=[])
        small.set_title(f"{number + 1}", fontsize=9)
    whole.set(xticks=[], yticks=[])
    whole.set_title(
        f"Distance to the nearest obstacle at {columns} x {rows} pixels, and patches of "
        f"{PATCH} x {PATCH}",
        fontsize=10, loc="left",
    )  # fmt: skip
    return figure


def draw_times(
    counts: Sequence[int],
    seconds: Mapping[str, ArrayLike],
    proven: Mapping[str, ArrayLike],
    *,
    limit_s: float,
    where: str,
) -> Axes:
    """Seconds (problems, counts) until the best order was proven; rings where the limit came first."""
    ax: Axes = Figure(figsize=(7.6, 4.6), layout="constrained").add_subplot()
    for (name, values), colour in zip(
        seconds.items(), (LINES[3], LINES[2], LINES[4]), strict=False
    ):
        took, done = np.atleast_2d(values), np.atleast_2d(np.asarray(proven[name], dtype=bool))
        middle = np.median(took, axis=0)
        ax.plot(counts, middle, color=colour, lw=2, label=name)
        at = np.broadcast_to(np.asarray(counts, dtype=np.float64), took.shape)
        ax.plot(at[done], took[done], "o", ms=5, color=colour, alpha=0.75)
        ax.plot(at[~done], took[~done], "o", ms=6, mfc="white", mec=colour, mew=1.4)
    ax.axhline(limit_s, color=WALL, lw=0.9, ls="--")
    ax.annotate(
        f"limit of {limit_s:g} s", (counts[-1], limit_s), (0, 4), textcoords="offset points",
        fontsize=8.5, color=WALL, ha="right",
    )  # fmt: skip
    ax.set(yscale="log", xlabel="vantage points", xticks=counts)
    ax.set_ylabel("seconds until proven best")
    ax.set_title(
        f"Time to prove the best order in {where}, at most {limit_s:g} s (ring: not proven by then)",
        fontsize=10, loc="left",
    )  # fmt: skip
    ax.legend(frameon=False, fontsize=9.5)
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _floors(
    home: Scenario, count: int, *, wide: float = WIDE_IN, shares: Sequence[float] | None = None
) -> tuple[Figure, list[Axes]]:
    """A figure with floors side by side, each ``wide`` inches."""
    shares = shares or [1.0] * count
    size = (wide * sum(shares) + 0.4, wide * _shape(home) + 0.5)
    figure = Figure(figsize=size, layout="constrained")
    axes: NDArray[np.object_] = figure.subplots(1, count, width_ratios=shares, squeeze=False)
    return figure, list(axes[0])


def _shape(home: Scenario) -> float:
    """Height over width of what is free of a map."""
    rows, columns = np.nonzero(home.map.free)
    return float((np.ptp(rows) + 5) / (np.ptp(columns) + 5)) if len(rows) else 1.0


def _star(position: ArrayLike, ax: Axes) -> None:
    x, y = as_point(position).tolist()
    ax.plot(x, y, "*", ms=17, color=TRUTH, mec=INK, mew=0.8, zorder=10)
