"""The learner that need not learn: it is told where things tend to lie."""

from collections.abc import Iterable
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.learn.acquaintance import Acquaintance, belief_from
from sightline.learn.protocol import known_things
from sightline.learn.state import State
from sightline.records import Belief, Episode, Query
from sightline.site import Site

VERSION = 1


class Oracle:
    """Knows the distribution of every object, from the places of the home: the paper's GT-Scores.

    ``mass`` is the true chance of each cell, ``mean`` that of spotting the object from each point. It
    never learns, and refuses objects of which the home knows no distribution.
    """

    def __init__(self) -> None:
        self._known = Acquaintance()
        self._mass: dict[str, NDArray[np.float64]] = {}

    def meet(self, site: Site, things: Iterable[str] = ()) -> None:
        """Say which home it is, and which objects there are."""
        more = things if isinstance(things, str) else tuple(things)
        wanted = known_things(site, self._known.things, more)
        mass = {thing: site.home.mass(thing, site.cells) for thing in wanted}
        self._known.meet(site, more)
        self._mass = mass

    def predict(self, query: Query, points: ArrayLike) -> Belief:
        """Where the object tends to lie, and what of that is seen from vantage points (k, 2)."""
        return belief_from(self._known.asked(query), points, self._mass[query.thing])

    def update(self, episode: Episode) -> None:
        """Learn nothing."""
        self._known.told(episode)

    def state(self) -> State:
        """The site and the objects; where they lie is known again when it is met."""
        return self._known.state("Oracle", VERSION)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """A learner that knows what the state holds."""
        out = cls()
        out._known = Acquaintance.of(state, "Oracle", VERSION)
        return out
