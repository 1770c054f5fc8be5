"""Where each object tends to lie: a posterior over cells, from finds and from failed searches."""

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.errors import LearnError
from sightline.learn.acquaintance import Acquaintance, number
from sightline.learn.experts import Experts, reweighted
from sightline.learn.failures import MOST_LOOKS, Looks, seen_by
from sightline.learn.ground import Ground
from sightline.learn.past import Past, array, pack, unpack
from sightline.learn.protocol import met, same_site
from sightline.learn.state import State
from sightline.maps import as_points
from sightline.records import Belief, Episode, Query
from sightline.site import Site

Array = NDArray[np.float64]
Vector = NDArray[np.float64]

VERSION = 1
OUTSIDE = 0.5  # chance that an object is in no cell after it was found outside all of them
SETTINGS = (
    *("concentrations", "poolings", "half_lives", "share", "absent", "missing", "steps"),
    *("most_failures", "learn_failures", "use_places"),
)


class PlaceBelief:
    """An online mixture of experts on where an object lies, with failed searches as evidence.

    Each expert spreads past finds over cells in its own way and believes in them to its own degree
    (``Experts``); they are weighted by how well they predicted every find before it was added, and how
    well the failure of every failed search. In a failed search the object lay where nobody looked, or was
    missed, or is not in this map; ``steps`` rounds of expectation-maximisation say how much of each
    (``Failures``). The chance at a vantage point is the mass inside what it sees times the sensor's
    detection rate; the weight is the same: every success reveals the position, whatever the way to it, so
    there is nothing to gain by optimism.

    ``half_lives`` count searches of the same object. ``share`` goes back to the experts' first trust
    after each search. ``absent`` is the first chance that an object is in no cell; by Bayes' rule it
    grows with each failure in a row, the more the surer the search was to find the object, and a find
    sets it back. ``missing`` = (a, b) is the Beta prior of eps, the chance that a whole search misses an
    object in view.
    ``most_failures`` bounds the failed searches kept for each object; older ones stay as counts. Without
    ``use_places`` named surfaces are ignored, without ``learn_failures`` failed searches are.
    """

    def __init__(
        self,
        *,
        concentrations: tuple[float, ...] = (0.5, 2.0, 8.0, 32.0),
        poolings: tuple[float, ...] = (5.0, np.inf),
        half_lives: tuple[float, ...] = (4.0, 12.0, 36.0, np.inf),
        share: float = 0.01,
        absent: float = 0.005,
        missing: tuple[float, float] = (1.0, 19.0),
        steps: int = 3,
        most_failures: int = 64,
        learn_failures: bool = True,
        use_places: bool = True,
    ) -> None:
        self._concentrations = _positive(concentrations, "concentrations", 1e6)
        self._poolings = _positive(poolings, "poolings", np.inf)
        self._half_lives = _positive(half_lives, "half_lives", np.inf)
        if self._half_lives[-1] != np.inf:
            raise LearnError(f"half_lives must end with inf, not {self._half_lives[-1]:g}.")
        self._share = number(share, "share", 0.0, 1.0)
        self._absent = number(absent, "absent", 1e-9, 0.5)
        self._missing = _positive(missing, "missing", 1e9)
        if len(self._missing) != 2:
            raise LearnError(f"missing must be two numbers above 0, not {len(self._missing)}.")
        self._steps = _whole(steps, "steps", 1000)
        self._most_failures = _whole(most_failures, "most_failures", 10_000)
        self._learn_failures = _switch(learn_failures, "learn_failures")
        self._use_places = _switch(use_places, "use_places")
        self._known = Acquaintance()
        self._past: list[Past] = []
        self._weights: Array = np.empty((0, 0, 0, 0))
        self._ground: Ground | None = None
        self._experts: Experts | None = None
        self._total: Array | None = None

    def meet(self, site: Site, things: Iterable[str] = ()) -> None:
        """Say which home it is, and which objects there are; the sensor may be another one each time."""
        same_site(site, self._known.learned_in)
        atoms = len(site.cells) + 1
        for past in self._past:
            if past.finds.shape[1] != atoms:
                raise LearnError(
                    f"The state of PlaceBelief is damaged: it has {past.finds.shape[1] - 1} cells, "
                    f"{site.name} has {atoms - 1}."
                )
        ground = self._ground
        if ground is None or not ground.is_of(site):
            ground = Ground.of(site, use_places=self._use_places)
        experts = Experts.of(
            ground.trust,
            concentrations=self._concentrations,
            poolings=self._poolings,
            half_lives=self._half_lives,
        )
        if self._weights.size and self._weights.shape != experts.trust.shape:
            raise LearnError(
                f"The state of PlaceBelief is damaged: its weights have the shape {self._weights.shape}; "
                f"the experts of {site.name} have {experts.trust.shape}."
            )
        self._known.meet(site, things)
        self._ground, self._experts = ground.hiding(site), experts
        if not self._weights.size:
            self._weights = experts.trust
        while len(self._past) < len(self._known.things):
            self._past.append(Past.none(atoms - 1, len(self._half_lives), self._absent))
        self._total = None

    def predict(self, query: Query, points: ArrayLike) -> Belief:
        """What is believed of the object from vantage points (k, 2) now."""
        site = self._known.asked(query)
        mass = self.mass(query.thing)
        mean = site.sensor.detection_rate * (site.sees(as_points(points)) @ mass[:-1])
        mean = np.clip(mean, 0.0, 1.0)
        return Belief(mean, np.zeros(len(mean)), mean, mass[:-1], float(mass[-1]))

    def mass(self, thing: str) -> Vector:
        """The chance (n + 1,) that an object lies in each cell, and in none of them.

        Cells that no place in the free space sees have none, unless the object was found there, or a
        search for it failed.
        """
        site = self._known.asked(Query(thing, (0.0, 0.0)))
        ground, past = self._met()[0], self._past[self._known.things.index(thing)]
        out = self._mixture(past, self._others(past))
        if not past.failed.any():
            out = np.where(ground.hidden & ~(past.finds[-1] > 0), 0.0, out)
        inside = out[:-1].sum()
        if not inside > 0:
            return np.append(np.zeros(len(site.cells)), 1.0)
        return np.asarray(out / out.sum())

    @property
    def missing(self) -> float:
        """eps: how often a whole search misses an object in view, as far as is known."""
        found = sum(past.found for past in self._past)
        missed = sum(past.missed for past in self._past)
        a, b = self._missing
        return (a + missed) / (a + b + missed + found)

    def update(self, episode: Episode) -> None:
        """Learn from a find, or from a failed search in which something was looked at."""
        position = self._known.told(episode)
        ground, experts = self._met()
        past = self._past[self._known.things.index(episode.query.thing)]
        if position is not None:
            cell = ground.cell_of(position)
            self._judge(past, np.eye(1, ground.atoms, cell)[0])
            past.fade(experts.fading)
            past.finds[:, cell] += 1.0
            past.found += bool(episode.visits)
            past.absent = self._absent if cell < ground.atoms - 1 else OUTSIDE
        else:
            looks, rate = self._looks(episode)
            if looks is None:
                return
            seen = np.append(seen_by(looks, rate), 0.0)
            fails = 1 - (1 - self.missing) * seen
            absent = self._absent_after(past, fails)
            self._judge(past, fails)
            past.absent = absent
            past.fade(experts.fading)
            past.failures.add(looks, rate)
        self._total = None
        self._explain(past)
        self._total = None

    def _explain(self, past: Past) -> None:
        """Where the object lay in its failed searches, by a few steps of expectation-maximisation.

        Each time they begin with what the finds say alone: carried on, they would in the end explain all
        failures by the one place at which nobody ever looked.
        """
        failures, others = past.failures, self._others(past)
        if len(failures.rates):
            past.failed = failures.settled
            for _ in range(self._steps):
                belief = self._mixture(past, others)
                past.failed, missed = failures.counts(belief, self.missing)
                past.missed = (1 - past.absent) * missed  # what is not there is not missed
            failures.settle(self._mixture(past, others), self.missing, self._most_failures)

    def _judge(self, past: Past, event: Vector) -> None:
        """Weigh the experts by what they said of an event, given as its chance (n + 1,) in each cell."""
        ground, experts = self._met()
        own, others = past.present, self._others(past)
        inside = np.append(event[:-1], 0.0)
        pulled = (ground.pulling @ inside).reshape(len(ground.kernels), -1)
        chances = experts.chances(
            own @ pulled.T,
            own.sum(axis=1),
            others @ pulled.T,
            others.sum(axis=1),
            float(ground.prior @ inside),
        )
        chances = (1 - past.absent) * chances + past.absent * event[-1]
        self._weights = reweighted(self._weights, chances, experts.trust, self._share)

    def _absent_after(self, past: Past, fails: Vector) -> float:
        """The chance that an object is in no cell after a search that would fail so, by cell (n + 1,)."""
        belief = self._mixture(past, self._others(past))
        posterior = past.absent / (past.absent + float(belief[:-1] @ fails[:-1]))
        return (1 - self._share) * posterior + self._share * self._absent

    def _mixture(self, past: Past, others: Array) -> Vector:
        """What is believed of an object (n + 1,), hidden cells included; others' counts (h, n + 1)."""
        ground, experts = self._met()
        own = past.present
        of_own, of_others, of_prior = experts.coefficients(
            self._weights, own.sum(axis=1), others.sum(axis=1)
        )
        sources = of_own @ own + of_others @ others
        out = np.asarray(of_prior * ground.prior + ground.pushing @ sources.ravel())
        out *= 1 - past.absent
        out[-1] = past.absent
        return out

    def _others(self, past: Past) -> Array:
        """The counts (h, n + 1) of all other objects."""
        if self._total is None:
            self._total = np.sum([each.present for each in self._past], axis=0)
        return np.maximum(self._total - past.present, 0.0)

    def _looks(self, episode: Episode) -> tuple[Looks | None, float]:
        """How often each cell (n,) was looked at, and the detection rate; None if nothing was."""
        site = met(self._known.site)
        if not self._learn_failures or not episode.visits:
            return None, 1.0
        at = as_points([visit.position for visit in episode.visits])
        looks = np.minimum(np.asarray(site.sees(at).sum(axis=0)).ravel(), MOST_LOOKS)
        rate = site.sensor.detection_rate
        if rate == 1.0:
            looks = np.minimum(looks, 1)
        return (looks.astype(np.uint8), rate) if looks.any() and rate > 0 else (None, rate)

    def _met(self) -> tuple[Ground, Experts]:
        met(self._known.site)
        assert self._ground is not None
        assert self._experts is not None
        return self._ground, self._experts

    def state(self) -> State:
        """All that was learned, and the settings."""
        own: dict[str, Any] = {name: getattr(self, f"_{name}") for name in SETTINGS}
        own |= {"weights": self._weights.copy(), "past": [pack(past) for past in self._past]}
        return self._known.state("PlaceBelief", VERSION) | own

    @classmethod
    def from_state(cls, state: State) -> Self:
        """A learner that knows what the state holds."""
        fields = (*SETTINGS, "weights", "past")
        known = Acquaintance.of(state, "PlaceBelief", VERSION, fields)
        out = cls(**{name: state[name] for name in SETTINGS})
        past = state["past"]
        if not isinstance(past, list) or len(past) != len(known.things):
            raise LearnError(
                f"The state of PlaceBelief is damaged: past must have one entry for each of the "
                f"{len(known.things)} things."
            )
        out._weights = array(state, "weights", (None,) * 4)
        out._past = [unpack(entry, len(out._half_lives)) for entry in past]
        out._known = known
        return out


def _positive(values: Iterable[float], name: str, high: float) -> tuple[float, ...]:
    """Check a setting of several numbers above 0."""
    try:
        out = tuple(float(value) for value in values)
    except (TypeError, ValueError):
        out = ()
    if not out or not all(0 < value <= high for value in out):
        raise LearnError(f"{name} must be numbers above 0 and up to {high:g}, not {values!r}.")
    return out


def _whole(value: object, name: str, high: int) -> int:
    """Check a setting: a whole number from 1."""
    out = number(value, name, 1, high)
    if not out.is_integer():
        raise LearnError(f"{name} must be a whole number from 1 to {high}, not {value!r}.")
    return int(out)


def _switch(value: object, name: str) -> bool:
    """Check a setting: true or false."""
    if not isinstance(value, bool):
        raise LearnError(f"{name} must be True or False, not {value!r}.")
    return value
