"""What the paper's two learners share: features, bounds, and checks of settings and states."""

import math
from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.errors import LearnError
from sightline.features import FeatureSettings, features_of
from sightline.learn.newton import sigmoid
from sightline.learn.protocol import check_thing, met
from sightline.learn.state import State
from sightline.records import Belief
from sightline.site import Site

Bound = Literal["lower", "upper"]
GENERATORS: Mapping[str, Any] = {
    kind.__name__: kind
    for kind in (np.random.PCG64, np.random.PCG64DXSM, np.random.SFC64, np.random.MT19937)
}


def bounded_belief(
    delta: NDArray[np.float64], width: NDArray[np.float64], bound: Bound, slope: float
) -> Belief:
    """A belief of mean sigma(Delta), width eps, weight sigma(Delta -/+ eps)."""
    shifted = delta - width if bound == "lower" else delta + width
    return Belief(sigmoid(delta, slope), width, sigmoid(shifted, slope))


def object_features(
    site: Site | None,
    settings: FeatureSettings,
    things: tuple[str, ...],
    thing: str,
    points: ArrayLike,
) -> NDArray[np.float64]:
    """Vectors phi (n, D) of a known object at points of the site that was met."""
    on = met(site).home.map
    check_thing(thing, things)
    return features_of(on, settings).phi(things.index(thing), len(things), points)


def check_bound(bound: str) -> None:
    """Refuse a bound that is neither."""
    if bound not in get_args(Bound):
        raise ValueError(f"bound {bound!r} is unknown; valid are {', '.join(get_args(Bound))}.")


def within(
    value: float,
    name: str,
    *,
    above: float = -math.inf,
    least: float = -math.inf,
    most: float = 1e12,
) -> None:
    """Refuse a setting that is no number, or out of its range."""
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(
        value, bool
    )
    if not (number and value > above and least <= value <= most):
        rule = f"above {above:g}" if above > -math.inf else f"at least {least:g}"
        raise ValueError(f"{name} must be a number {rule} and at most {most:g}, not {value!r}.")


def with_settings(make: Any, settings: Any, **more: Any) -> Any:
    """A learner with the settings of a state."""
    if not isinstance(settings, Mapping):
        raise LearnError("The state is damaged: its settings are no mapping.")
    try:
        return make(**settings, **more)
    except (TypeError, ValueError) as reason:
        raise LearnError(f"The settings of the state do not fit this learner: {reason}.") from None


def stored_things(state: State) -> tuple[tuple[str, ...], str]:
    """The objects and the site of a state."""
    things, site = state["things"], state["site"]
    if not isinstance(things, list | tuple) or not all(isinstance(t, str) and t for t in things):
        raise LearnError("The state is damaged: its things are not a list of names.")
    if len(set(things)) != len(things) or not isinstance(site, str):
        raise LearnError(
            "The state is damaged: a thing stands twice in it, or its site is no text."
        )
    return tuple(things), site


def stored_count(state: State, name: str) -> int:
    """A whole number of at least 0 from a state."""
    value = state[name]
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise LearnError(f"The state is damaged: {name} must be a whole number, not {value!r}.")
    return value


def generator_state(rng: np.random.Generator) -> Mapping[str, Any]:
    """Where a generator of random numbers stands, for a file."""
    return dict(rng.bit_generator.state)


def stored_generator(state: State, name: str) -> np.random.Generator:
    """The generator that stood where the state says."""
    stored = state[name]
    kind = stored.get("bit_generator") if isinstance(stored, Mapping) else None
    if not isinstance(kind, str) or kind not in GENERATORS:
        raise LearnError(f"The state is damaged: {name} is none of {', '.join(GENERATORS)}.")
    bits = GENERATORS[kind]()
    try:
        bits.state = stored
    except (TypeError, ValueError, KeyError, OverflowError) as reason:
        raise LearnError(f"The state is damaged: {name} is no generator: {reason}.") from None
    return np.random.Generator(bits)


def stored_array(state: Any, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """A finite array of some shape from a state; -1 stands for any length."""
    value = state.get(name) if isinstance(state, Mapping) else None
    if (
        not isinstance(value, np.ndarray)
        or value.ndim != len(shape)
        or any(want not in (-1, got) for want, got in zip(shape, value.shape, strict=True))
    ):
        raise LearnError(f"The state is damaged: {name} is not an array of shape {shape}.")
    try:
        out = np.array(value, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise LearnError(f"The state is damaged: {name} does not hold numbers.") from None
    if not np.isfinite(out).all():
        raise LearnError(f"The state is damaged: {name} holds what is not a finite number.")
    return out
