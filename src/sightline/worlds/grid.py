"""The paper's world: the robot drives a route, looks around at each vantage point, and misses nothing."""

import numpy as np
from numpy.typing import NDArray

from sightline.maps import Points
from sightline.records import Belief, Episode, Outcome, Query, Route, Visit
from sightline.site import Site
from sightline.visibility import visible


def carry_out(
    site: Site,
    query: Query,
    route: Route,
    points: Points,
    travel: NDArray[np.float64],
    position: Points,
    belief: Belief | None = None,
) -> Episode:
    """Look at the start, then at the points of a route in its order, until the object is seen.

    Row 0 of ``travel`` (k + 1, k + 1) is the start, row j + 1 is ``points[j]``; ``position`` (2,) is
    where the object lies, which the robot learns when it sees it (the paper triangulates it).
    """
    start = np.asarray(query.start)
    places = np.vstack([start, points[route.order - 1]])
    sees = visible(site.home, places, position[None], site.sensor).toarray()[:, 0]
    visits = []
    driven, before = 0.0, 0
    for row, (x, y), seen in zip((0, *route.order.tolist()), places.tolist(), sees, strict=True):
        driven += float(travel[before, row])
        before = row
        visits.append(Visit(row - 1, (x, y), driven, bool(seen)))
        if seen:
            break
    found = visits[-1].seen
    x, y = position.tolist()
    return Episode(
        query,
        points,
        tuple(visits),
        Outcome.FOUND if found else Outcome.NOT_FOUND,
        (x, y) if found else None,
        belief,
        route,
    )
