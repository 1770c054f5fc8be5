"""A film of a search in the physical world: what is kept of it while it goes on, and the film's file.

``plot.film`` draws the pictures; here they are put in order and written, as MP4 or as GIF.
"""

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from sightline.detect import Detection
from sightline.errors import FilmError
from sightline.maps import Points
from sightline.records import Episode, Position
from sightline.search import ruled_out
from sightline.site import Site
from sightline.worlds.bullet import BulletWorld, Moment
from sightline.worlds.localise import Pose
from sightline.worlds.protocol import Drive, DriveStatus

Picture = NDArray[np.uint8]  # (height, width, 3)

ENDINGS = (".mp4", ".gif")
RATE = 10  # pictures of the film in a second
SPEED = 4.0  # simulated seconds in a second of film
HOLD_S = 2.5  # for which the end stays
QUALITY = "24"  # of H.264, from 0 (nothing is lost) to 51
PALETTE_FROM = 8  # pictures from which the colours of a GIF are taken


@dataclass(frozen=True, eq=False)
class Shot:
    """One picture that the robot took, and what it knew and did then.

    ``looks`` counts the looks that were over by then, ``stops`` the vantage points reached; ``way`` is
    empty while the robot stands, ``sighting`` what it is on its way to check.
    """

    time_s: float
    driven_m: float
    doing: str
    pose: Pose
    camera_yaw_rad: float
    png: bytes
    detections: tuple[Detection, ...]
    hits: Points
    way: Points
    looks: int
    stops: int
    goal: Position | None = None
    sighting: Position | None = None

    @property
    def picture(self) -> Picture:
        """The colours (height, width, 3) that the camera saw."""
        return np.asarray(Image.open(io.BytesIO(self.png)))


@dataclass(frozen=True, eq=False)
class Film:
    """Everything to be seen of one search.

    ``looks`` (n, 2) are where the looks without success were taken, ``stops`` (m, 2) the vantage points
    reached, both in their order. ``truth`` (2,) is where the object lies, ``camera_px`` width and height
    of the shots.
    """

    site: Site
    episode: Episode
    truth: Points
    camera_px: tuple[int, int]
    field_of_view_rad: float
    shots: tuple[Shot, ...]
    looks: Points
    stops: Points

    def mass_after(self, looks: int) -> NDArray[np.float64] | None:
        """The believed chance of each cell (cells,) after so many looks; None if none is kept."""
        belief = self.episode.belief
        if belief is None or belief.mass is None:
            return None
        return ruled_out(self.site, belief.mass, self.looks[:looks], absent=belief.absent)[0]


class Recorder:
    """A physical world of which everything worth showing is kept, while a search goes on in it."""

    def __init__(self, world: BulletWorld, *, told: Callable[[Shot], None] | None = None) -> None:
        self._world, self._told = world, told
        self._shots: list[Shot] = []
        self._looks: list[Position] = []
        self._stops: list[Position] = []
        self._open: Position | None = None  # where a look saw something that is yet to be checked
        self._doing, self._driving = "", False
        self._goal: Position | None = None
        self._sighting: Position | None = None
        self._camera_px, self._field_of_view_rad = (0, 0), 0.0
        world.on_moment = self._keep

    @property
    def position(self) -> Position:
        """Where the robot takes itself to be."""
        return self._world.position

    def drive_to(self, goal: Position, thing: str) -> Drive:
        """Drive to a goal, see ``BulletWorld``."""
        self._close()
        self._do(f"driving to stop {len(self._stops) + 1}", goal=goal)
        drive = self._world.drive_to(goal, thing)
        if drive.status is DriveStatus.SIGHTED:
            self._open = drive.position
        elif drive.status is DriveStatus.ARRIVED:
            self._stops.append(goal)
        return drive

    def look(self, thing: str) -> Position | None:
        """Look all around, see ``BulletWorld``."""
        self._close()
        arrived = bool(self._stops) and self._stops[-1] == self._goal
        self._do("looking around" + (f" at stop {len(self._stops)}" if arrived else ""))
        sighting = self._world.look(thing)
        self._open = self._world.position
        if sighting is None:
            self._close()
        return sighting

    def check(self, thing: str, sighting: Position) -> tuple[Drive, bool]:
        """Check a sighting, see ``BulletWorld``."""
        self._do("checking a sighting", sighting=sighting)
        drive, genuine = self._world.check(thing, sighting)
        if genuine:
            self._open = None
        self._close()
        return drive, genuine

    def film(self, episode: Episode) -> Film:
        """What was recorded of a search that is over; nothing more is recorded."""
        self._world.on_moment = None
        truth = self._world.lying(episode.query.thing)[0]
        looks, stops = (
            np.array(at, dtype=float).reshape(-1, 2) for at in (self._looks, self._stops)
        )
        return Film(
            self._world.site, episode, truth, self._camera_px, self._field_of_view_rad,
            tuple(self._shots), looks, stops,
        )  # fmt: skip

    def _do(
        self, doing: str, *, goal: Position | None = None, sighting: Position | None = None
    ) -> None:
        self._doing, self._goal, self._sighting = doing, goal, sighting

    def _close(self) -> None:
        """Count the look that is open: it has not seen the object."""
        if self._open is not None:
            self._looks.append(self._open)
        self._open = None

    def _keep(self, moment: Moment) -> None:
        buffer = io.BytesIO()
        Image.fromarray(moment.frame.rgb).save(buffer, "png", compress_level=1)
        camera = moment.frame.camera
        self._camera_px = camera.width, camera.height
        self._field_of_view_rad = camera.field_of_view_rad
        moving = self._goal is not None or self._sighting is not None
        shot = Shot(
            moment.time_s, moment.driven_m, self._doing, moment.estimate, camera.yaw_rad,
            buffer.getvalue(), moment.detections, moment.hits, moment.way if moving else np.empty((0, 2)),
            len(self._looks), len(self._stops), self._goal, self._sighting,
        )  # fmt: skip
        self._shots.append(shot)
        if self._told is not None:
            self._told(shot)


def timeline(times_s: ArrayLike, *, rate: float = RATE, speed: float = SPEED) -> list[int]:
    """Which of the shots taken at these times (n,) each picture of the film shows.

    Simulated time passes at ``speed``; but every shot is shown at least once.
    """
    at = np.asarray(times_s, dtype=np.float64)
    first: list[int] = []
    for frame in np.rint((at - at[:1]) * rate / speed).astype(int).tolist():
        first.append(max(frame, first[-1] + 1) if first else frame)
    after = [*first[1:], *(last + 1 for last in first[-1:])]
    return [
        i for i, (one, two) in enumerate(zip(first, after, strict=True)) for _ in range(one, two)
    ]


def check_file(path: Path) -> None:
    """Refuse the name of a film that could not be written."""
    if path.suffix.lower() not in ENDINGS:
        raise FilmError(f"A film is a file that ends in {' or '.join(ENDINGS)}, not '{path.name}'.")
    if path.is_dir():
        raise FilmError(f"A film needs the name of a file; {path} is a folder.")
    if path.suffix.lower() == ".mp4":
        _av()


def write_film(
    pictures: Sequence[Picture],
    path: Path,
    *,
    rate: int = RATE,
    told: Callable[[int], None] = lambda done: None,
) -> Path:
    """Write pictures (height, width, 3), all of one even size, to an MP4 or a GIF; returns its path.

    ``told`` hears how many are done.
    """
    check_file(path)
    path.parent.mkdir(parents=True, exist_ok=True)

    def counted() -> Iterator[Picture]:
        for number, picture in enumerate(pictures, start=1):
            yield picture
            told(number)

    if path.suffix.lower() == ".gif":
        _write_gif(counted(), path, rate, _palette(pictures))
    else:
        _write_mp4(counted(), path, rate)
    return path


def _av() -> Any:
    try:
        return import_module("av")
    except ModuleNotFoundError:
        raise FilmError(
            "An .mp4 needs PyAV, which is not installed; pip install 'sightline[physics]' brings it, "
            "and a .gif needs nothing more."
        ) from None


def _write_mp4(pictures: Iterable[Picture], path: Path, rate: int) -> None:
    """H.264 in the pixel format that every player knows, its index first."""
    av = _av()
    with av.open(str(path), "w", options={"movflags": "faststart"}) as file:
        stream = None
        for picture in pictures:
            if stream is None:
                stream = file.add_stream("libx264", rate=Fraction(rate), options={"crf": QUALITY})
                stream.height, stream.width = picture.shape[:2]
                stream.pix_fmt = "yuv420p"
            file.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        if stream is not None:
            file.mux(stream.encode(None))


def _palette(pictures: Sequence[Picture]) -> Image.Image:
    """The colours for all pictures, from some of them."""
    some = np.linspace(0, len(pictures) - 1, PALETTE_FROM).astype(int)
    sheet = np.concatenate([pictures[i][::2, ::2] for i in some.tolist()])
    return Image.fromarray(sheet).quantize(255, method=Image.Quantize.MEDIANCUT)


def _write_gif(pictures: Iterable[Picture], path: Path, rate: int, palette: Image.Image) -> None:
    """All pictures in the same colours, undithered, so that only what changes takes space."""
    frames = (
        Image.fromarray(picture).quantize(palette=palette, dither=Image.Dither.NONE)
        for picture in pictures
    )
    next(frames).save(
        path, save_all=True, append_images=frames, duration=round(1000 / rate), loop=0, disposal=1
    )
