"""One pass of online Newton steps over a block of examples, in the coordinates of the block."""

from math import exp

import numpy as np
from numba import njit


@njit(cache=True)
def newton_pass(lower, margin, signs, rate, slope, limit):
    """Coefficients (m,) of the whitened directions after m steps taken one after the other.

    With rows Phi (m, D), ``lower`` L is the Cholesky factor of I + Phi M^-1 Phi^T and the columns of
    W = M^-1 Phi^T L^-T are the directions: step j moves theta along column j only, and
    phi_j . W = row j of L left of the diagonal, so that all margins follow from L alone. ``margin`` is
    Phi theta before the block. A margin beyond ``limit`` is first projected onto it in the norm of the
    matrix before the step; phi_j M^-1 phi_j before step j is L_jj^2 - 1.
    """
    count = margin.size
    out = np.zeros(count)
    for j in range(count):
        here = margin[j]
        for i in range(j):
            here += lower[j, i] * out[i]
        diagonal = lower[j, j]
        kept = min(max(here, -limit), limit)
        if kept != here:
            out[j] = (kept - here) * diagonal / (diagonal * diagonal - 1.0)
        turn = signs[j] * slope * kept
        # sigma(-turn), safe for large |turn|
        if turn > 0:
            pull = exp(-turn) / (1.0 + exp(-turn))
        else:
            pull = 1.0 / (1.0 + exp(turn))
        out[j] += rate * pull * signs[j] / diagonal
    return out
