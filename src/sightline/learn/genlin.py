"""The paper's linear learner: one logistic model per object, second-order steps, optimism both ways."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.errors import LearnError
from sightline.features import FeatureSettings, Normaliser
from sightline.learn.augment import positives, signals
from sightline.learn.newton import OnlineLogistic
from sightline.learn.protocol import check_thing, known_things, met, same_site
from sightline.learn.settings import (
    Bound,
    bounded_belief,
    check_bound,
    object_features,
    stored_array,
    stored_count,
    stored_things,
    with_settings,
    within,
)
from sightline.learn.state import State, checked
from sightline.records import Belief, Episode, Query
from sightline.site import LATTICE_M, Site

VERSION = 1


@dataclass(frozen=True, kw_only=True)
class GenLinSettings:
    """The settings of ``GenLin``, checked; features apart."""

    eta: float
    alpha: float
    ridge: float
    slope: float
    bound: Bound
    augment: bool
    augment_spacing_m: float
    theory: bool
    limit: float
    delta: float

    def __post_init__(self) -> None:
        within(self.eta, "eta", above=0)
        within(self.alpha, "alpha", least=0)
        within(self.ridge, "ridge", above=0)
        within(self.slope, "slope", above=0)
        within(self.augment_spacing_m, "augment_spacing_m", above=0)
        within(self.limit, "limit", above=0, most=100)
        if not 0 < self.delta < 1 / math.e:
            raise ValueError(f"delta must lie between 0 and 1/e, not {self.delta}.")
        check_bound(self.bound)
        if self.theory and self.slope != 1:
            raise ValueError(f"Algorithm 2 is stated for slope 1, not {self.slope}.")


class GenLin:
    """Algorithm 1 of the paper, and with ``theory=True`` its Algorithm 2, with parameters per object.

    For each object theta and M, M = k I at first. From a point with features phi, with
    Delta = theta.phi and eps = sqrt(alpha phi.M^-1 phi), ``Belief.mean`` is sigma(Delta), ``width`` is
    eps, and ``weight`` is sigma(Delta - eps) for ``bound="lower"``, which Algorithm 1 prints, or
    sigma(Delta + eps) for ``"upper"``, which Algorithm 2 prints. After a search in which the object was
    seen, each look with sign s (+1 seen, -1 not) does M += phi phi^T and
    theta += eta sigma(-s Delta) s M^-1 phi; then, with ``augment``, so does each navigable point within
    the sensor's range of the object, with sign +1, on a lattice of ``augment_spacing_m``.

    ``eta`` is the learning rate, ``alpha`` the exploration, ``ridge`` the paper's k (the number of
    vantage points), ``slope`` the s of sigma(z) = 1 / (1 + exp(-s z)). The rest are the settings of the
    features. With ``theory``, eta and alpha follow from ``limit`` (the paper's B) and ``delta``, margins
    are projected onto -B <= theta.phi <= B, and all searches of all objects count in t.
    """

    def __init__(
        self,
        *,
        eta: float = 20.0,
        alpha: float = 0.1,
        ridge: float = 25.0,
        slope: float = 1.0,
        resolution: int = 75,
        encoding: int = 50,
        normaliser: Normaliser = "l2",
        identity_share: float | None = None,
        bound: Bound = "lower",
        augment: bool = True,
        augment_spacing_m: float = LATTICE_M,
        theory: bool = False,
        limit: float = 1.0,
        delta: float = 0.05,
    ) -> None:
        self.settings = GenLinSettings(
            eta=eta,
            alpha=alpha,
            ridge=ridge,
            slope=slope,
            bound=bound,
            augment=augment,
            augment_spacing_m=augment_spacing_m,
            theory=theory,
            limit=limit,
            delta=delta,
        )
        self.feature_settings = FeatureSettings(resolution, encoding, normaliser, identity_share)
        self.things: tuple[str, ...] = ()
        self.searches = 0  # all that were told of, found or not
        self._learned_in = ""
        self._site: Site | None = None
        self._models: dict[str, OnlineLogistic] = {}  # of the objects that were seen

    def meet(self, site: Site, things: Iterable[str] = ()) -> None:
        """Say which home it is, and which objects there are; more may be named later."""
        same_site(site, self._learned_in)
        known = known_things(site, self.things, things)
        size = self.feature_settings.size + len(known)
        self._models = {name: model.widened(size) for name, model in self._models.items()}
        self.things, self._site = known, site

    def predict(self, query: Query, points: ArrayLike) -> Belief:
        """What is believed of the object from vantage points (k, 2)."""
        phi = self._phi(query.thing, points)
        model = self._model(query.thing)
        settings = self.settings
        delta = model.margins(phi)
        if settings.theory:  # the projection changes the margin only
            delta = np.clip(delta, -settings.limit, settings.limit)
        width = np.sqrt(self.exploration() * model.spreads(phi))
        return bounded_belief(delta, width, settings.bound, settings.slope)

    def update(self, episode: Episode) -> None:
        """Learn from a search in which the object was seen, or from what a person told."""
        site = met(self._site)
        thing, settings = episode.query.thing, self.settings
        looked, signs = signals(episode)
        more = (
            positives(site, episode, spacing_m=settings.augment_spacing_m)
            if settings.augment
            else np.empty((0, 2))
        )
        phi = self._phi(thing, np.vstack([looked, more]))
        if len(phi):
            rate, limit = settings.eta, np.inf
            if settings.theory:
                rate, limit = 1.0 / slopes(settings.limit)[1], settings.limit
            signs = np.concatenate([signs, np.ones(len(more))])
            self._models[thing] = self._model(thing).learned(phi, signs, rate=rate, limit=limit)
        self.searches += 1
        self._learned_in = site.name

    def exploration(self) -> float:
        """alpha: the setting, or Algorithm 2's at the search that comes next."""
        settings = self.settings
        if not settings.theory:
            return settings.alpha
        size = self.feature_settings.size + len(self.things)
        return theory_alpha(
            settings.ridge, size, self.searches + 1, delta=settings.delta, limit=settings.limit
        )

    def state(self) -> State:
        """All that was learned, and the settings."""
        return {
            "learner": "GenLin",
            "version": VERSION,
            "site": self._learned_in,
            "things": list(self.things),
            "settings": asdict(self.settings) | asdict(self.feature_settings),
            "searches": self.searches,
            "models": {
                name: {"theta": model.theta.copy(), "inverse": model.inverse.copy()}
                for name, model in self._models.items()
            },
        }

    @classmethod
    def from_state(cls, state: State) -> Self:
        """A learner that knows what the state holds."""
        checked(state, "GenLin", VERSION, ("settings", "searches", "models"))
        out: Self = with_settings(cls, state["settings"])
        out.things, out._learned_in = stored_things(state)
        out.searches = stored_count(state, "searches")
        size = out.feature_settings.size + len(out.things)
        if not isinstance(state["models"], Mapping):
            raise LearnError("The state of GenLin is damaged: its models are no mapping.")
        for name, model in state["models"].items():
            check_thing(name, out.things)
            theta, inverse = (
                stored_array(model, "theta", (size,)),
                stored_array(model, "inverse", (size, size)),
            )
            if not np.array_equal(inverse, inverse.T):
                raise LearnError(f"The state is damaged: the inverse of {name} is not symmetric.")
            out._models[name] = OnlineLogistic(
                theta, inverse, out.settings.ridge, slope=out.settings.slope
            )
        return out

    def _model(self, thing: str) -> OnlineLogistic:
        if thing in self._models:
            return self._models[thing]
        size = self.feature_settings.size + len(self.things)
        return OnlineLogistic.fresh(size, ridge=self.settings.ridge, slope=self.settings.slope)

    def _phi(self, thing: str, points: ArrayLike) -> NDArray[np.float64]:
        return object_features(self._site, self.feature_settings, self.things, thing, points)


def theory_alpha(k: float, size: int, t: int, *, delta: float, limit: float) -> float:
    """alpha(k, D, T, delta, B) of Algorithm 2 at search t, with the constants of its O(...) taken as 1.

    k B^2 + (c/c')^2 D log(1 + (t c/(1 - c) + log((t + 1)/delta)) / k)
    + ((c/c')^2 + (1 + B)/c') log(k (t + 1)/delta), with c = sigma(B) and c' = sigma'(B).
    """
    c, c_prime = slopes(limit)
    square = (c / c_prime) ** 2
    inside = (t * c / (1.0 - c) + math.log((t + 1) / delta)) / k
    last = (square + (1.0 + limit) / c_prime) * math.log(max(k * (t + 1) / delta, 1.0))
    return k * limit**2 + square * size * math.log1p(inside) + last


def slopes(limit: float) -> tuple[float, float]:
    """sigma(B), and sigma'(B), the least slope of sigma on -B..B."""
    c = 1.0 / (1.0 + math.exp(-limit))
    return c, math.exp(-limit) / (1.0 + math.exp(-limit)) ** 2
