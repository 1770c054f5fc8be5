"""From what rows see to what search tours need: chosen rows and cells, and cells merged to atoms."""

import numpy as np
from numba import njit


@njit(cache=True)
def select_entries(first, cell, rows, number, reach):
    """Entries of the chosen rows, with the cells' new numbers (below 0: left out).

    Returns where each row starts, the cells, and the row's ``reach`` of each (empty without reach).
    """
    room = 0
    for row in rows:
        room += first[row + 1] - first[row]
    starts = np.zeros(rows.size + 1, np.int64)
    kept = np.empty(room, np.int32)
    extra = np.empty(room if reach.size else 0)
    count = 0
    for i in range(rows.size):
        for e in range(first[rows[i]], first[rows[i] + 1]):
            if number[cell[e]] < 0:
                continue
            kept[count] = number[cell[e]]
            if reach.size:
                extra[count] = reach[rows[i], cell[e]]
            count += 1
        starts[i + 1] = count
    return starts, kept[:count].copy(), extra[: min(count, extra.size)].copy()


@njit(cache=True)
def group_cells(first, cell, cells):
    """The atom of each cell: cells that the same rows see get the same number, -1 if none does.

    Rows split the classes found so far: the cells of a class that the row sees become a new one.
    Returns the numbers, counted from 0, and how many there are.
    """
    rows = first.size - 1
    group = np.zeros(cells, np.int64)
    stamp = np.full(cell.size + 1, -1, np.int64)
    child = np.zeros(cell.size + 1, np.int64)
    count = 1
    for row in range(rows):
        for e in range(first[row], first[row + 1]):
            old = group[cell[e]]
            if stamp[old] != row:
                stamp[old] = row
                child[old] = count
                count += 1
            group[cell[e]] = child[old]
    number = np.full(count, -1, np.int64)
    atoms = 0
    for c in range(cells):
        if group[c] == 0:
            group[c] = -1
            continue
        if number[group[c]] < 0:
            number[group[c]] = atoms
            atoms += 1
        group[c] = number[group[c]]
    return group, atoms


@njit(cache=True)
def merge_entries(first, cell, group, atoms, mass, extra):
    """Entries of the atoms: ``first``, atom and mean of ``extra`` by mass, from those of the cells."""
    rows = first.size - 1
    total = np.zeros(atoms)
    for c in range(group.size):
        if group[c] >= 0:
            total[group[c]] += mass[c]
    starts = np.zeros(rows + 1, np.int64)
    atom = np.empty(cell.size, np.int32)
    mean = np.zeros(cell.size)
    place = np.full(atoms, -1, np.int64)
    count = 0
    for row in range(rows):
        for e in range(first[row], first[row + 1]):
            a = group[cell[e]]
            if place[a] < starts[row]:
                place[a] = count
                atom[count] = a
                count += 1
            if extra.size:
                mean[place[a]] += mass[cell[e]] * extra[e] / total[a]
        starts[row + 1] = count
    return starts, atom[:count].copy(), mean[:count].copy(), total
