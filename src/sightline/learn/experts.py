"""Experts on where an object lies, mixed by how well each of them has predicted so far.

An expert e is a kernel m, a concentration kappa, a pooling k0 and a half-life h. With N_o the finds of
object o, faded by h and spread by m, n_o their number, and N, n the same over all other objects, it
believes

    G_o = (k0 H + N) / (k0 + n)                        what holds for any object
    b_o = (kappa G_o + N_o) / (kappa + n_o)            what holds for this one

All that experts have in common is linear in the counts, so a mixture of them needs one coefficient for
each count and kernel, and one product with the kernels.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Experts:
    """The grid of experts: kernels (m) x concentrations (a) x poolings (b) x half-lives (h).

    ``trust`` (m, a, b, h) is how much each is believed before any find, and sums to 1.
    """

    concentrations: Vector
    poolings: Vector
    fading: Vector  # (h,) what a count keeps when the next search of the object ends
    trust: Array

    @classmethod
    def of(
        cls,
        kernels: Vector,
        *,
        concentrations: tuple[float, ...],
        poolings: tuple[float, ...],
        half_lives: tuple[float, ...],
    ) -> "Experts":
        """All combinations; kernels have the trust given, what never fades half of the rest."""
        lives = np.array(half_lives)
        lasting = np.isinf(lives)
        share = np.where(lasting, 0.5 / lasting.sum(), 0.5 / max((~lasting).sum(), 1))
        parts = (kernels, np.ones(len(concentrations)), np.ones(len(poolings)), share)
        trust = np.einsum("m,a,b,h->mabh", *(part / part.sum() for part in parts))
        fading = np.exp2(-1 / lives)
        return cls(np.array(concentrations), np.array(poolings), fading, trust)

    def chances(
        self, own: Array, own_count: Vector, others: Array, count: Vector, prior: float
    ) -> Array:
        """What each expert says (m, a, b, h) of one event.

        ``own`` and ``others`` (h, m) are the sums of the counts, faded by h and spread by m, over the
        event; ``own_count`` and ``count`` (h,) over everything; ``prior`` is the event's chance by H.
        """
        share_own, share_other, share_prior = self._shares(own_count, count)
        return np.asarray(
            share_own * own.T[:, None, None]
            + share_other * others.T[:, None, None]
            + share_prior * prior
        )

    def coefficients(
        self, weights: Array, own_count: Vector, count: Vector
    ) -> tuple[Array, Array, float]:
        """By which the mixture multiplies own counts (m, h), others' counts (m, h), and the prior."""
        share_own, share_other, share_prior = self._shares(own_count, count)
        return (
            (weights * share_own).sum(axis=(1, 2)),
            (weights * share_other).sum(axis=(1, 2)),
            float((weights * share_prior).sum()),
        )

    def _shares(self, own_count: Vector, count: Vector) -> tuple[Array, Array, Array]:
        """What an own count, another's count and the prior weigh, each broadcasting over (a, b, h)."""
        kappa, pooling = self.concentrations[:, None, None], self.poolings[None, :, None]
        own = 1 / (kappa + own_count)
        general = kappa * own
        finite = np.isfinite(pooling)
        # without pooling (k0 infinite) the prior alone holds for any object
        k0 = np.where(finite, pooling, 1.0)
        other = np.where(finite, 1 / (k0 + count), 0.0)
        prior = np.where(finite, k0 * other, 1.0)
        shape = np.broadcast_shapes(own.shape, other.shape)
        return np.broadcast_to(own, shape), general * other, general * prior


def reweighted(weights: Array, chances: Array, trust: Array, share: float) -> Array:
    """Bayes' rule, with a share given back to the experts' first trust, so that none dies out."""
    product = weights * chances
    total = product.sum()
    if not total > 0:
        return trust.copy()
    return np.asarray((1 - share) * product / total + share * trust)
