"""What failed searches say: not where was looked, unless the object was missed, or is not there at all.

A search that looked n(c) times at cell c, each look with detection rate d, sees an object that lies there
with the chance s(c) = 1 - (1 - d)^n(c), unless everything in it fails, which has the chance eps (the
paper's P(E)). So it fails with the chance q(c) = 1 - (1 - eps) s(c), and the object, which lay somewhere,
lay in c with the chance

    r(c) = b(c) q(c) / sum_c' b(c') q(c').

The expectation-maximisation takes these as counts, computes b anew, and so on. That the object is in no
cell at all is judged apart, over the searches in a row that failed.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Vector = NDArray[np.float64]
Looks = NDArray[np.uint8]

MOST_LOOKS = 255


@dataclass(eq=False)
class Failures:
    """The failed searches of one object: at most ``most`` different ones, the rest settled.

    ``looks`` (f, n) counts the looks at each cell, ``rates`` (f,) are the detection rates, ``weights``
    (f, h) how many searches each row stands for, by half-life. Searches with the same looks share a
    row. A search that has to make room leaves its last counts r in ``settled`` (h, n + 1), for good.
    """

    looks: Looks
    rates: Vector
    weights: Array
    settled: Array
    missed_before: float = 0.0  # searches in ``settled`` that missed an object in view
    _seen: Array | None = field(default=None, repr=False)

    @classmethod
    def none(cls, cells: int, half_lives: int) -> "Failures":
        """No failed search, for n cells."""
        return cls(
            np.zeros((0, cells), np.uint8),
            np.zeros(0),
            np.zeros((0, half_lives)),
            np.zeros((half_lives, cells + 1)),
        )

    @property
    def seen(self) -> Array:
        """s (f, n): the chance that each search would have seen the object in each cell."""
        if self._seen is None:
            self._seen = seen_by(self.looks, self.rates[:, None])
        return self._seen

    def fade(self, fading: Vector) -> None:
        """Let every half-life forget its share."""
        self.weights = self.weights * fading
        self.settled = self.settled * fading[:, None]

    def add(self, looks: Looks, rate: float) -> None:
        """One more failed search."""
        same = np.flatnonzero((self.looks == looks).all(axis=1) & (self.rates == rate))
        if len(same):
            self.weights = self.weights.copy()
            self.weights[same[0]] += 1.0
            return
        self.looks = np.vstack([self.looks, looks])
        self.rates = np.append(self.rates, rate)
        self.weights = np.vstack([self.weights, np.ones(self.weights.shape[1])])
        self._seen = None

    def settle(self, belief: Vector, missing: float, most: int) -> None:
        """Make room: the searches that weigh least, and among these the oldest, become counts."""
        while len(self.rates) > most:
            least = int(self.weights.sum(axis=1)[:-1].argmin())
            row = np.array([least])
            counts, missed = self._counts(belief, missing, row)
            self.settled = self.settled + counts
            self.missed_before += missed
            for name in ("looks", "rates", "weights"):
                setattr(self, name, np.delete(getattr(self, name), least, axis=0))
            self._seen = None

    def counts(self, belief: Vector, missing: float) -> tuple[Array, float]:
        """Where the object lay in all failed searches (h, n + 1), and how many missed it in view."""
        counts, missed = self._counts(belief, missing, slice(None))
        return counts + self.settled, missed + self.missed_before

    def _counts(
        self, belief: Vector, missing: float, rows: slice | NDArray[np.int64]
    ) -> tuple[Array, float]:
        seen, weights = self.seen[rows], self.weights[rows]
        inside = belief[:-1]
        in_view = seen @ inside
        total = inside.sum() - (1 - missing) * in_view
        each = weights / total[:, None]
        out = np.zeros((weights.shape[1], len(belief)))
        out[:, :-1] = (each.sum(axis=0)[:, None] - (1 - missing) * (each.T @ seen)) * inside
        return np.maximum(out, 0.0), float(each[:, -1] @ in_view) * missing


def seen_by(looks: Looks, rate: float | Array) -> Array:
    """s: the chance that so many looks with some detection rate notice an object."""
    return np.asarray(1 - np.power(1.0 - np.asarray(rate), looks))
