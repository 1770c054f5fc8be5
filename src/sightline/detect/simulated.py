"""A detector that knows the truth, and errs as a real one does.

The chance that an object is reported under its own name in a frame is

    p = true_positive_rate * size * seen
    size = 1 / (1 + (half_pixels / N)^2)            far things are small
    seen = clip((n / N - 0.15) / (0.7 - 0.15), 0, 1)  hidden things lack pixels

with N = w h (f / r)^2 the pixels of the object's whole rectangle (w, h metres, r metres from the camera,
focal length f pixels) and n the pixels that show it. Silhouettes fill 0.7 or more of their rectangle, so
an object that nothing hides has seen = 1, and one of which less than 15 % shows is never found. Beyond
``max_range_m`` p = 0.

**Errors of nearly the same view are not independent.** With a fresh draw for each frame, a camera at some
frames per second would find everything at once, and the rate would mean nothing. So one u ~ U(0, 1) is
drawn per object and *view*: all positions of the camera within ``fresh_m`` of where it was drawn, however
the camera turns, and whenever it comes back. The object is reported if u < p / (1 - confusion_rate), so
that a better look from the same view may succeed where a worse one failed, and never the reverse.
"""

import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from sightline.detect.camera import Camera, Point3
from sightline.detect.depth import locate, measured
from sightline.detect.protocol import Box, Detection, Frame
from sightline.errors import DetectError

HIDDEN_SHARE, WHOLE_SHARE = 0.15, 0.70
ALARM_HEIGHTS_M = (0.4, 1.6)  # where things are put down: not on the floor, not high up a wall
HIDES_M = 0.15  # what is nearer than a false alarm by more than this stands before it
LOWEST_SCORE, SCORE_SPAN = 0.25, 0.70
RIGHT_QUALITY, WRONG_QUALITY = (6.0, 2.0), (2.0, 6.0)  # parameters of Beta distributions
SIMILAR = {
    frozenset({"bottle", "can"}): 4.0,
    frozenset({"can", "cup"}): 4.0,
    frozenset({"bowl", "cup"}): 4.0,
    frozenset({"bottle", "cup"}): 2.0,
}  # how often one is taken for the other, compared with 1 for all other pairs

T = TypeVar("T")


class SimulatedDetector:
    """Finds the objects of ``Frame.segments`` with the errors that the module describes.

    ``sizes`` gives the width and height of each category in metres. Of the objects that are noticed, the
    share ``confusion_rate`` bears another category's name; the rate of right names stays p. With the
    chance ``false_alarm_rate`` a view has a false alarm of a random category: at a random bearing, at a
    point 0.4 to 1.6 m high that is in sight there and shows no object. It stays at this point of the map
    while the view stays, and is in every frame that has the point in sight. Where no such point is in
    sight at that bearing, there is none.

    Draws come from one stream per object, seeded by its name: whether one is in sight changes nothing for
    the others.
    """

    def __init__(
        self,
        *,
        rng: np.random.Generator,
        sizes: Mapping[str, tuple[float, float]],
        true_positive_rate: float = 0.846,
        false_alarm_rate: float = 0.05,
        confusion_rate: float = 0.05,
        max_range_m: float = 5.0,
        fresh_m: float = 1.0,
        half_pixels: float = 25.0,
    ) -> None:
        _check("true_positive_rate", true_positive_rate, 1.0)
        _check("false_alarm_rate", false_alarm_rate, 1.0)
        # all that are noticed, rightly named or not, are at most all that there are
        _check("confusion_rate", confusion_rate, 1.0 - true_positive_rate)
        for name, value in (
            ("max_range_m", max_range_m),
            ("fresh_m", fresh_m),
            ("half_pixels", half_pixels),
        ):
            _check(name, value, math.inf)
        self.sizes = _checked_sizes(sizes)
        self.true_positive_rate = true_positive_rate
        self.false_alarm_rate = false_alarm_rate
        self.confusion_rate = confusion_rate
        self.max_range_m = max_range_m
        self.fresh_m = fresh_m
        self.half_pixels = half_pixels
        self.reset(rng=rng)

    def reset(self, *, rng: np.random.Generator) -> None:
        """Begin a new episode: what was drawn is forgotten, what comes is settled by ``rng``."""
        self._entropy: list[int] = rng.integers(2**32, size=4).tolist()
        self._looks: dict[tuple[str, int], _Views[_Look]] = {}
        alarms = self._stream(0)
        self._alarms = _Views(self.fresh_m, lambda: self._draw_alarm(alarms))

    def detect(self, frame: Frame) -> tuple[Detection, ...]:
        """What is reported of this frame, the best score first."""
        if frame.segments is None:
            raise DetectError(
                "The simulated detector needs Frame.segments, which a simulation alone knows; "
                "for camera images take OnnxDetector."
            )
        found = [
            detection
            for index, place in enumerate(ndimage.find_objects(frame.segments + 1))
            if place is not None
            if (detection := self._report(frame, frame.segments, index, place)) is not None
        ]
        alarm = self._false_alarm(frame, frame.segments)
        found += [alarm] if alarm is not None else []
        return tuple(sorted(found, key=lambda detection: -detection.score))

    def chance(
        self, thing: str, *, distance_m: float, focal_px: float, shown: float = 1.0
    ) -> float:
        """The formula's p at a distance, where n / N = ``shown``."""
        return self.true_positive_rate * self._clarity(thing, distance_m, focal_px, shown)

    def _clarity(self, thing: str, distance_m: float, focal_px: float, shown: float) -> float:
        """The formula's size * seen, in 0 to 1."""
        size = 1 / (1 + (self.half_pixels / self._whole_px(thing, distance_m, focal_px)) ** 2)
        seen = (shown - HIDDEN_SHARE) / (WHOLE_SHARE - HIDDEN_SHARE)
        return size * min(1.0, max(0.0, seen))

    def _whole_px(self, thing: str, distance_m: float, focal_px: float) -> float:
        """The formula's N."""
        if thing not in self.sizes:
            raise DetectError(
                f"The simulated detector knows no size of {thing!r}; known are "
                f"{', '.join(self.sizes)}."
            )
        width_m, height_m = self.sizes[thing]
        return width_m * height_m * (focal_px / distance_m) ** 2

    def _report(
        self, frame: Frame, segments: NDArray[np.int32], index: int, place: tuple[slice, slice]
    ) -> Detection | None:
        """The object of a segment in a frame, if it is noticed."""
        thing = frame.things[index]
        key = thing, frame.things[:index].count(thing)
        if key not in self._looks:
            stream = self._stream(1, zlib.crc32(thing.encode()), key[1])
            self._looks[key] = _Views(self.fresh_m, lambda: self._draw_look(thing, stream))
        look = self._looks[key].at(frame.camera.position)
        mask = segments == index
        clarity = self._clarity_in(frame, thing, mask, place)
        if look.luck * (1 - self.confusion_rate) >= self.true_positive_rate * clarity:
            return None
        rows, columns = place
        box = float(columns.start), float(rows.start), float(columns.stop), float(rows.stop)
        return Detection(look.name, _score(look.quality * clarity), box, locate(frame, mask))

    def _clarity_in(
        self, frame: Frame, thing: str, mask: NDArray[np.bool_], place: tuple[slice, slice]
    ) -> float:
        """The formula's size * seen of a segment; 0 for one without depth, as its distance is unknown."""
        known = mask[place] & measured(frame.depth_m[place])
        if not known.any():
            return 0.0
        depth_m = float(np.median(frame.depth_m[place][known]))
        rows, columns = place
        middle = (columns.start + columns.stop) / 2, (rows.start + rows.stop) / 2
        camera = frame.camera
        distance_m = math.dist(camera.unproject(middle, depth_m)[0], camera.position)
        if distance_m > self.max_range_m:
            return 0.0
        shown = int(mask[place].sum()) / self._whole_px(thing, distance_m, camera.focal_px)
        return self._clarity(thing, distance_m, camera.focal_px, shown)

    def _false_alarm(self, frame: Frame, segments: NDArray[np.int32]) -> Detection | None:
        """The false alarm of this view, if it has one and this frame shows it."""
        alarm = self._alarms.at(frame.camera.position)
        if alarm is None:
            return None
        if alarm.position is None and _faces(frame.camera, alarm.bearing_rad):
            alarm.position = self._plausible_point(frame, segments, alarm.where)
        if alarm.position is None:
            return None
        box = _box_at(frame, alarm.position, self.sizes[alarm.thing])
        if box is None:
            return None
        return Detection(alarm.thing, _score(alarm.quality), box, alarm.position)

    def _plausible_point(
        self, frame: Frame, segments: NDArray[np.int32], where: float
    ) -> Point3 | None:
        """A point of the map in sight at which a thing could lie and none does."""
        rows, columns = np.nonzero(measured(frame.depth_m) & (segments < 0))
        pixels = np.column_stack([columns, rows]) + 0.5
        points = frame.camera.unproject(pixels, frame.depth_m[rows, columns])
        low, high = ALARM_HEIGHTS_M
        near = np.linalg.norm(points - frame.camera.position, axis=1) <= self.max_range_m
        points = points[near & (points[:, 2] >= low) & (points[:, 2] <= high)]
        if not len(points):
            return None
        x, y, z = points[int(where * len(points))].tolist()
        return x, y, z

    def _stream(self, *key: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self._entropy, spawn_key=key))

    def _draw_look(self, thing: str, rng: np.random.Generator) -> "_Look":
        luck, confused, which = rng.random(3).tolist()
        others = [name for name in self.sizes if name != thing]
        right = not others or confused >= self.confusion_rate
        name = thing if right else _mistaken(thing, others, which)
        return _Look(luck, name, rng.beta(*(RIGHT_QUALITY if right else WRONG_QUALITY)))

    def _draw_alarm(self, rng: np.random.Generator) -> "_Alarm | None":
        raised, which, bearing, where = rng.random(4).tolist()
        quality = rng.beta(*WRONG_QUALITY)
        if raised >= self.false_alarm_rate:
            return None
        thing = list(self.sizes)[int(which * len(self.sizes))]
        return _Alarm(thing, bearing * math.tau, where, quality)


@dataclass(frozen=True)
class _Look:
    """What is drawn for an object and a view."""

    luck: float  # the u of the formula
    name: str  # what the object is taken for
    quality: float


@dataclass
class _Alarm:
    """A false alarm of a view; ``position`` is settled by the first frame that faces its bearing."""

    thing: str
    bearing_rad: float
    where: float  # in 0 to 1: which of the points that are plausible
    quality: float
    position: Point3 | None = None


class _Views(Generic[T]):
    """What was drawn at the places from which the camera looked."""

    def __init__(self, fresh_m: float, draw: Callable[[], T]) -> None:
        self._fresh_m = fresh_m
        self._draw = draw
        self._drawn: list[tuple[Point3, T]] = []

    def at(self, position: Point3) -> T:
        """What was drawn at the nearest place within ``fresh_m``; drawn here and now if there is none."""
        known = min(self._drawn, key=lambda view: math.dist(view[0], position), default=None)
        if known is None or math.dist(known[0], position) > self._fresh_m:
            known = position, self._draw()
            self._drawn.append(known)
        return known[1]


def _check(name: str, value: float, most: float) -> None:
    if not 0 <= value <= most:
        raise ValueError(f"{name} must lie in 0 to {most:g}, not {value}.")


def _checked_sizes(sizes: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """The sizes by name, so that the order in which they are given changes no draw."""
    if not sizes:
        raise ValueError("sizes must name at least one category.")
    for thing, size in sizes.items():
        if len(size) != 2 or not all(0 < side < math.inf for side in size):
            raise ValueError(f"sizes: {thing!r} needs a width and a height above 0 m, not {size}.")
    return {thing: sizes[thing] for thing in sorted(sizes)}


def _score(quality: float) -> float:
    return LOWEST_SCORE + SCORE_SPAN * quality


def _mistaken(thing: str, others: list[str], which: float) -> str:
    """The category that an object is taken for, similar ones more often."""
    weights = np.cumsum([SIMILAR.get(frozenset({thing, other}), 1.0) for other in others])
    return others[int(np.searchsorted(weights, which * weights[-1], side="right"))]


def _faces(camera: Camera, bearing_rad: float) -> bool:
    off = math.remainder(bearing_rad - camera.yaw_rad, math.tau)
    return abs(off) <= camera.field_of_view_rad / 2


def _box_at(frame: Frame, position: Point3, size: tuple[float, float]) -> Box | None:
    """The box of a thing of this size at a point of the map; None if the point is not in sight."""
    camera = frame.camera
    pixels, depths = camera.project(position)
    (x, y), depth = pixels[0].tolist(), float(depths[0])
    if not (depth > 0 and 0 <= x < camera.width and 0 <= y < camera.height):
        return None
    before = float(frame.depth_m[int(y), int(x)])
    if 0 < before < depth - HIDES_M:
        return None
    half_width, half_height = (side * camera.focal_px / depth / 2 for side in size)
    return (
        max(0.0, x - half_width),
        max(0.0, y - half_height),
        min(float(camera.width), x + half_width),
        min(float(camera.height), y + half_height),
    )
