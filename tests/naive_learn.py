"""Slow and obvious twins of the learners: one step at a time, whole matrices, explicit gradients."""

import math

import numpy as np


def sigma(z):
    """The logistic function."""
    return 1 / (1 + math.exp(-z)) if z > -700 else 0.0


def newton_steps(phi, signs, *, ridge, rate, slope=1.0, limit=None):
    """Algorithm 1 (and 2, with a limit) as printed: theta and M after all steps, by solving with M."""
    size = phi.shape[1]
    theta, matrix = np.zeros(size), ridge * np.eye(size)
    for row, sign in zip(phi, signs, strict=True):
        if limit is not None:
            theta = project(theta, matrix, row, limit)
        matrix = matrix + np.outer(row, row)
        margin = theta @ row
        theta = theta + rate * sigma(-sign * slope * margin) * sign * np.linalg.solve(matrix, row)
    return theta, matrix


def project(theta, matrix, row, limit):
    """The nearest vector in the norm of the matrix with |v . row| <= limit: a Lagrange multiplier."""
    margin = theta @ row
    kept = min(max(margin, -limit), limit)
    direction = np.linalg.solve(matrix, row)
    return theta - (margin - kept) / (row @ direction) * direction


def forward(x, inner, outer):
    """f(x) = sqrt(w) sum_j v_j max(0, W_j . x), unit by unit."""
    total = 0.0
    for weights, out in zip(inner, outer, strict=True):
        total += out * max(0.0, sum(a * b for a, b in zip(weights, x, strict=True)))
    return math.sqrt(len(outer)) * total


def gradient(x, inner, outer):
    """The gradient of f with respect to all parameters, divided by sqrt(w), as one long vector."""
    active = (inner @ x > 0).astype(float)
    return np.concatenate([np.maximum(inner @ x, 0), np.outer(outer * active, x).ravel()])


def network_variance(gradients, weights, ridge, query):
    """g . Z^-1 g with Z = ridge I + sum of w g g^T, as one big matrix."""
    size = len(query)
    z = ridge * np.eye(size)
    for row, weight in zip(gradients, weights, strict=True):
        z += weight * np.outer(row, row)
    return query @ np.linalg.solve(z, query)


def least_squares(gradients, targets, weights, ridge, query):
    """f at a query by the parameters of least sum of w (f - target)^2 / 2 + n k / 2 |theta|^2.

    f = sqrt(n) g . theta is linear, with gradients g that are divided by the root of n units. n cancels.
    """
    matrix = ridge * np.eye(len(query))
    vector = np.zeros(len(query))
    for row, target, weight in zip(gradients, targets, weights, strict=True):
        matrix += weight * np.outer(row, row)
        vector += weight * target * row
    return query @ np.linalg.solve(matrix, vector)


def descend(
    x, targets, weights, inner, outer, inner_0, outer_0, batches, *, eta, ridge, slope, square
):
    """Mini-batch gradient descent, one example at a time, on a network's regularised mean loss."""
    width, count = len(outer), weights.sum()
    inner, outer = inner.copy(), outer.copy()
    for batch in batches:
        g_inner, g_outer = np.zeros_like(inner), np.zeros_like(outer)
        for i in batch:
            f = forward(x[i], inner, outer)
            pull = f - targets[i] if square else -targets[i] * sigma(-targets[i] * slope * f)
            pull *= weights[i] / weights.mean() / len(batch) * math.sqrt(width)
            for j in range(width):
                inside = inner[j] @ x[i]
                if inside > 0:
                    g_outer[j] += pull * inside
                    g_inner[j] += pull * outer[j] * x[i]
        inner_new = inner - eta / width * (g_inner + width * ridge / count * (inner - inner_0))
        outer = outer - eta / width * (g_outer + width * ridge / count * (outer - outer_0))
        inner = inner_new
    return inner, outer
