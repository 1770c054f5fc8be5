"""Searches as SVG that a reader can step through: numbers only, the template puts them into elements.

Lengths are whole centimetres, y grows downwards.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.itinerary import chances
from sightline.maps import Mask, Points, as_points
from sightline.places import SPACING_M, Scenario
from sightline.plot.home import label_point
from sightline.records import Episode, Outcome
from sightline.report.replay import Replay, Shown
from sightline.site import Site

LEVELS = 8  # shades of a heat map
FAINTEST = 0.01  # share of the darkest shade's mass below which a cell is not drawn
MARGIN_CM = 20


class Surface(NamedTuple):
    """A surface: its corners and where its name stands."""

    name: str
    corners: str
    x: int
    y: int
    tall: bool


@dataclass(frozen=True)
class Floor:
    """A home as SVG: paths of walls and floor in cells with the matrix that places them."""

    box: str
    matrix: str
    known: str
    walls: str
    surfaces: tuple[Surface, ...]


class Heat(NamedTuple):
    """Cells of one shade that the same step sees first (-1: none)."""

    first: int
    shade: float
    path: str


class Step(NamedTuple):
    """One look: the way to it, where it was, and what is said of it."""

    way: str
    x: int
    y: int
    words: str
    seen: bool


@dataclass(frozen=True)
class Scene:
    """A search as SVG."""

    method: str
    words: str
    range_cm: int
    points: tuple[tuple[int, int], ...]
    heat: tuple[Heat, ...]
    steps: tuple[Step, ...]
    star: str
    agrees: bool


def floor_of(home: Scenario) -> Floor:
    """The floor of a home."""
    on = home.map
    known = on.free | on.occupied
    rows, columns = np.nonzero(known)
    low, high = (columns.min(), rows.min()), (columns.max() + 1, rows.max() + 1)
    corners = np.array([low, (high[0], low[1]), high, (low[0], high[1])])
    at = _cm(on.to_world(corners))
    left, top = at.min(axis=0) - MARGIN_CM
    width, height = np.ptp(at, axis=0) + 2 * MARGIN_CM
    zero, right, up = (
        np.array([1, -1]) * 100 * on.to_world(np.array([p])) for p in ((0, 0), (1, 0), (0, 1))
    )
    numbers = np.concatenate([(right - zero)[0], (up - zero)[0], zero[0]])
    return Floor(
        f"{left} {top} {width} {height}",
        f"matrix({' '.join(f'{number:.4f}' for number in numbers)})",
        _runs(known),
        _runs(on.occupied & ~(home.heights_m > 0)),
        tuple(_surface(name, home) for name in home.places.surfaces),
    )


def scene_of(shown: Shown, done: Replay, *, top: float) -> Scene:
    """A search with the steps that a reader clicks through; ``top`` is the mass of the darkest shade."""
    episode, site = shown.episode, done.site
    seen = [set(site.sees([visit.position]).indices.tolist()) for visit in episode.visits]
    outcome = episode.outcome.replace("_", " ")
    return Scene(
        done.cell.method.name,
        f"{outcome} after {episode.visits[-1].driven_m:.1f} m and {len(episode.visits)} looks",
        round(100 * site.sensor.range_m) if np.isfinite(site.sensor.range_m) else 0,
        tuple((x, y) for x, y in _cm(done.points).tolist()),
        _heat(site, episode, seen, top),
        tuple(_steps(site, episode)),
        _star(shown.drawn.position),
        shown.agrees,
    )


def highest_mass(episode: Episode) -> float:
    """The mass of the likeliest cell before a search; 0 where no mass is kept."""
    if episode.belief is None or episode.belief.mass is None:
        return 0.0
    return float(episode.belief.mass.max(initial=0.0))


def _heat(site: Site, episode: Episode, seen: list[set[int]], top: float) -> tuple[Heat, ...]:
    """The mass that was believed before the search, by shade and by the look that takes it away."""
    if episode.belief is None or episode.belief.mass is None:
        return ()
    mass = episode.belief.mass
    shade = np.ceil(LEVELS * np.minimum(mass / max(top, 1e-300), 1.0)).astype(int)
    groups: dict[tuple[int, int], list[int]] = {}
    for cell in np.flatnonzero(mass > FAINTEST * top).tolist():
        first = next((step for step, cells in enumerate(seen) if cell in cells), -1)
        groups.setdefault((first, int(shade[cell])), []).append(cell)
    side = round(100 * SPACING_M)
    corners = _cm(site.cells) - side // 2
    return tuple(
        Heat(
            first,
            level / LEVELS,
            "".join(f"M{x} {y}h{side}v{side}h-{side}z" for x, y in corners[cells].tolist()),
        )
        for (first, level), cells in sorted(groups.items())
    )


def _steps(site: Site, episode: Episode) -> list[Step]:
    at = [visit.position for visit in episode.visits]
    ways = [""] + [_line(site.free.path(here, there)) for here, there in pairwise(at)]
    said = chances(site, episode)
    out = []
    for number, (visit, way, chance) in enumerate(zip(episode.visits, ways, said, strict=True)):
        where = f"After {visit.driven_m:.1f} m" if number else "At the start"
        hope = f", believed chance {chance:.1%}" if np.isfinite(chance) else ""
        result = "seen" if visit.seen else "not seen"
        x, y = _cm([visit.position])[0].tolist()
        out.append(Step(way, x, y, f"{where}{hope}: {result}", visit.seen))
    if episode.outcome is not Outcome.FOUND:
        last = out[-1]
        words = f"{last.words}; the search ends: {episode.outcome.replace('_', ' ')}"
        out[-1] = last._replace(words=words)
    return out


def _surface(name: str, home: Scenario) -> Surface:
    surface = home.places.surfaces[name]
    low, high = surface.polygon.min(axis=0), surface.polygon.max(axis=0)
    x, y = _cm(label_point(surface.polygon)[None])[0].tolist()
    tall = bool(high[1] - low[1] > 1.6 * (high[0] - low[0]))
    corners = " ".join(f"{a},{b}" for a, b in _cm(surface.polygon).tolist())
    holding = {on for thing in home.objects for on in home.probabilities(thing)}
    return Surface(name if name in holding else "", corners, x, y, tall)


def _star(position: ArrayLike) -> str:
    """The corners of a star."""
    x, y = _cm(as_points(position).reshape(-1, 2))[0].tolist()
    turns = np.pi * np.arange(10) / 5
    radius = np.where(np.arange(10) % 2 == 0, 22.0, 9.0)
    tips = np.stack([x + radius * np.sin(turns), y - radius * np.cos(turns)], axis=1)
    return " ".join(f"{a:.0f},{b:.0f}" for a, b in tips.tolist())


def _line(path: Points) -> str:
    return "M" + "L".join(f"{x} {y}" for x, y in _cm(path).tolist())


def _cm(points: ArrayLike) -> NDArray[np.int64]:
    """Whole centimetres (n, 2), y downwards."""
    return np.asarray(np.rint(as_points(points) * np.array([100.0, -100.0])), dtype=np.int64)


def _runs(mask: Mask) -> str:
    """The true cells of a mask as rectangles, one for each run in a row."""
    out = []
    for row, cells in enumerate(mask):
        edges = np.flatnonzero(np.diff(np.concatenate([[False], cells, [False]]).astype(np.int8)))
        for first, end in edges.reshape(-1, 2).tolist():
            out.append(f"M{first} {row}h{end - first}v1h{first - end}z")
    return "".join(out)
