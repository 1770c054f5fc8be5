"""How good searches are: pure functions on numbers. The rule of success and of l stands here, once.

For each search: S is 1 if the object was found, l the metres of the shortest path from the start to the
nearest navigable point from which the object is seen, p the metres driven until it was seen, or until the
search ended.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

RULE = (
    "Success: the object was seen from a point at which the robot looked. l: metres of the shortest path "
    "from the start to the nearest navigable point from which the object is seen; p: metres driven until "
    "it is seen. SPL: mean of S l / max(p, l); with l = 0 it is S if p = 0 too, else 0. A search that "
    "fails, or whose object can be seen from nowhere (l infinite), counts as 0."
)
PHYSICAL_RULE = (
    "Success, in the physical world: the robot says that it has found the object, what it took for the "
    "object lies within 0.4 m of it, and the robot stands within grasp range (0.8 m) of the object or of "
    "the navigable point nearest to it, or as near to the object as that point (to 0.1 m). l: metres "
    "of the shortest path from the start to the nearest navigable point that has the object in line of "
    "sight within 2.5 m, unless the start has it (l = 0); p: metres truly driven until the sighting "
    "that led to success. SPL: mean of S l / max(p, l); with l = 0 it is S if p = 0 too, else 0. A "
    "search that fails counts as 0."
)
Vector = NDArray[np.float64]


class Interval(NamedTuple):
    """A mean and its bootstrap interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


class Difference(NamedTuple):
    """The mean of paired differences, its bootstrap interval, and the p-value of a sign-flip test."""

    mean: float
    low: float
    high: float
    p_value: float


class Expected(NamedTuple):
    """Exact expectations over where an object lies: chance of success, SPL, metres driven."""

    success: float
    spl: float
    metres: float


def spl(found: ArrayLike, least_m: ArrayLike, driven_m: ArrayLike) -> Vector:
    """Success weighted by path length of each search (n,): S l / max(p, l)."""
    success, least, driven = np.broadcast_arrays(
        np.asarray(found, dtype=np.float64), _lengths(least_m, "l"), _lengths(driven_m, "p")
    )
    return success * _share(least, driven)


def soft_spl(
    least_m: ArrayLike, driven_m: ArrayLike, left_m: ArrayLike, found: ArrayLike
) -> Vector:
    """SoftSPL of each search (n,): progress l / max(p, l), progress = max(0, l - left) / l.

    ``left_m`` is the shortest way from where the search ended to the nearest point that sees the
    object. A search that found it has made all progress; with l = 0 one that did not has made none.
    """
    least, driven, left, success = np.broadcast_arrays(
        _lengths(least_m, "l"),
        _lengths(driven_m, "p"),
        _lengths(left_m, "left_m"),
        np.asarray(found, dtype=bool),
    )
    known = np.isfinite(least) & (least > 0) & np.isfinite(left)
    progress = np.zeros(least.shape)
    progress[known] = np.maximum(0.0, least[known] - left[known]) / least[known]
    progress[success] = 1.0
    return progress * _share(least, driven)


def time_to_find_s(
    driven_m: ArrayLike, looks: ArrayLike, *, speed_m_s: float = 0.5, look_s: float = 0.0
) -> Vector:
    """Seconds of driving and looking."""
    if not 0 < speed_m_s < np.inf:
        raise ValueError(f"speed_m_s must be above 0 and finite, not {speed_m_s}.")
    if not 0 <= look_s < np.inf:
        raise ValueError(f"look_s must be at least 0 and finite, not {look_s}.")
    return _lengths(driven_m, "p") / speed_m_s + np.asarray(looks, dtype=np.float64) * look_s


def expected(
    arrival_m: ArrayLike, first_stop: ArrayLike, mass: ArrayLike, least_m: ArrayLike, *,
    blind_rate: float = 0.0, budget_m: float = np.inf,
) -> Expected:  # fmt: skip
    """What a tour is worth, exactly, over where the object lies.

    ``arrival_m`` (s,) are the metres until each look, the look at the start being number 0;
    ``first_stop`` (cells,) is the first look that sees a cell, -1 for none; ``mass`` (cells,) the true
    chance of each cell, ``least_m`` (cells,) its l. Looks that come after more than ``budget_m`` are
    not taken. With probability ``blind_rate`` nothing is seen at all.
    """
    arrival, stop = _lengths(arrival_m, "arrival_m"), np.asarray(first_stop, dtype=np.int64)
    chance, least = np.asarray(mass, dtype=np.float64), _lengths(least_m, "l")
    taken = int((arrival <= budget_m).sum())
    end = float(arrival[taken - 1])
    seen = (stop >= 0) & (stop < taken)
    driven = np.where(seen, arrival[np.where(seen, stop, 0)], end)
    sight = 1 - blind_rate
    return Expected(
        float(sight * chance @ seen),
        float(sight * chance @ (seen * _share(least, driven))),
        float(sight * (chance @ driven + max(0.0, 1 - chance.sum()) * end) + blind_rate * end),
    )


def interval(
    values: ArrayLike, *, rng: np.random.Generator, level: float = 0.95, draws: int = 10_000
) -> Interval:
    """The mean over independent runs (n,) and the percentile bootstrap interval of it."""
    runs = _runs(values)
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level}.")
    means = runs[rng.integers(len(runs), size=(draws, len(runs)))].mean(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(runs.mean()), float(low), float(high))


def compare(
    ours: ArrayLike, theirs: ArrayLike, *, rng: np.random.Generator, level: float = 0.95
) -> Difference:
    """How much higher ``ours`` (n,) is than ``theirs`` (n,), run by run, and whether that is chance.

    The test flips the signs of the differences: all 2^n flips up to n = 16, else 65,536 random ones.
    """
    gaps = _runs(ours) - _runs(theirs)
    n = len(gaps)
    if n <= 16:
        signs = 1.0 - 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    else:
        signs = np.vstack([np.ones(n), rng.choice([-1.0, 1.0], size=(65_535, n))])
    flipped = np.abs(signs @ gaps) / n
    p_value = float((flipped >= abs(gaps.mean()) - 1e-12).mean())
    mean, low, high = interval(gaps, rng=rng, level=level)
    return Difference(mean, low, high, p_value)


def learning_curve(values: ArrayLike, window: int) -> Vector:
    """The mean of the last ``window`` searches after each one (n,); of fewer at the beginning."""
    if window < 1:
        raise ValueError(f"window must be at least 1, not {window}.")
    total = np.concatenate([[0.0], np.cumsum(np.asarray(values, dtype=np.float64))])
    last = np.arange(1, len(total))
    first = np.maximum(0, last - window)
    return np.asarray((total[last] - total[first]) / (last - first))


def _share(least: Vector, driven: Vector) -> Vector:
    """The quotient l / max(p, l): 1 where both are 0, 0 where l is infinite."""
    out = np.zeros(np.broadcast_shapes(least.shape, driven.shape))
    longest = np.maximum(least, driven)
    np.divide(least, longest, out=out, where=(longest > 0) & np.isfinite(least))
    out[longest == 0] = 1.0
    return out


def _lengths(values: ArrayLike, name: str) -> Vector:
    array = np.asarray(values, dtype=np.float64)
    if not (array >= 0).all():
        raise ValueError(f"{name} must hold lengths of at least 0, not {array.min()}.")
    return array


def _runs(values: ArrayLike) -> Vector:
    runs = np.asarray(values, dtype=np.float64)
    if runs.ndim != 1 or not len(runs) or not np.isfinite(runs).all():
        raise ValueError("Values must be one finite number per run, and at least one.")
    return runs
