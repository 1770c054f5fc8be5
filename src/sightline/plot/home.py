"""Maps, furniture, points and what is seen from them."""

import io
import textwrap
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import ListedColormap, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Polygon
from matplotlib.transforms import Affine2D
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from sightline.maps import FreeSpace, Mask, OccupancyMap, Points, as_points
from sightline.places import Places, Scenario

WALL, UNKNOWN, ROOM = "#3b3f46", "#d9dbde", "#ffffff"
FURNITURE, TALL, INK = "#d9b48c", "#8c6d4f", "#2b2b2b"
POINT, REACH = "#c8102e", "#2f6db5"
MARGIN_M = 0.5  # around what is known of a map
SEEN = ("#e4f3df", "#1b7837")  # by few points, by many
UNSEEN = "#f2a68d"


def new_axes(width_m: float, height_m: float) -> Axes:
    """Axes for a floor of this size, about 1 cm on paper per 0.6 m."""
    scale = min(0.8, 14 / max(width_m, 1e-9))
    size = (max(4.0, width_m * scale), max(3.0, height_m * scale + 0.6))
    axes: Axes = Figure(figsize=size, layout="constrained").add_subplot()
    return axes


def save(picture: Axes | Figure, path: str | Path, *, dpi: int = 110) -> Path:
    """Write a figure, or the figure of some axes, to a file and return its path."""
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"A picture needs the name of a file; {path} is a folder.")
    if not path.suffix:
        path = path.with_name(f"{path.name}.png")
    path.parent.mkdir(parents=True, exist_ok=True)
    _figure(picture).savefig(path, dpi=dpi)
    return path


def png(picture: Axes | Figure, *, dpi: int = 110) -> bytes:
    """A figure, or the figure of some axes, as the content of a PNG file."""
    buffer = io.BytesIO()
    _figure(picture).savefig(buffer, dpi=dpi, format="png")
    return buffer.getvalue()


def _figure(picture: Axes | Figure) -> Figure:
    figure = picture if isinstance(picture, Figure) else picture.get_figure(root=True)
    assert figure is not None  # axes are made with one
    return figure


def draw_survey(
    home: Scenario,
    free: FreeSpace,
    points: Points,
    cells: Points,
    sees: sparse.csr_array,
    ax: Axes | None = None,
) -> Axes:
    """A home, where the robot can be, its vantage points and what is seen from them."""
    ax = draw_home(home, ax)
    draw_free_space(free, ax)
    draw_coverage(home.map, cells, sees, ax)
    draw_points(points, ax)
    words = (
        f"{home.name}: {len(points)} vantage points and what they see. Green is seen, the darker "
        f"the more often, at most {int(sees.sum(axis=0).max(initial=0))} times; orange from nowhere. "
        "The robot can be inside the blue line."
    )
    figure = ax.get_figure(root=True)
    width = figure.get_figwidth() if figure is not None else 8.0
    ax.set_title(textwrap.fill(words, int(13 * width)), fontsize=9, loc="left")
    return ax


def draw_home(home: Scenario, ax: Axes | None = None) -> Axes:
    """Walls, floor and furniture; the surfaces on which objects can lie have their names."""
    ax = draw_map(home.map, ax, but=home.heights_m > 0)
    holding = {name for thing in home.objects for name in home.probabilities(thing)}
    return draw_places(home.places, ax, names=tuple(holding))


def draw_map(on: OccupancyMap, ax: Axes | None = None, *, but: Mask | None = None) -> Axes:
    """The cells: free white, occupied dark, unknown gray; axes in metres, equal scale.

    Occupied cells of the mask ``but`` stay white, for furniture that ``draw_places`` draws.
    """
    ax = ax or new_axes(*np.ptp(_known_box(on), axis=0))
    _cells(on, on.occupied if but is None else on.occupied & ~but, WALL, 2, ax)
    (left, low), (right, high) = _known_box(on)
    ax.set_xlim(left, right)
    ax.set_ylim(low, high)
    ax.set_aspect("equal")
    ax.set_facecolor(UNKNOWN)
    _cells(on, on.free | on.occupied, ROOM, 0, ax)
    ax.set_xlabel("x [m]")
    ax.set_ylabel("y [m]")
    return ax


def _known_box(on: OccupancyMap) -> NDArray[np.float64]:
    """Lower left and upper right corner (2, 2) of what is known of a map, with a margin, in metres."""
    rows, columns = np.nonzero(~on.unknown)
    if not len(rows):
        rows, columns = np.array([0, on.shape[0] - 1]), np.array([0, on.shape[1] - 1])
    (left, low), (right, high) = (columns.min(), rows.min()), (columns.max() + 1, rows.max() + 1)
    corners = on.to_world(np.array([[left, low], [right, low], [right, high], [left, high]]))
    return np.array([corners.min(axis=0) - MARGIN_M, corners.max(axis=0) + MARGIN_M])


def draw_free_space(free: FreeSpace, ax: Axes | None = None) -> Axes:
    """The rim of where the robot's centre can be."""
    ax = ax or draw_map(free.map)
    padded = np.pad(free.mask, 1)
    sides = []
    for axis, step in ((0, (1, 0)), (1, (0, 1))):
        rim = np.argwhere(np.diff(padded.astype(np.int8), axis=axis) != 0)
        # the line between padded cells (r, c) and its neighbour begins at this corner of the map
        begin = rim[:, ::-1] - ((1, 0) if axis == 0 else (0, 1))
        sides.append(np.stack([begin, begin + step], axis=1))
    lines = free.map.to_world(np.concatenate(sides))
    ax.add_collection(LineCollection(list(lines), colors=REACH, linewidths=0.8, zorder=5))
    return ax


def _cells(on: OccupancyMap, mask: Mask, colour: str, zorder: float, ax: Axes) -> None:
    x, y, yaw = on.origin
    place = Affine2D().scale(on.resolution_m).rotate(yaw).translate(x, y) + ax.transData
    ax.imshow(
        np.ma.masked_equal(mask, False),
        cmap=ListedColormap([colour]),
        origin="lower",
        extent=(0, mask.shape[1], 0, mask.shape[0]),
        transform=place,
        interpolation="nearest",
        zorder=zorder,
    )


def draw_places(
    places: Places,
    ax: Axes,
    *,
    camera_height_m: float = 1.2,
    names: tuple[str, ...] | None = None,
) -> Axes:
    """Surfaces, the ones a camera cannot look over darker, with their names (all, or some)."""
    for surface in places.surfaces.values():
        colour = TALL if surface.height_m >= camera_height_m else FURNITURE
        ax.add_patch(Polygon(surface.polygon, fc=colour, ec="none", alpha=0.45, zorder=3))
        ax.add_patch(Polygon(surface.polygon, fc="none", ec=INK, lw=0.7, zorder=4))
        if names is None or surface.name in names:
            low, high = surface.polygon.min(axis=0), surface.polygon.max(axis=0)
            upright = high[1] - low[1] > 1.6 * (high[0] - low[0])
            x, y = label_point(surface.polygon)
            ax.text(
                x,
                y,
                surface.name,
                ha="center",
                va="center",
                fontsize=6,
                color=INK,
                rotation=90 if upright else 0,
                zorder=6,
                bbox={"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.65},
            )
    return ax


def label_point(polygon: Points) -> Points:
    """A point for a label: the middle of the longest side's own rectangle for bent polygons."""
    middle = (polygon.min(axis=0) + polygon.max(axis=0)) / 2
    area = np.ptp(polygon, axis=0).prod()
    x, y = polygon.T
    filled = abs(float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y)) / 2)
    if filled > 0.75 * area:
        return np.asarray(middle)
    sides = np.roll(polygon, -1, axis=0) - polygon
    longest = int(np.hypot(*sides.T).argmax())
    along = polygon[longest] + sides[longest] / 2
    return np.asarray(along + 0.12 * (middle - along))


def draw_points(points: ArrayLike, ax: Axes, *, numbered: bool = True) -> Axes:
    """Vantage points, numbered in their order."""
    at = as_points(points).reshape(-1, 2)
    ax.plot(at[:, 0], at[:, 1], "o", ms=9 if numbered else 4, color=POINT, mec="white", zorder=7)
    if numbered:
        for number, (x, y) in enumerate(at, start=1):
            ax.text(
                x, y, str(number), ha="center", va="center", color="white", fontsize=5.5, zorder=8
            )
    return ax


def draw_coverage(
    on: OccupancyMap,
    cells: ArrayLike,
    sees: sparse.csr_array,
    ax: Axes,
    *,
    spacing_m: float = 0.2,
) -> Axes:
    """Target cells by the number of points that see them; cells that none sees in a warm colour."""
    times = np.asarray(sees.sum(axis=0)).ravel()
    patches = squares(on, as_points(cells).reshape(-1, 2), spacing_m)
    ax.add_collection(PolyCollection(list(patches), facecolors=_shades(times), lw=0, zorder=1))
    return ax


def squares(on: OccupancyMap, centres: Points, side_m: float) -> NDArray[np.float64]:
    """The corners (n, 4, 2) of squares along the axes of a map."""
    yaw = on.origin[2]
    along = np.array([np.cos(yaw), np.sin(yaw)]) * side_m / 2
    across = np.array([-along[1], along[0]])
    corner = np.array([-along - across, along - across, along + across, -along + across])
    return np.asarray(centres[:, None, :] + corner)


def _shades(times: NDArray[np.int64]) -> NDArray[np.float64]:
    few, many = (np.array(to_rgb(colour)) for colour in SEEN)
    most = max(2, int(times.max(initial=0)))
    share = ((times - 1) / (most - 1))[:, None]
    return np.where((times > 0)[:, None], few + share * (many - few), to_rgb(UNSEEN))
