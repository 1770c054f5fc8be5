"""Exact shortest paths among square obstacles: a shadow-casting continuous Dijkstra.

A shortest path in a grid of free and blocked cells is a chain of straight pieces that bends only at
convex obstacle corners. So distances spread from corner to corner: the source sweeps the area that
it sees, each corner on the rim of a shadow then sweeps the part of the shadow that a taut path can
enter, in order of distance, until nothing is left. A sweep touches a cell once and needs no queue,
only corners are queued; the result is exact up to rounding, not an approximation on the grid graph.

A sweep works in one of four 90-degree sectors. Rows of cells are taken one after another away from
the pivot, and the visible part of a row is an interval of slopes (sideways per forward step, in
[-1, 1]); blocked cells cut pieces out of it. An interval stops early where every cell is already
reached so much sooner that whatever lies behind is reached sooner too.

Within a sweep arrays are passed one by one and helpers are inlined: passing them as tuples, or letting
the compiler count references to them, made it three times slower.

All arrays are flat views of the grid padded by one ring of blocked cells. Corner ``(r, c)`` is the
lower-left corner of the padded cell ``(r, c)``.
"""

from math import ceil, floor, inf, sqrt
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sightline._kernels.raycast import segment_is_clear

BLOCKED = (
    1  # bit 0 of a code: the cell is blocked; the bits above: the quadrant of its lone corner block
)
ROUNDING = 1e-9  # cells; two path lengths closer than this are the same
SLIVER = 1e-12  # slope; an interval narrower than this is empty
CELL_SPAN = (
    1.0  # any point of a row's centre line is reached from its cell's centre and back within this
)


class Mesh(NamedTuple):
    """The obstacles, as the sweeps read them."""

    code: NDArray[np.uint8]  # (rows * width,)
    corner_at: NDArray[np.int32]  # (rows * width,) number of the convex corner there, else -1
    corner_cell: NDArray[np.int32]  # (corners,) where each convex corner is
    width: int


class Front(NamedTuple):
    """What is known so far of the distances from one source; reused from source to source."""

    cell: NDArray[np.float64]  # (rows * width,) shortest known distance to each cell's centre
    corner: NDArray[np.float64]  # (corners,) shortest known distance to each corner
    parent: NDArray[np.int32]  # (corners,) the corner before it on that path, -1 for the source
    heap: NDArray[np.int32]  # (corners,) queue of corners to sweep from
    slot: NDArray[np.int32]  # (corners,) where in the queue a corner is, -1 if it is not
    size: NDArray[np.int64]  # (1,) length of the queue
    # (corners + 8, 3) intervals that wait: row, lowest slope, highest slope
    stack: NDArray[np.float64]


@njit(cache=True)
def corner_codes(blocked):
    """Code and corner number for every padded cell, and the cells of the corners; see ``Mesh``.

    A corner is convex, and a shortest path may bend there, where exactly one of the four cells
    around it is blocked. Two blocked cells that touch diagonally leave no way between them.
    """
    rows, width = blocked.shape
    code = np.zeros(rows * width, np.uint8)
    corner_at = np.full(rows * width, -1, np.int32)
    count = 0
    for r in range(rows):
        for c in range(width):
            if blocked[r, c]:
                code[r * width + c] = BLOCKED
            if r == 0 or c == 0:
                continue
            ne, nw = blocked[r, c], blocked[r, c - 1]
            sw, se = blocked[r - 1, c - 1], blocked[r - 1, c]
            if int(ne) + int(nw) + int(sw) + int(se) == 1:
                quadrant = 1 * ne + 2 * nw + 3 * sw + 4 * se
                code[r * width + c] |= quadrant << 1
                corner_at[r * width + c] = count
                count += 1
    return code, corner_at, np.flatnonzero(corner_at >= 0).astype(np.int32)


@njit(cache=True)
def _queue_up(heap, slot, key, at):
    """Restore the heap order upwards from slot ``at``."""
    item = heap[at]
    while at > 0:
        above = (at - 1) >> 1
        if key[heap[above]] <= key[item]:
            break
        heap[at] = heap[above]
        slot[heap[at]] = at
        at = above
    heap[at] = item
    slot[item] = at


@njit(cache=True)
def _queue_pop(heap, slot, key, size):
    """Take the nearest corner out of the queue, which then has ``size`` corners left."""
    nearest = heap[0]
    slot[nearest] = -1
    if size == 0:
        return nearest
    item = heap[size]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and key[heap[below + 1]] < key[heap[below]]:
            below += 1
        if key[item] <= key[heap[below]]:
            break
        heap[at] = heap[below]
        slot[heap[at]] = at
        at = below
    heap[at] = item
    slot[item] = at
    return nearest


@njit(forceinline=True)
def _mirror(code):
    """Signs (x, y) of the quadrant in which a corner's blocked cell lies."""
    quadrant = code >> 1
    sign_x = 1.0 if quadrant == 1 or quadrant == 4 else -1.0
    sign_y = 1.0 if quadrant <= 2 else -1.0
    return sign_x, sign_y


@njit(forceinline=True)
def _reach_corner(
    code, corner_at, corner, parent, heap, slot, size, at, along_x, along_y, base, pivot
):
    """A corner is in sight of a pivot, ``(along_x, along_y)`` away.

    Note it if a taut path can bend there and this one is the shortest yet.
    """
    fx, fy = _mirror(code[at])
    ux, uy = fx * along_x, fy * along_y
    if not ((uy < 0.0 <= ux) or (ux < 0.0 <= uy)):
        return
    here = corner_at[at]
    length = base + sqrt(along_x * along_x + along_y * along_y)
    if length >= corner[here] - ROUNDING:
        return
    corner[here] = length
    parent[here] = pivot
    at_slot = slot[here]
    if at_slot < 0:
        at_slot = size[0]
        heap[at_slot] = here
        size[0] += 1
    _queue_up(heap, slot, corner, at_slot)


@njit(forceinline=True)
def _see_corners(
    code, corner_at, corner, parent, heap, slot, size, line, step, ahead, side, low, high,
    upright, sign, base, pivot,
):  # fmt: skip
    """Note the convex corners on the far edge of a row that the interval reaches."""
    for c in range(ceil(side + low * ahead - ROUNDING), floor(side + high * ahead + ROUNDING) + 1):
        at = line + c * step
        if code[at] >> 1:
            across = c - side
            along_x, along_y = (across, sign * ahead) if upright else (sign * ahead, across)
            _reach_corner(
                code, corner_at, corner, parent, heap, slot, size, at, along_x, along_y, base, pivot
            )


@njit(forceinline=True)
def _squeezed(code, here, forward, sideways):
    """The ray comes in exactly over the corner between two blocked cells that touch diagonally."""
    return (code[here - sideways] & BLOCKED) and (code[here - forward] & BLOCKED)


@njit(forceinline=True)
def _paint_row(code, cell, row, forward, step, ahead, side, low, high, base, limit):
    """Lower the distances of the cells whose centres the interval sees; trim what is of no use.

    Seen in sector coordinates, the ray to a centre enters the row in that centre's own column,
    so no cell of the same row can stand before it. Returns the interval that is left (empty: low >
    high): a column is of no use if it is blocked or reached so much sooner from elsewhere that all
    points behind it are, too.
    """
    left, right = side + low * ahead, side + high * ahead
    first, last = -1, -2
    for c in range(max(floor(left), 0), max(ceil(right), floor(left) + 1)):
        here = row + c * step
        if code[here] & BLOCKED:
            continue
        across = c + 0.5 - side
        length = base + sqrt(across * across + ahead * ahead)
        known = cell[here]
        if length > min(known, limit) + CELL_SPAN:
            continue
        if first < 0:
            first = c
        last = c
        if length < known and left - ROUNDING <= c + 0.5 <= right + ROUNDING:
            diagonal = abs(across) >= ahead - ROUNDING and ahead > 0.5
            if diagonal and _squeezed(code, here, forward, step if across > 0.0 else -step):
                continue
            cell[here] = length
    if first < 0:
        return 1.0, -1.0
    return max(low, (first - side) / ahead), min(high, (last + 1 - side) / ahead)


@njit(cache=True)
def _sweep(
    code, corner_at, width, cell, corner, parent, heap, slot, size, stack,
    x0, y0, base, pivot, upright, sign, low, high, limit,
):  # fmt: skip
    """Spread from pivot (x0, y0), itself ``base`` away, over one sector's slopes [low, high].

    The arrays are those of ``Mesh`` and ``Front``. ``upright``: the sector looks along +-y (rows
    ahead), else along +-x; ``sign`` is the direction. Forward coordinates are mirrored for sign < 0,
    so that the pivot always looks towards larger rows.
    """
    stride, step = (width, 1) if upright else (1, width)
    lanes = width if upright else code.size // width
    start, side = (y0 * sign, x0) if upright else (x0 * sign, y0)
    i, waiting = floor(start), 0
    while True:
        near, far = max(i - start, 0.0), i + 1.0 - start
        row = (i if sign > 0 else -i - 1) * stride
        line = (i + 1 if sign > 0 else -i - 1) * stride
        ahead = i + 0.5 - start
        if ahead > 0.0:
            low, high = _paint_row(
                code, cell, row, sign * stride, step, ahead, side, low, high, base, limit
            )
        c = max(floor(side + low * (near if low >= 0.0 else far)), 0)
        end = min(ceil(side + high * (far if high >= 0.0 else near)), lanes)
        while c < end and high - low > SLIVER:
            if not code[row + c * step] & BLOCKED:
                c += 1
                continue
            # the run of blocked columns hides the open range of slopes between its outer corners
            to_left = c - side
            while c < end and code[row + c * step] & BLOCKED:
                c += 1
            to_right = c - side
            until = to_left / far if to_left >= 0.0 else (to_left / near if near > 0.0 else -inf)
            again = to_right / far if to_right <= 0.0 else (to_right / near if near > 0.0 else inf)
            until = min(until, high)
            if until - low > SLIVER:
                _see_corners(
                    code, corner_at, corner, parent, heap, slot, size, line, step, far, side,
                    low, until, upright, sign, base, pivot,
                )  # fmt: skip
                stack[waiting, 0], stack[waiting, 1], stack[waiting, 2] = i + 1, low, until
                waiting += 1
            low = max(low, again)
        if high - low > SLIVER:
            _see_corners(
                code, corner_at, corner, parent, heap, slot, size, line, step, far, side,
                low, high, upright, sign, base, pivot,
            )  # fmt: skip
            i += 1
        elif waiting > 0:
            waiting -= 1
            i, low, high = int(stack[waiting, 0]), stack[waiting, 1], stack[waiting, 2]
        else:
            break


@njit(cache=True)
def _sweep_from(mesh, front, x0, y0, base, pivot, upright, sign, low, high, limit):
    """Take the tuples apart and sweep one sector."""
    _sweep(
        mesh.code, mesh.corner_at, mesh.width, front.cell, front.corner, front.parent, front.heap,
        front.slot, front.size, front.stack, x0, y0, base, pivot, upright, sign, low, high, limit,
    )  # fmt: skip


@njit(cache=True)
def _sweep_wedge(mesh, front, x0, y0, base, pivot, axis_x, fx, fy, ux, uy, limit):
    """Sweep the directions between u and the coordinate axis that u can be turned to.

    ``u = (ux, uy)`` and the axis are given in mirrored coordinates, ``(fx, fy)`` mirror them back.
    With ``axis_x`` the wedge lies between u (right and down) and the +x axis, else between u (left
    and up) and the +y axis.
    """
    if axis_x:
        a, b, fa, fb = ux, -uy, fx, fy
    else:
        a, b, fa, fb = uy, -ux, fy, fx
    # a: along the axis, b: away from it, both >= 0. First the sector of the axis, then the other.
    slope = -1.0 if b > a else -b / a
    low, high = (slope, 0.0) if fb > 0 else (0.0, -slope)
    _sweep_from(mesh, front, x0, y0, base, pivot, not axis_x, int(fa), low, high, limit)
    if b > a:
        low, high = (a / b, 1.0) if fa > 0 else (-1.0, -a / b)
        _sweep_from(mesh, front, x0, y0, base, pivot, axis_x, int(-fb), low, high, limit)


@njit(cache=True)
def start_front(front):
    """Forget all distances."""
    front.cell[:] = inf
    front.corner[:] = inf
    front.parent[:] = -1
    front.slot[:] = -1
    front.size[0] = 0


@njit(cache=True)
def look_around(mesh, front, x0, y0, limit):
    """Sweep all that the source itself sees: its cells and the corners at which paths may bend."""
    here = floor(y0) * mesh.width + floor(x0)
    across, ahead = floor(x0) + 0.5 - x0, floor(y0) + 0.5 - y0
    front.cell[here] = min(front.cell[here], sqrt(across * across + ahead * ahead))
    for sign in (1, -1):
        _sweep_from(mesh, front, x0, y0, 0.0, -1, True, sign, -1.0, 1.0, limit)
        _sweep_from(mesh, front, x0, y0, 0.0, -1, False, sign, -1.0, 1.0, limit)


@njit(cache=True)
def spread(mesh, front, x0, y0, limit):
    """Sweep from corner after corner, nearest first, until no distance below ``limit`` can fall."""
    while front.size[0] > 0:
        front.size[0] -= 1
        corner = _queue_pop(front.heap, front.slot, front.corner, front.size[0])
        base = front.corner[corner]
        if base > limit:
            break
        at = mesh.corner_cell[corner]
        x, y = float(at % mesh.width), float(at // mesh.width)
        before = front.parent[corner]
        from_x, from_y = x0, y0
        if before >= 0:
            from_at = mesh.corner_cell[before]
            from_x, from_y = float(from_at % mesh.width), float(from_at // mesh.width)
        fx, fy = _mirror(mesh.code[at])
        ux, uy = fx * (x - from_x), fy * (y - from_y)
        _sweep_wedge(mesh, front, x, y, base, corner, uy < 0.0, fx, fy, ux, uy, limit)


@njit(cache=True, nogil=True)
def field(mesh, front, x0, y0, limit):
    """Distances from (x0, y0) to all cells and corners, added to what ``front.cell`` already holds."""
    look_around(mesh, front, x0, y0, limit)
    spread(mesh, front, x0, y0, limit)


@njit(cache=True, nogil=True)
def bends_in_sight(mesh, front, x, y, corners, lengths):
    """Corners that a point sees and at which a path to it may bend; returns how many there are."""
    start_front(front)
    look_around(mesh, front, x, y, inf)
    count = front.size[0]
    for i in range(count):
        corners[i] = front.heap[i]
        lengths[i] = front.corner[front.heap[i]]
    return count


@njit(cache=True, nogil=True)
def distances_from(mesh, front, x0, y0, xs, ys, first, corners, lengths, out):
    """Distances from (x0, y0) to the points (xs, ys), each exact at its own position.

    ``corners[first[j]:first[j + 1]]`` are the bends in sight of point j, ``lengths`` away from it: a
    shortest path is the straight line, or it comes in over one of them.
    """
    start_front(front)
    field(mesh, front, x0, y0, inf)
    for j in range(xs.size):
        best = inf
        if segment_is_clear(mesh.code, mesh.width, x0, y0, xs[j], ys[j]):
            best = sqrt((xs[j] - x0) ** 2 + (ys[j] - y0) ** 2)
        for k in range(first[j], first[j + 1]):
            best = min(best, front.corner[corners[k]] + lengths[k])
        out[j] = best
