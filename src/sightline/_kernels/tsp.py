"""Shortest open paths from a fixed start, by local search; works on asymmetric matrices, too."""

import numpy as np
from numba import njit


@njit(cache=True)
def path_length(travel, path):
    """Length of a path."""
    total = 0.0
    for i in range(1, path.size):
        total += travel[path[i - 1], path[i]]
    return total


@njit(cache=True)
def _sums(travel, path, ahead, back):
    """Lengths from the start to every position along the path, and back again."""
    ahead[0], back[0] = 0.0, 0.0
    for i in range(1, path.size):
        ahead[i] = ahead[i - 1] + travel[path[i - 1], path[i]]
        back[i] = back[i - 1] + travel[path[i], path[i - 1]]


@njit(cache=True)
def _leg(travel, path, i, j):
    """Length of the leg between two positions; past the end of the path it is nothing."""
    return travel[path[i], path[j]] if j < path.size else 0.0


@njit(cache=True)
def _turn(travel, path, ahead, back, least):
    """Turn round every stretch that so shortens the path by more than ``least``; returns success."""
    n = path.size
    better = False
    for i in range(1, n - 1):
        for j in range(i + 1, n):
            old = _leg(travel, path, i - 1, i) + ahead[j] - ahead[i] + _leg(travel, path, j, j + 1)
            new = travel[path[i - 1], path[j]] + back[j] - back[i]
            if j + 1 < n:
                new += travel[path[i], path[j + 1]]
            if new < old - least:
                path[i : j + 1] = path[i : j + 1][::-1].copy()
                _sums(travel, path, ahead, back)
                better = True
    return better


@njit(cache=True)
def _move(travel, path, ahead, back, least):
    """Move every stretch of one to three stops that so shortens the path; returns success."""
    n = path.size
    better = False
    for size in range(1, 4):
        for i in range(1, n - size + 1):
            j = i + size - 1
            joined = travel[path[i - 1], path[j + 1]] if j + 1 < n else 0.0
            saved = _leg(travel, path, i - 1, i) + _leg(travel, path, j, j + 1) - joined
            if saved <= least:
                continue
            turned = back[j] - back[i] - ahead[j] + ahead[i]
            for k in range(n):  # to stand between positions k and k + 1
                if i - 1 <= k <= j:
                    continue
                gap = _leg(travel, path, k, k + 1)
                after_first = travel[path[j], path[k + 1]] if k + 1 < n else 0.0
                after_last = travel[path[i], path[k + 1]] if k + 1 < n else 0.0
                straight = travel[path[k], path[i]] + after_first - gap
                reverse = travel[path[k], path[j]] + after_last - gap + turned
                if min(straight, reverse) < saved - least:
                    _shift(path, i, j, k, reverse < straight)
                    _sums(travel, path, ahead, back)
                    better = True
                    break
    return better


@njit(cache=True)
def _shift(path, i, j, k, reverse):
    """Put positions i..j behind position k, turned round if ``reverse``."""
    stretch = path[i : j + 1].copy()
    if reverse:
        stretch = stretch[::-1].copy()
    size = j - i + 1
    if k > j:
        path[i : k - size + 1] = path[j + 1 : k + 1].copy()
        path[k - size + 1 : k + 1] = stretch
    else:
        path[k + 1 + size : j + 1] = path[k + 1 : i].copy()
        path[k + 1 : k + 1 + size] = stretch


@njit(cache=True)
def _descend(travel, path, ahead, back):
    """Improve until neither turning nor moving a stretch shortens the path."""
    least = 1e-12 * (1.0 + path_length(travel, path))
    _sums(travel, path, ahead, back)
    while _turn(travel, path, ahead, back, least) or _move(travel, path, ahead, back, least):
        pass


@njit(cache=True)
def shorten(travel, path, cuts):
    """Shorten ``path`` in place: descend, then cut it at random and descend again; returns the length.

    ``cuts`` (kicks, 3) are positions drawn beforehand; each row, in order, swaps two neighbouring
    stretches of the best path (a double bridge), which is kept if it ends shorter.
    """
    ahead, back = np.empty(path.size), np.empty(path.size)
    _descend(travel, path, ahead, back)
    best = path_length(travel, path)
    trial = path.copy()
    for kick in range(len(cuts)):
        a, b, c = cuts[kick]
        trial[a : a + c - b] = path[b:c]
        trial[a + c - b : c] = path[a:b]
        _descend(travel, trial, ahead, back)
        length = path_length(travel, trial)
        if length < best:
            best = length
            path[:] = trial
        else:
            trial[:] = path
    return best
