"""The pictures of the documentation, drawn from the library itself."""

import tempfile
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from planning_pictures import orders

import sightline as sl
from sightline import plot
from sightline.maps import FreeSpace, OccupancyMap, Points
from sightline.places import SHIPPED

SEED = 7
POINTS = 25
SMALL_ROBOT = {"wrs2020": 0.2}  # the arena is narrow
RADIUS_M = 0.25
COVER_M = 2.0
BLUE, RED, GREEN, GRAY = "#1f5fa8", plot.POINT, "#1b7837", "#8a8f98"
REGIONS = np.array(["#dbe9f6", "#fde3c8", "#d9efd8", "#f3d6e4", "#e6dcf2", "#fbf3c4", "#d3ecec"])


def home_and_free_space(name: str) -> tuple[sl.Scenario, FreeSpace]:
    """A scenario that ships, and where its robot can drive."""
    home = sl.Scenario.load(name)
    return home, home.map.free_space(robot_radius_m=SMALL_ROBOT.get(name, RADIUS_M))


def seen_from(home: sl.Scenario, points: Points, cells: Points) -> np.ndarray:
    """Which cells at least one of the points sees."""
    seen = np.zeros(len(cells), dtype=bool)
    seen[sl.visible(home, points, cells, sl.Sensor()).indices] = True
    return seen


def vantage_sets() -> tuple[sl.Scenario, Points, np.ndarray, dict[str, Points]]:
    """Kitchen 2, its target cells, the mean mass of its objects, and points chosen three ways."""
    home, free = home_and_free_space("kitchen2")
    cells = home.target_cells()
    mass = np.mean([home.mass(thing, cells) for thing in home.objects], axis=0)
    candidates = free.points(0.2)
    sees = sl.visible(home, candidates, cells, sl.Sensor())
    chosen = {
        "farthest_points": sl.farthest_points(free, POINTS, rng=np.random.default_rng(SEED)),
        "epsilon_cover": sl.epsilon_cover(free, COVER_M),
        "informative_points": sl.informative_points(
            free, sees, mass, POINTS, candidates=candidates
        ),
    }
    return home, cells, mass, chosen


def _panels(count: int, width: float, height: float) -> list[Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    return list(np.ravel(figure.subplots(1, count)))


def _drawn(home: sl.Scenario, ax: Axes | None = None, names: tuple[str, ...] = ()) -> Axes:
    ax = plot.draw_map(home.map, ax, but=home.heights_m > 0)
    return plot.draw_places(home.places, ax, names=names)


def _holding(home: sl.Scenario) -> tuple[str, ...]:
    return tuple({name: 0 for thing in home.objects for name in home.probabilities(thing)})


def _bare(ax: Axes, title: str) -> Axes:
    ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
    ax.set_title(title, fontsize=9)
    return ax


def front() -> Axes:
    """The survey of kitchen1, as ``sightline map kitchen1`` draws it."""
    home, free = home_and_free_space("kitchen1")
    points = sl.farthest_points(free, POINTS, rng=np.random.default_rng(0))
    cells = home.target_cells()
    return plot.draw_survey(home, free, points, cells, sl.visible(home, points, cells, sl.Sensor()))


def scenario(name: str) -> Callable[[], Axes]:
    """A scenario with its surfaces, and where the robot can be."""

    def draw() -> Axes:
        home, free = home_and_free_space(name)
        return plot.draw_free_space(free, _drawn(home, names=_holding(home)))

    return draw


def frame() -> Axes:
    """A map whose origin is turned: cells, rows and the map frame."""
    cells = np.zeros((4, 6), dtype=np.int8)
    cells[0, 3:] = 100
    cells[2:, 5] = -1
    tilted = OccupancyMap.from_array(cells, 0.5, origin=(1.0, 0.5, np.pi / 6))
    ax = plot.draw_map(tilted, plot.new_axes(5, 4.6))
    for row in range(5):
        ax.plot(*tilted.to_world([[0, row], [6, row]]).T, color=GRAY, lw=0.6, zorder=5)
    for column in range(7):
        ax.plot(*tilted.to_world([[column, 0], [column, 4]]).T, color=GRAY, lw=0.6, zorder=5)
    for row, column in ((0, 0), (0, 1), (1, 0), (3, 5)):
        at = tilted.centres([row, column])
        ax.text(*at, f"({row}, {column})", ha="center", va="center", fontsize=8, zorder=6)
    x, y, yaw = tilted.origin
    ax.plot(x, y, "o", color=RED, zorder=7)
    ax.plot([x, x + 1.6], [y, y], color=RED, lw=1, ls="--", zorder=5)
    sweep = np.linspace(0, yaw, 30)
    ax.plot(x + 1.3 * np.cos(sweep), y + 1.3 * np.sin(sweep), color=RED, lw=1.2, zorder=7)
    ax.text(x + 1.4, y + 0.3, "yaw", color=RED, fontsize=9, zorder=8)
    ax.text(x - 0.1, y - 0.25, "origin (1.0, 0.5, 30°)", color=RED, fontsize=9, zorder=8)
    ax.set(xlim=(-0.5, 4.5), ylim=(0, 4.2))
    ax.set_title("(row, column) of cells; row 0 is the lowest", fontsize=9)
    return ax


def radius() -> Axes:
    """The free space of kitchen2 for three robots."""
    home = sl.Scenario.load("kitchen2")
    panels = _panels(3, 11, 3.5)
    for ax, wide in zip(panels, (0.15, 0.25, 0.35), strict=True):
        free = home.map.free_space(robot_radius_m=wide)
        plot.draw_free_space(free, _drawn(home, ax))
        _tint(home.map, free.mask, "#9fc5e8", ax)
        _bare(ax, f"radius {wide:g} m: {free.area_m2:.1f} m²")
    return panels[0]


def _tint(on: OccupancyMap, mask: np.ndarray, colour: str, ax: Axes) -> None:
    ax.imshow(
        np.ma.masked_equal(mask, False),
        cmap=ListedColormap([colour]),
        origin="lower",
        extent=_extent(on),
        interpolation="nearest",
        zorder=0.5,
    )


def _extent(on: OccupancyMap) -> tuple[float, float, float, float]:
    (x, y, _), (width, height) = on.origin, on.size_m
    return x, x + width, y, y + height


def trap() -> Axes:
    """One map image under free_thresh 0.25, and with gray 205 read as unknown."""
    panels = _panels(2, 10, 3.2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "map.yaml"
        OccupancyMap.load(_file("iai_apartment")).save(path)
        path.write_text(path.read_text().replace("free_thresh: 0.196", "free_thresh: 0.25"))
        for ax, known in zip(panels, (False, True), strict=True):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", sl.MapWarning)
                loaded = OccupancyMap.load(path, unknown_205=known)
            area = loaded.free.sum() * loaded.resolution_m**2
            how = "unknown_205=True" if known else "as it is"
            _bare(plot.draw_map(loaded, ax), f"free_thresh 0.25, {how}: {area:.1f} m² free")
    return panels[0]


def _file(name: str) -> Path:
    return Path(sl.__file__).parent / "scenarios" / name / "map.yaml"


def footprints() -> Axes:
    """The dining corner of a lidar map, before and after the footprints are added."""
    home = sl.Scenario.load("aws_small_house")
    panels = _panels(2, 9.5, 4)
    for ax, on, title in zip(
        panels,
        (OccupancyMap.load(_file("aws_small_house")), home.map),
        ("the file: walls, and a few legs and edges", "Scenario.map: footprints occupied"),
        strict=True,
    ):
        plot.draw_map(on, ax)
        for surface in home.places.surfaces.values():
            ax.plot(
                *np.vstack([surface.polygon, surface.polygon[:1]]).T, color=RED, lw=1.2, zorder=6
            )
        ax.set(xlim=(4.6, 9.6), ylim=(-2.0, 2.4))
        ax.set_title(title, fontsize=10)
    return panels[0]


def mass() -> Axes:
    """Where a cup lies in kitchen1, under both distributions."""
    panels = _panels(2, 11, 4.3)
    for ax, name in zip(panels, ("spread", "peaky"), strict=True):
        home = sl.Scenario.load("kitchen1", distribution=name)
        cells = home.target_cells()
        chance = home.mass("cup", cells)
        held = cells[chance > 0]
        plot.draw_map(home.map, ax, but=home.heights_m > 0)
        for surface in home.places.surfaces.values():
            ax.plot(
                *np.vstack([surface.polygon, surface.polygon[:1]]).T, color=GRAY, lw=0.6, zorder=4
            )
        squares = PolyCollection(
            held[:, None] + 0.1 * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]),
            array=100 * chance[chance > 0],
            cmap="YlOrRd",
            zorder=3,
            lw=0.1,
            edgecolors="white",
        )
        squares.set_clim(0, 100 * chance.max())
        ax.add_collection(squares)
        bar = ax.figure.colorbar(squares, ax=ax, shrink=0.7)
        bar.set_label("chance per target cell [%]", fontsize=8)
        _bare(ax, f"mass of cup, distribution {name}")
    return panels[0]


def field() -> Axes:
    """Distances from one start in kitchen2, with the corners at which shortest paths bend."""
    home, free = home_and_free_space("kitchen2")
    start = free.nearest((2.5, 3.8))
    metres = np.ma.masked_invalid(free.distance_field(start))
    ax = _drawn(home)
    ax.figure.set_size_inches(11, 8.2)  # room for the bar beside it
    levels = np.arange(0, np.ceil(metres.max()) + 1)
    x, y = (
        free.map.centres(np.stack([i, i], axis=1)) for i in (np.arange(n) for n in metres.shape)
    )
    columns, rows = y[:, 0], x[:, 1]
    bands = ax.contourf(columns, rows, metres, levels, cmap="YlGnBu", alpha=0.8, zorder=1)
    lines = ax.contour(columns, rows, metres, levels, colors="white", linewidths=0.6, zorder=2)
    ax.clabel(lines, fontsize=6, fmt="%g m", colors=plot.INK)
    for (ax0, ay0), (bx, by) in _tree(free, start):
        ax.plot([ax0, bx], [ay0, by], color=RED, lw=1, zorder=6)
        ax.plot(bx, by, "o", color=RED, ms=3.5, mec="white", mew=0.4, zorder=7)
    ax.plot(*start, "*", color=RED, ms=14, mec="white", zorder=8)
    ax.figure.colorbar(bands, ax=ax, shrink=0.7).set_label("distance from the star [m]")
    ax.set_title("shortest paths from the star; dots: the corners at which they bend", fontsize=10)
    return ax


def _tree(free: FreeSpace, start: Points) -> list[tuple[tuple[float, ...], tuple[float, ...]]]:
    """The bends of the shortest paths to a lattice of points, each with the bend before it."""
    pieces = set()
    for goal in free.points(0.3):
        bends = [tuple(np.round(p, 6)) for p in free.path(start, goal)[:-1]]
        pieces.update(pairwise(bends))
    return sorted(pieces)


def _toy() -> tuple[FreeSpace, Points]:
    blocked = np.zeros((11, 16), dtype=bool)
    blocked[5:8, 5:8] = True
    blocked[2:4, 10:12] = True
    blocked[7:11, 11:12] = True
    return OccupancyMap.from_array(blocked, 1.0).free_space(0.0), np.array([5.5, 1.5])


def sweep() -> Axes:
    """What one sweep does, what a corner adds, and what comes out."""
    free, start = _toy()
    fine = 10  # points per cell
    grid = (np.stack(np.meshgrid(np.arange(16 * fine), np.arange(11 * fine)), -1) + 0.5) / fine
    last = np.full(grid.shape[:2], -1)
    bends: list[tuple[float, ...]] = []
    legs = set()
    for row, column in np.argwhere(free.contains(grid)):
        path = [tuple(np.round(corner, 6)) for corner in free.path(start, grid[row, column])[:-1]]
        if path[-1] not in bends:
            bends.append(path[-1])
        last[row, column] = bends.index(path[-1])
        legs.update(pairwise(path))
    panels = _panels(3, 11, 3.1)
    for ax in panels:
        plot.draw_map(free.map, ax)
    _sweep_rows(free, start, grid, last == bends.index(tuple(start)), panels[0])
    _wedge(free, start, grid, last, bends, panels[1])
    for number in range(len(bends)):
        _tint_fine(last == number, REGIONS[number % len(REGIONS)], panels[2])
    for begin, end in sorted(legs):
        panels[2].plot([begin[0], end[0]], [begin[1], end[1]], color=RED, lw=1, zorder=5)
    panels[2].plot(
        *np.array([b for b in bends if b != tuple(start)]).T, "o", color=RED, ms=5, zorder=6
    )
    panels[2].plot(*start, "*", color=RED, ms=14, mec="white", zorder=6)
    _bare(panels[2], "3. every point, by the corner of its last bend")
    return panels[0]


def _tint_fine(mask: np.ndarray, colour: str, ax: Axes) -> None:
    ax.imshow(
        np.ma.masked_equal(mask, False),
        cmap=ListedColormap([colour]),
        origin="lower",
        extent=(0, 16, 0, 11),
        interpolation="nearest",
        zorder=1,
    )


def _sweep_rows(free: FreeSpace, start: Points, grid: Points, seen: np.ndarray, ax: Axes) -> None:
    """The upward sector of the source: in every row, the visible intervals of slopes."""
    x, y = start
    along, up = grid[..., 0] - x, grid[..., 1] - y
    _tint_fine(seen & (up > 0) & (np.abs(along) <= up), REGIONS[0], ax)
    for row in range(int(y) + 1, 11):
        xs = np.arange(0.005, 16, 0.01)
        ahead = row + 0.5 - y
        xs = xs[np.abs(xs - x) <= ahead]
        line = np.column_stack([xs, np.full(len(xs), row + 0.5)])
        clear = free.contains(line)
        clear[clear] = np.isclose(
            free.distances(start, line[clear])[0],
            np.hypot(*(line[clear] - start).T),
            atol=1e-9,
        )
        edges = np.flatnonzero(np.diff(np.r_[False, clear, False].astype(int)))
        for low, high in edges.reshape(-1, 2):
            ax.plot(xs[[low, high - 1]], [row + 0.5] * 2, color=BLUE, lw=2.5, zorder=4)
            ax.plot(xs[[low, high - 1]], [row + 0.5] * 2, "|", color=BLUE, ms=8, zorder=4)
    for slope in (-1, 1):
        ax.plot([x, x + slope * 8.5], [y, y + 8.5], color=GRAY, lw=1, ls="--", zorder=3)
    for line_y in range(12):
        ax.plot([0, 16], [line_y] * 2, color=GRAY, lw=0.25, zorder=2)
    ax.plot(*start, "*", color=RED, ms=14, mec="white", zorder=6)
    _bare(ax, "1. one sector of the source, row by row")
    ax.set(xlim=(0, 16), ylim=(0, 11))


def _wedge(
    free: FreeSpace,
    start: Points,
    grid: Points,
    last: np.ndarray,
    bends: list[tuple[float, ...]],
    ax: Axes,
) -> None:
    """The part of the shadow that a path bent at one corner can enter."""
    corner = np.array([8.0, 5.0])
    towards = (corner - start) / np.hypot(*(corner - start))
    offset = grid - corner
    beyond = towards[0] * offset[..., 1] - towards[1] * offset[..., 0] >= 0
    inside = beyond & (offset[..., 1] >= 0) & (offset[..., 0] >= 0)
    reached = np.zeros(inside.shape, dtype=bool)
    # the wedge is what the corner sees, so a straight line from just outside the block must be clear
    near = corner + 1e-6
    fine = free.contains(grid) & inside
    straight = np.hypot(*(grid[fine] - near).T)
    reached[fine] = free.distances(near, grid[fine])[0] < straight + 1e-4
    _tint_fine(last == bends.index(tuple(start)), REGIONS[0], ax)
    _tint_fine(reached, REGIONS[1], ax)
    ax.plot(*zip(start, corner, strict=True), color=RED, lw=1.4, zorder=5)
    ahead = corner + towards * 7.4
    ax.plot(*zip(corner, ahead, strict=True), color=RED, lw=1.2, ls="--", zorder=5)
    ax.plot([8, 8], [5, 11], color=RED, lw=1.2, ls="--", zorder=5)
    ax.plot(*corner, "o", color=RED, ms=6, zorder=6)
    ax.plot(*start, "*", color=RED, ms=14, mec="white", zorder=6)
    ax.text(8.7, 8.2, "wedge", fontsize=9, zorder=7)
    _bare(ax, "2. a corner on the rim of the shadow, and its wedge")
    ax.set(xlim=(0, 16), ylim=(0, 11))


def eight() -> Axes:
    """The shortest path and the best path of the 8-connected grid graph."""
    home, free = home_and_free_space("kitchen1")
    start, goal = np.array([0.85, 2.05]), np.array([9.35, 6.65])
    ax = plot.draw_free_space(free, _drawn(home))
    for path, colour, kind in (
        (free.path(start, goal), RED, "any-angle"),
        (_grid_path(free, start, goal), BLUE, "8-connected"),
    ):
        length = np.hypot(*np.diff(path, axis=0).T).sum()
        ax.plot(*path.T, color=colour, lw=1.8, zorder=6, label=f"{kind}: {length:.2f} m")
    ax.plot(*np.stack([start, goal]).T, "o", color=plot.INK, ms=6, zorder=7)
    ax.legend(loc="lower right", fontsize=9).set_zorder(9)
    ax.set_title("two shortest paths, by two rules", fontsize=10)
    return ax


def _grid_path(free: FreeSpace, start: Points, goal: Points) -> Points:
    """Walk down the 8-connected field from goal to start."""
    metres = free.distance_field(start, eight_connected=True)
    here, path = free.map.cells_at(goal), [goal]
    steps = [(r, c) for r in (-1, 0, 1) for c in (-1, 0, 1) if (r, c) != (0, 0)]
    while metres[tuple(here)] > 0:
        ways = [here + step for step in steps]
        cost = [
            metres[tuple(way)] + np.hypot(*step) * free.map.resolution_m
            if free.mask[way[0], here[1]] and free.mask[here[0], way[1]]
            else np.inf
            for way, step in zip(ways, steps, strict=True)
        ]
        here = ways[int(np.argmin(cost))]
        path.append(free.map.centres(here))
    return np.array(path)


def views() -> Axes:
    """One viewpoint beside a pillar and a table: three rules of sight."""
    home = sl.Scenario.load("kitchen2")
    here = np.array([[9.95, 4.05]])
    rows = (
        (home, sl.Sensor(), "line of sight, with places"),
        (home.map, sl.Sensor(), "line of sight, map only"),
        (home, sl.Sensor(kind="disc"), "disc"),
    )
    fine = np.stack(np.meshgrid(np.arange(7, 13, 0.05), np.arange(0.5, 7.5, 0.05)), axis=-1)
    panels = _panels(3, 11, 4.2)
    for ax, (seen_in, sensor, title) in zip(panels, rows, strict=True):
        sees = sl.visible(seen_in, here, fine.reshape(-1, 2) + 0.025, sensor)
        _drawn(home, ax, names=("hall pillar", "corner table", "round table"))
        lit = sees.toarray().reshape(fine.shape[:2])
        ax.imshow(
            np.ma.masked_equal(lit, False),
            cmap=ListedColormap(["#ffd75e"]),
            origin="lower",
            extent=(7, 13, 0.5, 7.5),
            alpha=0.55,
            interpolation="nearest",
            zorder=2.5,
        )
        turn = np.linspace(0, 2 * np.pi, 200)
        ax.plot(
            here[0, 0] + 2.5 * np.cos(turn), here[0, 1] + 2.5 * np.sin(turn), color=GRAY, lw=0.8
        )
        ax.plot(*here[0], "o", color=RED, ms=7, mec="white", zorder=8)
        ax.set(xlim=(7.2, 12.5), ylim=(1.2, 6.9))
        ax.set_title(title, fontsize=10)
    return panels[0]


def vantage() -> Axes:
    """Three ways to choose vantage points in kitchen2."""
    home, cells, mass, chosen = vantage_sets()
    panels = _panels(3, 12, 4)
    for ax, (name, points) in zip(panels, chosen.items(), strict=True):
        sees = sl.visible(home, points, cells, sl.Sensor())
        plot.draw_coverage(home.map, cells, sees, _drawn(home, ax))
        plot.draw_points(points, ax)
        seen = seen_from(home, points, cells)
        _bare(
            ax,
            f"{name}: {len(points)} points\n{seen.mean():.1%} of the target cells, "
            f"{mass[seen].sum():.1%} of the mass",
        )
    return panels[0]


PICTURES: dict[str, Callable[[], Axes]] = {
    "front": front,
    "frame": frame,
    "radius": radius,
    "trap": trap,
    "footprints": footprints,
    "mass": mass,
    "field": field,
    "sweep": sweep,
    "eight": eight,
    "views": views,
    "vantage": vantage,
    "orders": orders,
    **{name: scenario(name) for name in SHIPPED},
}
