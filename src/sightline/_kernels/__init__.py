"""Compiled loops over plain arrays.

Nothing here knows metres, frames, files or users: positions are in cells (x along columns, y along
rows, cell ``(r, c)`` covers ``[c, c+1] x [r, r+1]``), inputs are checked by the caller.
"""
