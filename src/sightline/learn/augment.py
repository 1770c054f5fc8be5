"""What a sighting tells of other points: the paper's positive-sample augmentation."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sightline.errors import LearnError
from sightline.maps import Points, as_point
from sightline.records import Episode, Outcome
from sightline.site import LATTICE_M, Site
from sightline.visibility import visible

Signs = NDArray[np.float64]  # +1 seen, -1 not seen


def signals(episode: Episode) -> tuple[Points, Signs]:
    """Where the robot looked (m, 2), in order, and what it got (m,); nothing if it never saw the object.

    The paper disregards a failed search as a whole: it cannot tell a missed object from an absent one.
    Points that were not visited say nothing. Positions are those on which the decision was based.
    """
    if episode.outcome is not Outcome.FOUND:
        return np.empty((0, 2)), np.empty(0)
    if episode.position is not None:
        as_point(episode.position)  # refuses what is no position, also where only looks teach
    last = max((visit.point for visit in episode.visits), default=-1)
    if last >= len(episode.points):
        raise LearnError(
            f"The episode has a visit to point {last}; it holds points 0 to {len(episode.points) - 1}."
        )
    at = [
        episode.points[visit.point] if visit.point >= 0 else np.asarray(visit.position)
        for visit in episode.visits
    ]
    signs = [1.0 if visit.seen else -1.0 for visit in episode.visits]
    return np.array(at).reshape(-1, 2), np.array(signs)


def positives(site: Site, episode: Episode, *, spacing_m: float = LATTICE_M) -> Points:
    """The navigable points (n, 2) from which the object is seen where it turned out to lie.

    Those of a lattice of the free space within the sensor's range of the object; the paper's lattice is
    0.1 m, a wider one is a sample of it. A sensor that needs a line of sight must have one.
    """
    if episode.outcome is not Outcome.FOUND or episode.position is None:
        return np.empty((0, 2))
    position = as_point(episode.position)
    points = lattice(site, spacing_m)
    near = points[np.hypot(*(points - position).T) <= site.sensor.range_m + 1e-9]
    if site.sensor.kind == "disc" or not len(near):
        return np.asarray(near)
    seen = visible(site.home, near, position[None], site.sensor).toarray()[:, 0]
    return np.asarray(near[seen])


@lru_cache(maxsize=16)
def lattice(site: Site, spacing_m: float) -> Points:
    """Navigable points (n, 2) of a lattice, kept."""
    if spacing_m == LATTICE_M:
        return site.standing
    return site.free.points(spacing_m)
