"""Setting the stage of an episode in physics, and the account of what truly happens on it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import pi

import numpy as np
from numpy.typing import ArrayLike

from sightline.maps import Points, as_point, as_points
from sightline.records import Position
from sightline.site import Site
from sightline.worlds.engine import Engine
from sightline.worlds.scenes import Scene
from sightline.worlds.things import Thing

BOX_M, BOX_HEIGHT_M = 0.4, 0.6
BOX_GAP_M = 1.0  # boxes that are drawn keep so far from the robot's start
CROWD_M = 0.2  # things that are drawn are not set down nearer to others
TRIES = 50


@dataclass
class Truth:
    """What really happened in an episode, for measurement.

    ``in_view`` counts the pictures that show at least 20 pixels of a thing, ``sighted`` those in which it
    was also detected under its name where it lies; ``collisions`` the sixtieths of a second that ended in
    touch with anything but the floor, ``blocked`` the drives that did not arrive, ``error_m`` are the
    errors of the estimated position at the end of each period.
    """

    start: Position
    driven_m: float = 0.0
    collisions: int = 0
    blocked: int = 0
    error_m: list[float] = field(default_factory=list)
    in_view: Counter[str] = field(default_factory=Counter)
    sighted: Counter[str] = field(default_factory=Counter)


def put_things(
    engine: Engine,
    scene: Scene,
    things: Mapping[str, Thing],
    given: Mapping[str, ArrayLike],
    *,
    rng: np.random.Generator,
) -> None:
    """Set down every thing: first those whose positions are given, the others where they may lie.

    Those that are drawn keep apart from all before. Each has a stream of its own, so that giving the
    position of one does not move the others, as long as it is not in their way.
    """
    streams = dict(zip(things, rng.spawn(len(things)), strict=True))
    taken: list[Position] = []
    for name in sorted(things, key=lambda name: name not in given):
        shape, stream = things[name], streams[name]
        for _ in range(TRIES):
            if name in given:
                at = as_point(given[name])
            else:
                at = scene.home.sample_position(name, rng=stream)
            x, y, height = scene.rest(name, at, shape.radius_m)
            if name in given or all(np.hypot(x - u, y - v) > CROWD_M for u, v in taken):
                break
        taken.append((x, y))
        engine.put(shape, (x, y, height), stream.uniform(-pi, pi))
    engine.settle()


def put_boxes(
    engine: Engine,
    site: Site,
    start: Points,
    count: int,
    given: ArrayLike | None,
    *,
    rng: np.random.Generator,
) -> None:
    """Put boxes that are on no map onto the floor: at given centres, or drawn, away from the start."""
    away = site.standing[np.hypot(*(site.standing - start).T) >= BOX_GAP_M]
    drawn = away[rng.integers(len(away), size=count)] if len(away) else np.empty((0, 2))
    for centre in drawn if given is None else as_points(given).reshape(-1, 2):
        engine.add_box(centre, BOX_M, BOX_HEIGHT_M)
