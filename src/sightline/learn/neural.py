"""The paper's neural learner: one network for all objects, confidences from its tangent kernel."""

import copy
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.errors import LearnError
from sightline.features import FeatureSettings, Normaliser
from sightline.learn.augment import positives, signals
from sightline.learn.ntk import (
    DiagonalCovariance,
    ExactCovariance,
    Network,
    NtkNetwork,
    Rule,
    Tangents,
    Training,
)
from sightline.learn.protocol import known_things, met, same_site
from sightline.learn.settings import (
    Bound,
    bounded_belief,
    check_bound,
    generator_state,
    object_features,
    stored_array,
    stored_generator,
    stored_things,
    with_settings,
    within,
)
from sightline.learn.state import State, checked
from sightline.records import Belief, Episode, Query
from sightline.site import Site

Covariance = Literal["exact", "diagonal"]
VERSION = 1
SPACING = 0.4  # of augmented points, in ranges of the sensor


@dataclass(frozen=True, kw_only=True)
class NeuralSettings:
    """The settings of ``Neural``, checked; features apart."""

    eta: float
    alpha: float
    ridge: float
    slope: float
    width: int
    steps: int
    batch: int
    restart: bool
    rule: Rule
    covariance: Covariance
    memory: int
    bound: Bound
    augment: bool
    augment_spacing_m: float | None

    def __post_init__(self) -> None:
        within(self.eta, "eta", above=0)
        within(self.alpha, "alpha", least=0)
        within(self.ridge, "ridge", above=0)
        within(self.slope, "slope", above=0)
        for name, least, most in (
            ("width", 2, 4096),
            ("steps", 1, 100_000),
            ("batch", 1, 100_000),
            ("memory", 100, 20_000),
        ):
            value = getattr(self, name)
            within(value, name, least=least, most=most)
            if value != int(value) or (name == "width" and value % 2):
                raise ValueError(f"{name} must be a whole number, and width even, not {value}.")
        if self.augment_spacing_m is not None:
            within(self.augment_spacing_m, "augment_spacing_m", above=0)
        if self.covariance not in get_args(Covariance):
            raise ValueError(
                f"covariance {self.covariance!r} is unknown; valid are "
                f"{', '.join(get_args(Covariance))}."
            )
        if self.rule not in get_args(Rule):
            raise ValueError(
                f"rule {self.rule!r} is unknown; valid are {', '.join(get_args(Rule))}."
            )
        if self.rule == "solve" and self.covariance != "exact":
            raise ValueError('rule "solve" needs covariance "exact".')
        check_bound(self.bound)

    @property
    def training(self) -> Training:
        """How the network is trained."""
        return Training(
            eta=self.eta,
            ridge=self.ridge,
            steps=self.steps,
            batch=self.batch,
            loss="square" if self.rule == "solve" else "logistic",
            slope=self.slope,
            restart=self.restart,
            rule=self.rule,
        )


class Neural:
    """A two-layer ReLU network f(phi(i, x)) shared by all objects, trained as NeuralUCB trains.

    ``Belief.mean`` is sigma(f), ``width`` is eps = sqrt(alpha g Z^-1 g) with g the gradient of f over
    the root of the network's ``width`` and Z = k I + sum of g g^T over all examples so far, and
    ``weight`` is sigma(f - eps) for ``bound="lower"`` or sigma(f + eps) for ``"upper"``. Examples are
    those of ``GenLin``: the looks of searches in which the object was seen, and with ``augment`` the
    navigable points that see it, on a lattice of ``augment_spacing_m`` (two fifths of the sensor's range
    unless given, so that their number does not depend on the range).

    After each such search the gradients join Z, then the network takes ``steps`` steps of gradient
    descent on ``batch`` examples each at rate ``eta`` (see ``ntk.Training``). With ``rule="solve"`` it
    takes the network as linear around its first parameters and f as that of least squares to +1 and -1,
    in closed form; ``slope`` should then be smaller. ``covariance="diagonal"`` keeps only the
    diagonal of Z. At most ``memory`` examples are remembered; when there would be more, a random half
    goes and the rest count double. Objects named after the first meeting begin with weights of 0, so they
    are at first believed to lie where things lie in general.
    """

    def __init__(
        self,
        *,
        rng: np.random.Generator,
        eta: float = 0.01,
        alpha: float = 0.1,
        ridge: float = 25.0,
        slope: float = 20.0,
        width: int = 64,
        steps: int = 100,
        batch: int = 64,
        restart: bool = False,
        rule: Rule = "descent",
        covariance: Covariance = "exact",
        memory: int = 2000,
        resolution: int = 75,
        encoding: int = 50,
        normaliser: Normaliser = "l2",
        identity_share: float | None = None,
        bound: Bound = "lower",
        augment: bool = True,
        augment_spacing_m: float | None = None,
    ) -> None:
        self.settings = NeuralSettings(
            eta=eta,
            alpha=alpha,
            ridge=ridge,
            slope=slope,
            width=width,
            steps=steps,
            batch=batch,
            restart=restart,
            rule=rule,
            covariance=covariance,
            memory=memory,
            bound=bound,
            augment=augment,
            augment_spacing_m=augment_spacing_m,
        )
        self.feature_settings = FeatureSettings(resolution, encoding, normaliser, identity_share)
        self.things: tuple[str, ...] = ()
        self._rng = copy.deepcopy(rng)
        self._learned_in = ""
        self._site: Site | None = None
        self._model: NtkNetwork | None = None

    def meet(self, site: Site, things: Iterable[str] = ()) -> None:
        """Say which home it is, and which objects there are; more may be named later."""
        same_site(site, self._learned_in)
        known = known_things(site, self.things, things)
        size = self.feature_settings.size + len(known)
        if self._model is None:
            first = Network.drawn(size, self.settings.width, rng=self._rng)
            self._model = self._around(first)
        elif len(known) > len(self.things):
            self._model = self._model.widened(size)
        self.things, self._site = known, site

    def predict(self, query: Query, points: ArrayLike) -> Belief:
        """What is believed of the object from vantage points (k, 2)."""
        phi = self._phi(query.thing, points)
        assert self._model is not None  # it was made when the site was met
        f, variance = self._model.predict(phi)
        width = np.sqrt(self.settings.alpha * variance)
        return bounded_belief(f, width, self.settings.bound, self.settings.slope)

    def update(self, episode: Episode) -> None:
        """Learn from a search in which the object was seen, or from what a person told."""
        site = met(self._site)
        assert self._model is not None
        looked, signs = signals(episode)
        more = np.empty((0, 2))
        if self.settings.augment:
            spacing = self.settings.augment_spacing_m or SPACING * site.sensor.range_m
            more = positives(site, episode, spacing_m=spacing)
        phi = self._phi(episode.query.thing, np.vstack([looked, more]))
        if len(phi):
            rng = copy.deepcopy(self._rng)  # an update that fails draws nothing
            self._model.learn(phi, np.concatenate([signs, np.ones(len(more))]), rng=rng)
            self._rng = rng
        self._learned_in = site.name

    def state(self) -> State:
        """All that was learned, and the settings."""
        return {
            "learner": "Neural",
            "version": VERSION,
            "site": self._learned_in,
            "things": list(self.things),
            "settings": asdict(self.settings) | asdict(self.feature_settings),
            "rng": generator_state(self._rng),
            "network": None if self._model is None else _network_state(self._model),
        }

    @classmethod
    def from_state(cls, state: State) -> Self:
        """A learner that knows what the state holds."""
        checked(state, "Neural", VERSION, ("settings", "rng", "network"))
        rng = stored_generator(state, "rng")
        out: Self = with_settings(cls, state["settings"], rng=rng)
        out.things, out._learned_in = stored_things(state)
        if state["network"] is not None:
            size = out.feature_settings.size + len(out.things)
            out._model = out._stored(state["network"], size)
        return out

    def _around(self, first: Network) -> NtkNetwork:
        return NtkNetwork(
            first,
            self.settings.training,
            memory=self.settings.memory,
            diagonal=self.settings.covariance == "diagonal",
        )

    def _stored(self, state: Any, size: int) -> NtkNetwork:
        """The network of a state, for inputs of some size."""
        width = self.settings.width
        shapes = {"inner": (width, size), "outer": (width,)}
        first, now = (
            Network(
                **{name: stored_array(state, f"{when}_{name}", s) for name, s in shapes.items()}
            )
            for when in ("first", "now")
        )
        out = self._around(first)
        out.now, out.x = now, stored_array(state, "x", (-1, size))
        count = len(out.x)
        out.targets, out.weights = (
            stored_array(state, name, (count,)) for name in ("targets", "weights")
        )
        if isinstance(out.covariance, DiagonalCovariance):
            out.covariance.outer = stored_array(state, "diagonal_outer", (width,))
            out.covariance.inner = stored_array(state, "diagonal_inner", (width, size))
            return out
        hidden, gates = (stored_array(state, name, (count, width)) for name in ("hidden", "gates"))
        blocks = state.get("blocks")
        if (
            not isinstance(blocks, list)
            or not all(isinstance(b, int) and b > 0 for b in blocks)
            or sum(blocks) != count
        ):
            raise LearnError(f"The state is damaged: its blocks do not make up {count} examples.")
        known = Tangents(out.x, hidden, gates)
        out.covariance = ExactCovariance.replayed(self.settings.ridge, known, blocks)
        return out

    def _phi(self, thing: str, points: ArrayLike) -> NDArray[np.float64]:
        return object_features(self._site, self.feature_settings, self.things, thing, points)


def _network_state(model: NtkNetwork) -> State:
    """A network as arrays that are the state's own."""
    out: dict[str, Any] = {"x": model.x, "targets": model.targets, "weights": model.weights}
    for when, network in (("first", model.first), ("now", model.now)):
        out |= {f"{when}_inner": network.inner, f"{when}_outer": network.outer}
    if isinstance(model.covariance, DiagonalCovariance):
        out |= {
            "diagonal_outer": model.covariance.outer,
            "diagonal_inner": model.covariance.inner,
        }
    else:
        known = model.covariance.known
        out |= {"hidden": known.hidden, "gates": known.gates, "blocks": model.covariance.blocks}
    return copy.deepcopy(out)
