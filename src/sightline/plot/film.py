"""The pictures of a film: what the camera sees beside the map on which the robot searches."""

from collections.abc import Iterator, Sequence
from math import cos, sin
from typing import Any, overload

import matplotlib
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Patch, Rectangle, Wedge
from numpy.typing import NDArray
from PIL import Image

from sightline.film import HOLD_S, RATE, SPEED, Film, Picture, Shot, timeline
from sightline.places import SPACING_M
from sightline.plot.home import INK, POINT, REACH, draw_home, draw_points, squares
from sightline.plot.learn import bare_floor
from sightline.plot.search import TRUTH, WARMTH
from sightline.records import Outcome
from sightline.worlds.robot import RADIUS_M

DPI = 100
HEAD, GAP, FOOT = 0.5, 0.12, 1.05  # inches: the caption, between and around, the legend
VIEW = (6.4, 4.8)  # inches of the camera's picture
WIDEST = 7.6  # inches of the map
LIDAR, SIGHTING = "#7b3fa0", "#35c04a"
WARMEST = 2.0  # times the greatest chance of the first belief is the darkest colour


def draw_strip(film: Film, *, count: int = 4) -> Figure:
    """So many pictures of a film, evenly over it, two beside each other."""
    pictures = Pictures(film)
    rows = -(-count // 2)
    height, width = pictures[0].shape[:2]
    figure = Figure(figsize=(12.0, 6.0 * height / width * rows))
    at = np.linspace(0, len(pictures) - 1, count).astype(int)
    for number, picture in enumerate(at.tolist()):
        row, column = divmod(number, 2)
        ax = figure.add_axes((column / 2, 1 - (row + 1) / rows, 0.497, 0.994 / rows))
        ax.imshow(pictures[picture], aspect="auto", interpolation="antialiased")
        ax.set_axis_off()
    return figure


class Pictures(Sequence[Picture]):
    """The pictures (height, width, 3) of a film, of even size, each drawn when it is asked for.

    They end with some that say how the search ended. What stays is drawn once, the belief after each
    look, and what moves is drawn over it.
    """

    def __init__(self, film: Film) -> None:
        self._film = film
        shown = timeline([shot.time_s for shot in film.shots])
        self._ended = len(shown)
        self._shown = shown + shown[-1:] * round(HOLD_S * RATE)
        self._figure, self._map, view = _sheet(film)
        self._canvas = FigureCanvasAgg(self._figure)
        self._heat = self._draw_still()
        self._moving = _Moving(self._figure, self._map, view, film)
        self._looks = -1  # of the belief that is drawn
        self._still: Any = None

    def __len__(self) -> int:
        return len(self._shown)

    @overload
    def __getitem__(self, index: int) -> Picture: ...
    @overload
    def __getitem__(self, index: slice) -> list[Picture]: ...
    def __getitem__(self, index: int | slice) -> Picture | list[Picture]:
        """Draw one picture, or some."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        at = range(len(self))[index]
        shot, ended = self._film.shots[self._shown[at]], at >= self._ended
        self._set_belief(len(self._film.looks) if ended else shot.looks)
        self._canvas.restore_region(self._still)  # type: ignore[no-untyped-call]
        drawn = np.asarray(self._canvas.buffer_rgba())[:, :, :3]  # type: ignore[no-untyped-call]
        onto = self._canvas.get_renderer()  # type: ignore[no-untyped-call]
        self._moving.put_picture(self._moving.in_view(shot, ended), drawn)
        for artist in self._moving.of(shot, self._shown[at], ended):
            artist.draw(onto)
        return drawn[: drawn.shape[0] // 2 * 2, : drawn.shape[1] // 2 * 2].copy()

    def _draw_still(self) -> PolyCollection | None:
        """The home, the points, and where the belief will be shown."""
        film = self._film
        draw_home(film.site.home, self._map)
        bare_floor(film.site.home, self._map)
        points = film.episode.points
        self._map.plot(*points.T, "o", ms=2.8, mfc="white", mec=POINT, mew=0.6, zorder=6)
        mass = film.mass_after(0)
        if mass is None:
            return None
        patches = squares(film.site.home.map, film.site.cells, SPACING_M)
        heat = PolyCollection(list(patches), lw=0, zorder=4.5)
        self._map.add_collection(heat, autolim=False)
        self._most = max(WARMEST * float(mass.max(initial=0.0)), 1e-9)
        return heat

    def _set_belief(self, looks: int) -> None:
        """Draw what is believed after some looks, and keep the sheet as it then is."""
        if self._looks == looks:
            return
        self._looks = looks
        mass = self._film.mass_after(looks)
        if self._heat is not None and mass is not None:
            share = np.clip(mass / self._most, 0, 1)
            colours = matplotlib.colormaps[WARMTH](share)
            colours[:, 3] = 0.8 * np.clip(share / 0.05, 0, 1)
            self._heat.set_facecolor(list(map(tuple, colours)))
        self._canvas.draw()  # type: ignore[no-untyped-call]
        self._still = self._canvas.copy_from_bbox(self._figure.bbox)  # type: ignore[no-untyped-call]


class _Moving:
    """What is drawn anew in every picture, from the back to the front."""

    def __init__(self, figure: Figure, ax: Axes, view: Axes, film: Film) -> None:
        self._figure, self._ax, self._view, self._film = figure, ax, view, film
        found, thing = film.episode.outcome is Outcome.FOUND, film.episode.query.thing
        had = [shot for shot in film.shots if any(one.thing == thing for one in shot.detections)]
        self._proof = had[-1] if found and had else None
        self._trail_at = np.array([shot.pose[:2] for shot in film.shots]).reshape(-1, 2)
        self._hits = _line(ax, "o", ms=1.8, color=LIDAR, alpha=0.7, mew=0)
        self._wedge = Wedge((0, 0), film.site.sensor.range_m, 0, 1, fc=REACH, ec=REACH, alpha=0.17)
        self._way = _line(ax, ls=(0, (2, 1.5)), lw=1.3, color=REACH)
        self._trail = _line(ax, lw=2.0, color=REACH)
        self._body = Circle((0, 0), RADIUS_M, fc="white", ec=REACH, lw=1.8)
        self._heading = _line(ax, lw=1.8, color=REACH)
        before = set(ax.get_children())
        draw_points(film.stops, ax)  # the dots in one line, then the number of each
        added = [one for one in ax.get_children() if one not in before]
        for artist in added:
            artist.set_animated(True)
        (self._dots,) = (one for one in added if isinstance(one, Line2D))
        self._numbers = [one for one in added if one is not self._dots]
        self._goal = _line(ax, "o", ms=12, mfc="none", mec=POINT, mew=1.5)
        self._sighting = _line(ax, "D", ms=14, mfc="none", mec=SIGHTING, mew=2.0)
        self._truth = _line(ax, "*", color=TRUTH, mec=INK)
        for patch in (self._wedge, self._body):
            patch.set_animated(True)
            ax.add_patch(patch)
        top = 1 - 0.5 * HEAD / figure.get_figheight()
        left, right = GAP / figure.get_figwidth(), 1 - GAP / figure.get_figwidth()
        self._said = figure.text(left, top, "", va="center", fontsize=13, color=INK, animated=True)
        self._count = figure.text(
            right, top, "", va="center", ha="right", fontsize=12, color=INK, animated=True
        )

    def of(self, shot: Shot, number: int, ended: bool) -> Iterator[Artist]:
        """Everything that shows a shot, ready to be drawn."""
        self._put_robot(shot)
        _move(self._hits, shot.hits)
        _move(self._way, np.empty((0, 2)) if ended else shot.way)
        _move(self._trail, self._trail_at[: number + 1])
        _move(self._goal, [] if ended or shot.goal is None else [shot.goal])
        _move(self._sighting, [] if ended or shot.sighting is None else [shot.sighting])
        _move(self._truth, [self._film.truth])
        self._truth.set(
            ms=17 if ended else 9, mfc=TRUTH if ended else "none", mew=0.8 if ended else 0.9
        )
        self._say(shot, ended)
        stops = len(self._film.stops) if ended else shot.stops
        _move(self._dots, self._film.stops[:stops])
        self._wedge.set_visible(self.in_view(shot, ended) is shot)
        yield from (self._hits, self._wedge, self._way, self._trail, self._dots)
        yield from (*self._numbers[:stops], self._goal, self._sighting, self._truth, self._body)
        yield from (self._heading, self._said, self._count)
        yield from self._boxes(self.in_view(shot, ended))

    def in_view(self, shot: Shot, ended: bool) -> Shot:
        """The shot whose picture is shown: at the end of a success the last that had the object."""
        return self._proof if ended and self._proof is not None else shot

    def put_picture(self, shot: Shot, sheet: Picture) -> None:
        """Set what the camera saw into the sheet (height, width, 3), pixel by pixel, which is quick."""
        box = self._view.get_window_extent()
        left, top = round(box.x0), sheet.shape[0] - round(box.y1)
        size = round(box.width), round(box.height)
        picture = Image.fromarray(shot.picture).resize(size, Image.Resampling.BILINEAR)
        sheet[top : top + size[1], left : left + size[0]] = np.asarray(picture)

    def _put_robot(self, shot: Shot) -> None:
        x, y, yaw = shot.pose
        self._body.set_center((x, y))
        tip = (x + RADIUS_M * cos(yaw), y + RADIUS_M * sin(yaw))
        _move(self._heading, [(x, y), tip])
        look, half = np.rad2deg(shot.camera_yaw_rad), np.rad2deg(self._film.field_of_view_rad) / 2
        self._wedge.set_center((x, y))
        self._wedge.set_theta1(look - half)
        self._wedge.set_theta2(look + half)

    def _say(self, shot: Shot, ended: bool) -> None:
        episode, site = self._film.episode, self._film.site
        doing = str(episode.outcome).replace("_", " ") if ended else shot.doing
        if self.in_view(shot, ended) is not shot:
            doing += ", here as it was last seen"
        self._said.set_text(f"{episode.query.thing} in {site.home.name}: {doing}")
        self._count.set_text(
            f"{shot.time_s:.0f} s, {shot.driven_m:.1f} m driven   ({SPEED:g} x speed)"
        )

    def _boxes(self, shot: Shot) -> Iterator[Artist]:
        """A frame and a name for each detection; what is sought stands out."""
        width, height = self._film.camera_px
        for one in shot.detections:
            left, top, right, bottom = one.box
            sought = one.thing == self._film.episode.query.thing
            colour = POINT if sought else REACH
            box = Rectangle(
                (left / width, 1 - bottom / height), (right - left) / width, (bottom - top) / height,
                fill=False, ec=colour, lw=2.2 if sought else 1.4, transform=self._view.transAxes,
            )  # fmt: skip
            box.set_figure(self._figure)
            yield box
            name = self._view.text(
                min(left / width, 0.84), min(1 - top / height + 0.012, 0.95),
                f"{one.thing} {one.score:.2f}", transform=self._view.transAxes, color="white",
                fontsize=9, va="bottom", animated=True,
                bbox={"boxstyle": "round,pad=0.15", "fc": colour, "ec": "none"},
            )  # fmt: skip
            yield name
            name.remove()


def _sheet(film: Film) -> tuple[Figure, Axes, Axes]:
    """An empty sheet with axes for the map and for the camera's picture, and the legend."""
    width, height = _floor_m(film)
    tall = HEAD + VIEW[1] + FOOT
    room = tall - HEAD - GAP
    wide = min(WIDEST, room * width / height)
    figure = Figure(figsize=(VIEW[0] + wide + 3 * GAP, tall), dpi=DPI, facecolor="white")
    w, h = figure.get_size_inches()
    view = figure.add_axes((GAP / w, FOOT / h, VIEW[0] / w, VIEW[1] / h))
    view.set_axis_off()
    ax = figure.add_axes(((VIEW[0] + 2 * GAP) / w, GAP / h, wide / w, room / h))
    ax.set_anchor("N")
    legend = _legend(film)
    figure.legend(
        handles=legend, loc="center", bbox_to_anchor=((GAP + VIEW[0] / 2) / w, FOOT / 2 / h),
        ncols=3, frameon=False, fontsize=9, columnspacing=1.2, handletextpad=0.5, handlelength=1.6,
    )  # fmt: skip
    return figure, ax, view


def _floor_m(film: Film) -> tuple[float, float]:
    """Width and height of what is drawn of a home."""
    ax = bare_floor(film.site.home, Figure().add_subplot())
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    return right - left, high - low


def _legend(film: Film) -> list[Artist]:
    """What the signs mean, in three columns of three."""
    ring: dict[str, Any] = {"mfc": "none", "ls": ""}
    signs: list[Artist] = [
        Line2D([], [], marker="o", ms=9, mec=REACH, mew=1.8, label="robot, by its own estimate", **ring),
        Line2D([], [], color=REACH, lw=2.0, label="driven"),
        Line2D([], [], color=REACH, lw=1.3, ls=(0, (2, 1.5)), label="the way ahead"),
        Patch(fc=REACH, alpha=0.25, label="in view of the camera"),
        Line2D([], [], marker="o", ls="", ms=3, color=LIDAR, label="hits of the lidar"),
        Line2D([], [], marker="o", ls="", ms=8, color=POINT, mec="white", label="stops made"),
    ]  # fmt: skip
    if film.mass_after(0) is not None:
        warm = matplotlib.colormaps[WARMTH](0.6)
        signs.append(Patch(fc=warm, alpha=0.8, label="where it is believed to lie"))
    truth = "where it lies (robot not told)"
    signs += [
        Line2D(
            [], [], marker="D", ms=7, mec=SIGHTING, mew=1.8, label="a sighting to check", **ring
        ),
        Line2D([], [], marker="*", ms=10, mec=INK, mew=0.9, label=truth, **ring),
    ]
    return signs


def _line(ax: Axes, marker: str = "", **style: Any) -> Line2D:
    """A line or markers without any position yet, drawn by hand."""
    if marker:
        style.setdefault("ls", "")
    (line,) = ax.plot([], [], marker=marker, animated=True, **style)
    return line


def _move(line: Line2D, to: Any) -> None:
    at: NDArray[np.float64] = np.asarray(to, dtype=np.float64).reshape(-1, 2)
    line.set_data(at[:, 0], at[:, 1])
