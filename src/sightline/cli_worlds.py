"""The worlds in which the command ``search`` searches, and the films it makes of what goes on there."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from sightline.cli_home import RADIUS_M, SensorKind, sensor_of
from sightline.errors import SightlineError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike

    from sightline.detect import SimulatedDetector
    from sightline.film import Film, Recorder, Shot
    from sightline.site import Site
    from sightline.visibility import Sensor
    from sightline.worlds.bullet import BulletWorld
    from sightline.worlds.grid import GridWorld

FALSE_ALARMS, CONFUSIONS = 0.05, 0.05  # of the detector, unless the words say otherwise
Tell = Callable[[str], None]  # shows a line in place of the one before


class WorldName(StrEnum):
    """The simulated worlds by name."""

    GRID = "grid"
    BULLET = "bullet"


WorldOption = Annotated[
    WorldName,
    typer.Option(help="The simulated world: a grid, or the physical one, with a robot's body."),
]
SearchRadius = Annotated[
    float | None,
    typer.Option(
        "--radius",
        help="Robot radius in metres.",
        show_default=f"{RADIUS_M}, in the physical world 0.35; or the memory's",
    ),
]
SearchRate = Annotated[
    float | None,
    typer.Option(
        "--detection-rate",
        help="Chance that a look notices an object in view.",
        show_default="1; 0.846 in the physical world",
    ),
]
FalseAlarms = Annotated[
    float | None,
    typer.Option(
        "--false-alarms",
        help="Chance that a look sees what is not there.",
        show_default="0; 0.05 in the physical world",
    ),
]
Blocked = Annotated[
    float, typer.Option(help="Chance that a leg is blocked halfway, in the grid world.")
]
Boxes = Annotated[
    int, typer.Option(min=0, max=20, help="Boxes that no map shows, in the physical world.")
]
WhileDriving = Annotated[
    bool,
    typer.Option(
        "--while-driving", help="See things on the way, too; in the physical world always so."
    ),
]
Video = Annotated[
    Path | None,
    typer.Option(help="Where to film the last search, in the physical world: .mp4 or .gif."),
]


class Setting(NamedTuple):
    """What the words of a command ask of its world."""

    world: WorldName
    kind: SensorKind
    range_m: float
    rate: float | None
    false_alarms: float | None
    blocked: float
    while_driving: bool
    boxes: int
    radius_m: float | None
    video: Path | None

    @property
    def physical(self) -> bool:
        """Whether the robot has a body."""
        return self.world is WorldName.BULLET

    def check(self) -> None:
        """Refuse what the world cannot do, before anything is begun."""
        if not self.physical:
            for name, given in (("--video", self.video), ("--boxes", self.boxes or None)):
                if given is not None:
                    raise SightlineError(f"{name} is for the physical world; add --world bullet.")
            return
        if self.kind is SensorKind.DISC:
            raise SightlineError(
                "--sensor disc is for the grid world; the camera of the physical world sees along "
                "lines of sight."
            )
        if self.blocked:
            raise SightlineError(
                "--blocked is for the grid world; in the physical one --boxes stand in the way."
            )
        from sightline.worlds.bullet import LEAST_SPARE_M
        from sightline.worlds.engine import bullet
        from sightline.worlds.robot import RADIUS_M as BODY_M

        least = BODY_M + LEAST_SPARE_M
        if self.radius_m is not None and not self.radius_m >= least - 1e-9:
            raise SightlineError(
                f"--radius must be at least {least:g} in the physical world, whose robot has a body of "
                f"{BODY_M:g} m and errs a little, not {self.radius_m:g}."
            )
        if self.video is not None:
            from sightline.film import check_file

            check_file(self.video)
        bullet()  # which says so if it is not installed

    @property
    def sensor(self) -> "Sensor":
        """What the robot is taken to see, by who plans and learns."""
        if not self.physical:
            return sensor_of(
                self.kind, self.range_m, _or(self.rate, 1.0), _or(self.false_alarms, 0.0)
            )
        from sightline.worlds.bullet import SENSOR

        rate, alarms = SENSOR.detection_rate, SENSOR.false_alarm_rate
        return sensor_of(
            self.kind, self.range_m, _or(self.rate, rate), _or(self.false_alarms, alarms)
        )


class Stage:
    """A world of either kind, for one search after another."""

    def __init__(self, site: "Site", asked: Setting, *, rng: "np.random.Generator") -> None:
        from sightline.worlds import bullet, grid

        self.physical: BulletWorld | None = None
        self.world: GridWorld | BulletWorld
        self._detector: SimulatedDetector | None = None
        if asked.physical:
            of_world, self._detecting = rng.spawn(2)
            self._detector = _detector(site, asked, self._detecting)
            self.physical = self.world = bullet.BulletWorld(
                site, rng=of_world, boxes=asked.boxes, detector=self._detector
            )
        else:
            troubles = grid.Troubles(
                blocked_rate=asked.blocked, sees_while_driving=asked.while_driving
            )
            self.world = grid.GridWorld(site, rng=rng, troubles=troubles)

    def reset(
        self, start: "ArrayLike | None", positions: "dict[str, ArrayLike] | None"
    ) -> "GridWorld | BulletWorld":
        """Begin a search."""
        if self._detector is not None:
            self._detector.reset(rng=self._detecting)
        self.world.reset(start=start, positions=positions)
        return self.world

    def close(self) -> None:
        """End a simulation."""
        if self.physical is not None:
            self.physical.close()

    def recorder(self, tell: Tell, name: str) -> "Recorder | None":
        """What records the search that begins, and tells of it; None in the grid world."""
        if self.physical is None:
            return None
        from sightline.film import Recorder

        def told(shot: "Shot") -> None:
            tell(f"{name}: {shot.doing}, {shot.time_s:.0f} s, {shot.driven_m:.1f} m driven")

        return Recorder(self.physical, told=told)

    def facts(self) -> dict[str, Any]:
        """What only a physical world can say of the search that is over."""
        if self.physical is None:
            return {}
        return {
            "driven_in_all_m": round(self.physical.truth.driven_m, 3),
            "seconds": round(self.physical.time_s, 2),
            "collisions": self.physical.truth.collisions,
        }


def _detector(
    site: "Site", asked: Setting, rng: "np.random.Generator"
) -> "SimulatedDetector | None":
    """A detector that errs as the words say; None if they say nothing of it."""
    from sightline.detect import SimulatedDetector
    from sightline.worlds.bullet import TRUE_POSITIVE_RATE
    from sightline.worlds.things import thing

    if asked.rate is None and asked.false_alarms is None:
        return None
    rate = _or(asked.rate, TRUE_POSITIVE_RATE)
    return SimulatedDetector(
        rng=rng,
        sizes={name: thing(name).outline_m for name in site.home.objects},
        true_positive_rate=rate,
        false_alarm_rate=_or(asked.false_alarms, FALSE_ALARMS),
        confusion_rate=min(CONFUSIONS, 1 - rate),
    )


@contextmanager
def telling() -> Iterator[Tell]:
    """A line that changes while the work goes on, where somebody watches; else nothing."""
    if not sys.stderr.isatty():
        yield lambda line: None
        return
    from rich.console import Console

    with Console(stderr=True).status("") as status:
        yield status.update


def make_film(film: "Film", path: Path, tell: Tell) -> Path:
    """Draw a film and write it."""
    from sightline import plot
    from sightline.film import write_film

    pictures = plot.Pictures(film)
    return write_film(
        pictures, path, told=lambda done: tell(f"{path.name}: picture {done} of {len(pictures)}")
    )


def _or(given: float | None, otherwise: float) -> float:
    return otherwise if given is None else given
