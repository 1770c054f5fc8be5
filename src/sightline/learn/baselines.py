"""Honest baselines: counting, the last sighting, nothing at all, and chance."""

from collections.abc import Iterable
from dataclasses import replace
from math import inf
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.errors import LearnError
from sightline.learn.acquaintance import Acquaintance, belief_from, even_mass, number
from sightline.learn.protocol import same_site
from sightline.learn.state import State
from sightline.maps import Points
from sightline.records import Belief, Episode, Query
from sightline.site import Site

Vector = NDArray[np.float64]
VERSION = 1


class Frequency:
    """Counts, per object, the finds in each target cell; says nothing of cells next to them.

    mass(c) = (finds in c + prior * even(c)) / (finds + prior), where ``even`` is the same for all cells
    that can be seen from anywhere: Laplace's rule with ``prior`` finds in all. Failed searches do not
    count.
    """

    def __init__(self, *, prior: float = 1.0) -> None:
        self._prior = number(prior, "prior", 1e-9, 1e9)
        self._known = Acquaintance()
        self._finds: NDArray[np.int64] = np.zeros((0, 0), dtype=np.int64)  # things x cells

    def meet(self, site: Site, things: Iterable[str] = ()) -> None:
        """Say which home it is, and which objects there are."""
        same_site(site, self._known.learned_in)
        cells = self._finds.shape[1]
        if len(self._finds) and cells != len(site.cells):
            raise LearnError(
                f"The state of Frequency is damaged: it has {cells} cells, {site.name} has "
                f"{len(site.cells)}."
            )
        self._known.meet(site, things)
        finds = np.zeros((len(self._known.things), len(site.cells)), dtype=np.int64)
        if len(self._finds):
            finds[: len(self._finds)] = self._finds
        self._finds = finds

    def predict(self, query: Query, points: ArrayLike) -> Belief:
        """What is believed of the object from vantage points (k, 2) now."""
        site = self._known.asked(query)
        finds = self._finds[self._known.things.index(query.thing)]
        mass = (finds + self._prior * even_mass(site)) / (finds.sum() + self._prior)
        return belief_from(site, points, mass)

    def update(self, episode: Episode) -> None:
        """Count a find, if there is one."""
        position = self._known.told(episode)
        site = self._known.asked(episode.query)
        if position is None or not len(site.cells):
            return
        cell = np.hypot(*(site.cells - position).T).argmin()
        self._finds[self._known.things.index(episode.query.thing), cell] += 1

    def state(self) -> State:
        """All counts, and the settings."""
        own = {"prior": self._prior, "finds": self._finds.copy()}
        return self._known.state("Frequency", VERSION) | own

    @classmethod
    def from_state(cls, state: State) -> Self:
        """A learner that knows what the state holds."""
        known = Acquaintance.of(state, "Frequency", VERSION, ("prior", "finds"))
        finds = np.asarray(state["finds"])
        whole = finds.ndim == 2 and np.issubdtype(finds.dtype, np.integer)
        if not whole or len(finds) != len(known.things) or (finds < 0).any():
            raise LearnError(
                "The state of Frequency is damaged: finds must be whole numbers from 0, one row for "
                f"each of the {len(known.things)} things, not {finds.dtype} of shape {finds.shape}."
            )
        out = cls(prior=state["prior"])
        out._known, out._finds = known, finds.astype(np.int64)
        return out


class LastSeen:
    """Believes that an object lies where it was seen last.

    All mass but ``leak`` falls off around the last sighting as a Gauss bell of ``spread_m``; the leak,
    and everything before the first sighting, is even over the cells that can be seen from anywhere.
    """

    def __init__(self, *, spread_m: float = 0.5, leak: float = 0.05) -> None:
        self._spread_m = number(spread_m, "spread_m", 1e-3, 1e3)
        self._leak = number(leak, "leak", 0.0, 1.0)
        self._known = Acquaintance()
        self._last: dict[str, Points] = {}

    def meet(self, site: Site, things: Iterable[str] = ()) -> None:
        """Say which home it is, and which objects there are."""
        self._known.meet(site, things)

    def predict(self, query: Query, points: ArrayLike) -> Belief:
        """What is believed of the object from vantage points (k, 2) now."""
        site = self._known.asked(query)
        mass = even_mass(site)
        if query.thing in self._last and len(mass):
            squares = ((site.cells - self._last[query.thing]) ** 2).sum(axis=1)
            squares[mass == 0] = inf
            # from the nearest cell, so that something is left however far away the sighting was
            bell = np.exp((squares.min() - squares) / (2 * self._spread_m**2))
            mass = self._leak * mass + (1 - self._leak) * bell / bell.sum()
        return belief_from(site, points, mass)

    def update(self, episode: Episode) -> None:
        """Remember a sighting, if there is one."""
        position = self._known.told(episode)
        if position is not None:
            self._last[episode.query.thing] = position

    def state(self) -> State:
        """The last sightings, and the settings."""
        last = {thing: position.tolist() for thing, position in self._last.items()}
        own = {"spread_m": self._spread_m, "leak": self._leak, "last": last}
        return self._known.state("LastSeen", VERSION) | own

    @classmethod
    def from_state(cls, state: State) -> Self:
        """A learner that knows what the state holds."""
        known = Acquaintance.of(state, "LastSeen", VERSION, ("spread_m", "leak", "last"))
        out = cls(spread_m=state["spread_m"], leak=state["leak"])
        last = state["last"]
        if not isinstance(last, dict) or not set(last) <= set(known.things):
            raise LearnError(
                "The state of LastSeen is damaged: last must map known things to positions."
            )
        for thing, position in last.items():
            pair = position if isinstance(position, list | tuple) and len(position) == 2 else (inf,)
            out._last[thing] = np.array([number(v, f"last of '{thing}'", -1e9, 1e9) for v in pair])
        out._known = known
        return out


class Uniform:
    """Believes that an object may lie in any cell that can be seen from anywhere, and never learns."""

    def __init__(self) -> None:
        self._known = Acquaintance()

    def meet(self, site: Site, things: Iterable[str] = ()) -> None:
        """Say which home it is, and which objects there are."""
        self._known.meet(site, things)

    def predict(self, query: Query, points: ArrayLike) -> Belief:
        """What is believed of any object from vantage points (k, 2)."""
        site = self._known.asked(query)
        return belief_from(site, points, even_mass(site))

    def update(self, episode: Episode) -> None:
        """Learn nothing."""
        self._known.told(episode)

    def state(self) -> State:
        """The site and the objects."""
        return self._known.state("Uniform", VERSION)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """A learner that knows what the state holds."""
        out = cls()
        out._known = Acquaintance.of(state, "Uniform", VERSION)
        return out


class RandomOrder:
    """Believes as ``Uniform`` does, and has the points visited in a random order.

    ``Belief.weight`` is random: a pure function of a seed, which is drawn once from ``rng`` when the
    learner is made, of the number of updates so far and of the object. So predicting twice gives the same
    order, and after each episode there is another one. There is no mass: planners that look at cells
    would plan a sensible search.
    """

    def __init__(self, *, rng: np.random.Generator) -> None:
        self._seed = int(rng.integers(2**63))
        self._updates = 0
        self._known = Acquaintance()

    def meet(self, site: Site, things: Iterable[str] = ()) -> None:
        """Say which home it is, and which objects there are."""
        self._known.meet(site, things)

    def predict(self, query: Query, points: ArrayLike) -> Belief:
        """What ``Uniform`` believes, with random weights."""
        site = self._known.asked(query)
        even = belief_from(site, points, even_mass(site))
        thing = self._known.things.index(query.thing)
        draw = np.random.default_rng((self._seed, self._updates, thing))
        return replace(even, weight=draw.random(len(even.mean)), mass=None, absent=0.0)

    def update(self, episode: Episode) -> None:
        """Go on to the next order."""
        self._known.told(episode)
        self._updates += 1

    def state(self) -> State:
        """The seed, and how far the draws have come."""
        own = {"seed": self._seed, "updates": self._updates}
        return self._known.state("RandomOrder", VERSION) | own

    @classmethod
    def from_state(cls, state: State) -> Self:
        """A learner that knows what the state holds."""
        known = Acquaintance.of(state, "RandomOrder", VERSION, ("seed", "updates"))
        for name in ("seed", "updates"):
            value = state[name]
            if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
                raise LearnError(
                    f"The state of RandomOrder is damaged: {name} must be a whole number from 0, not "
                    f"{value!r}."
                )
        out = cls(rng=np.random.default_rng(0))
        out._seed, out._updates, out._known = state["seed"], state["updates"], known
        return out
