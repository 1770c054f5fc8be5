"""What learners have in common: the site they have met, the objects they know, mass seen from points."""

from collections.abc import Iterable
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.errors import LearnError
from sightline.learn.protocol import check_thing, known_things, met, same_site
from sightline.learn.state import State, checked
from sightline.maps import Points, as_points
from sightline.records import Belief, Episode, Query
from sightline.site import Site

Vector = NDArray[np.float64]


class Acquaintance:
    """The site that a learner has met, the objects it knows, and the name of the site it learned in."""

    def __init__(self, learned_in: str = "", things: tuple[str, ...] = ()) -> None:
        self.site: Site | None = None
        self.learned_in = learned_in
        self.things = things

    def meet(self, site: Site, things: Iterable[str]) -> None:
        """Meet a site, or the same one again with more objects."""
        same_site(site, self.learned_in)
        self.things = known_things(site, self.things, things)
        self.site, self.learned_in = site, site.name

    def asked(self, query: Query) -> Site:
        """The site, if it has been met and the object is known."""
        site = met(self.site)
        check_thing(query.thing, self.things)
        return site

    def told(self, episode: Episode) -> Points | None:
        """Where the object turned out to lie (2,), or None; refuses what cannot be learned from."""
        self.asked(episode.query)
        if episode.position is None:
            return None
        position = np.array(episode.position, dtype=np.float64)
        if position.shape != (2,) or not np.isfinite(position).all():
            raise LearnError(
                f"The position of '{episode.query.thing}' must be two finite numbers of metres, not "
                f"{episode.position}."
            )
        return position

    def state(self, learner: str, version: int) -> dict[str, Any]:
        """The fields that every state has."""
        return {
            "learner": learner,
            "version": version,
            "site": self.learned_in,
            "things": list(self.things),
        }

    @classmethod
    def of(
        cls, state: State, learner: str, version: int, fields: tuple[str, ...] = ()
    ) -> "Acquaintance":
        """What a state says of the site and of the objects."""
        checked(state, learner, version, fields)
        site, things = state["site"], state["things"]
        named = isinstance(things, list | tuple) and all(isinstance(t, str) and t for t in things)
        if not isinstance(site, str) or not named or len(set(things)) < len(things):
            raise LearnError(
                f"The state of {learner} is damaged: site must be a text and things different texts."
            )
        return cls(site, tuple(things))


def number(value: object, name: str, low: float, high: float, why: str = "") -> float:
    """Check a setting: a finite number from ``low`` to ``high``."""
    good = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not good or not isfinite(value) or not low <= value <= high:  # type: ignore[operator, arg-type]
        raise LearnError(f"{name} must be a number from {low:g} to {high:g}, not {value!r}{why}.")
    return float(value)  # type: ignore[arg-type]


def even_mass(site: Site) -> Vector:
    """Equal mass (m,) on all target cells that can be seen from anywhere, or on all if none can."""
    seen = site.seen_from_anywhere
    share = np.where(seen, 1.0, 0.0) if seen.any() else np.ones(len(seen))
    return np.asarray(share / max(share.sum(), 1.0))


def belief_from(site: Site, points: ArrayLike, mass: Vector) -> Belief:
    """Mass over cells as a belief: the chance at a point is the mass it sees times the detection rate."""
    mean = site.sensor.detection_rate * (site.sees(as_points(points)) @ mass)
    mean = np.clip(mean, 0.0, 1.0)
    return Belief(mean, np.zeros(len(mean)), mean, mass, 0.0 if mass.any() else 1.0)
