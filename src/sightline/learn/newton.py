"""Logistic regression that learns online by second-order steps, on plain arrays."""

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cholesky, solve_triangular

from sightline._kernels.online_newton import newton_pass

Vector = NDArray[np.float64]
BLOCK = 128  # rows per block: fewer waste calls, more waste work on the block's own matrix


def sigmoid(z: ArrayLike, slope: float = 1.0) -> Vector:
    """sigma(z) = 1 / (1 + exp(-s z)), safe for large |z|."""
    turn = slope * np.asarray(z, dtype=np.float64)
    small = np.exp(-np.abs(turn))
    return np.asarray(np.where(turn >= 0, 1.0, small) / (1.0 + small))


@dataclass(frozen=True, eq=False)
class OnlineLogistic:
    """theta (D,) and the inverse (D, D) of M = k I + sum phi phi^T: the state of Algorithm 1.

    ``learned`` gives the state after more examples and leaves this one as it is.
    """

    theta: Vector
    inverse: NDArray[np.float64]
    ridge: float
    slope: float = field(default=1.0, kw_only=True)

    @classmethod
    def fresh(cls, size: int, *, ridge: float, slope: float = 1.0) -> Self:
        """A model with theta = 0 and M = k I, so that the width of phi is |phi| / sqrt(k)."""
        return cls(np.zeros(size), np.eye(size) / ridge, ridge, slope=slope)

    def margins(self, phi: Vector) -> Vector:
        """Products theta . phi (n,) for rows (n, D)."""
        return np.asarray(phi @ self.theta)

    def spreads(self, phi: Vector) -> Vector:
        """Products phi . M^-1 phi (n,) for rows (n, D)."""
        return np.asarray(np.maximum(np.einsum("nd,nd->n", phi @ self.inverse, phi), 0.0))

    def learned(
        self, phi: Vector, signs: Vector, *, rate: float, limit: float = np.inf
    ) -> "OnlineLogistic":
        """After the rows (n, D) with signs (n,) of +1 and -1, one step after the other.

        Each step: M += phi phi^T, theta += rate * sigma(-sign theta.phi) * sign * M^-1 phi, with theta
        first projected onto -limit <= theta.phi <= limit in the norm of the matrix before (Algorithm 2).
        Rows are taken in blocks, in whose coordinates the steps cost little; the result is that of single
        steps up to rounding.
        """
        theta, inverse = self.theta.copy(), self.inverse.copy()
        for first in range(0, len(phi), BLOCK):
            rows = phi[first : first + BLOCK]
            across = rows @ inverse  # (m, D)
            lower = cholesky(np.eye(len(rows)) + across @ rows.T, lower=True, check_finite=False)
            directions = solve_triangular(lower, across, lower=True, check_finite=False)
            theta += directions.T @ newton_pass(
                np.ascontiguousarray(lower),
                rows @ theta,
                signs[first : first + BLOCK],
                rate,
                self.slope,
                limit,
            )
            # A^T A is computed as one triangle and mirrored, so the inverse stays exactly symmetric
            inverse -= directions.T @ directions
        return OnlineLogistic(theta, inverse, self.ridge, slope=self.slope)

    def widened(self, size: int) -> "OnlineLogistic":
        """The same model for vectors with more entries at their end, which were 0 until now."""
        old = len(self.theta)
        theta, inverse = np.zeros(size), np.eye(size) / self.ridge
        theta[:old], inverse[:old, :old] = self.theta, self.inverse
        return OnlineLogistic(theta, inverse, self.ridge, slope=self.slope)
