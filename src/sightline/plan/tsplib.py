"""Travel matrices from files: TSPLIB (``.tsp``) and CSV."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from sightline.errors import PlanError
from sightline.plan.problem import Matrix, Vector, as_travel, as_weights

MAX_ROWS = 5_000
MAX_BYTES = 200_000_000
EARTH_RADIUS_KM = 6378.388  # as TSPLIB has it

Header = dict[str, str]


def read_travel(path: Path) -> Matrix:
    """The travel matrix of a ``.tsp`` file, or of a CSV file of numbers; row 0 is the first node."""
    text = _text(path)
    if path.suffix.lower() == ".tsp":
        return as_travel(_Tsplib(path, text).matrix())
    return as_travel(_numbers(path, text))


def read_weights(path: Path, rows: int) -> Vector:
    """Weights from a text file, one number per row of the matrix, separated by commas or lines."""
    return as_weights(_numbers(path, _text(path)).ravel(), rows)


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise PlanError(f"{path} has {path.stat().st_size} bytes; the limit is {MAX_BYTES}.")
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise PlanError(f"{path} does not exist.") from None
    except (OSError, UnicodeDecodeError) as reason:
        raise PlanError(f"{path} cannot be read: {reason}.") from None


def _numbers(path: Path, text: str) -> Matrix:
    rows = [line.replace(",", " ").replace(";", " ").split() for line in text.splitlines()]
    rows = [row for row in rows if row]
    if len(rows) > MAX_ROWS:
        raise PlanError(f"{path} has {len(rows)} rows; the limit is {MAX_ROWS}.")
    widths = {len(row) for row in rows}
    if len(widths) != 1:
        raise PlanError(f"{path} must have rows of equal length, not of {sorted(widths)} numbers.")
    try:
        return np.array([[float(word) for word in row] for row in rows])
    except ValueError as reason:
        raise PlanError(f"{path} must hold numbers: {reason}.") from None


class _Tsplib:
    """One TSPLIB file: its header fields and its sections of numbers."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.header: Header = {}
        self.sections: dict[str, list[float]] = {}
        section: list[float] | None = None
        for line in text.splitlines():
            words = line.replace(":", " : ").split()
            if not words or words[0] == "EOF":
                continue
            if ":" in words:
                at = words.index(":")
                self.header[" ".join(words[:at])] = " ".join(words[at + 1 :])
            elif words[0].isidentifier() and words[0].isupper():
                section = self.sections.setdefault(words[0], [])
            elif section is not None:
                section.extend(self._number(word) for word in words)

    def matrix(self) -> Matrix:
        """Distances between all nodes, by the rule that the file names."""
        size = self._size()
        rule = self.header.get("EDGE_WEIGHT_TYPE", "")
        if rule == "EXPLICIT":
            return self._explicit(size)
        if rule not in _METRICS:
            raise self._wrong(
                f"EDGE_WEIGHT_TYPE {rule!r} is not known; valid are EXPLICIT, {', '.join(_METRICS)}"
            )
        values = self.sections.get("NODE_COORD_SECTION", [])
        if len(values) != 3 * size:
            raise self._wrong(f"NODE_COORD_SECTION needs {3 * size} numbers, not {len(values)}")
        x, y = np.array(values).reshape(size, 3)[:, 1:].T
        out = _METRICS[rule](x, y)
        np.fill_diagonal(out, 0.0)
        return out

    def _wrong(self, complaint: str) -> PlanError:
        return PlanError(f"{self.path}: {complaint}.")

    def _number(self, word: str) -> float:
        try:
            value = float(word)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self._wrong(f"a section holds {word!r}, which is not a number")
        return value

    def _size(self) -> int:
        word = self.header.get("DIMENSION", "")
        if not word.isdecimal() or not 1 <= int(word) <= MAX_ROWS:
            raise self._wrong(f"DIMENSION must be 1 to {MAX_ROWS}, not {word!r}")
        return int(word)

    def _explicit(self, size: int) -> Matrix:
        layout = self.header.get("EDGE_WEIGHT_FORMAT", "")
        every = np.ones((size, size), dtype=bool)
        given = {
            "FULL_MATRIX": every,
            "UPPER_ROW": np.triu(every, 1),
            "UPPER_DIAG_ROW": np.triu(every),
            "LOWER_ROW": np.tril(every, -1),
            "LOWER_DIAG_ROW": np.tril(every),
        }
        if layout not in given:
            raise self._wrong(
                f"EDGE_WEIGHT_FORMAT {layout!r} is not known; valid are {', '.join(given)}"
            )
        rows, columns = np.nonzero(given[layout])
        values = self.sections.get("EDGE_WEIGHT_SECTION", [])
        if len(values) != len(rows):
            raise self._wrong(f"EDGE_WEIGHT_SECTION needs {len(rows)} numbers, not {len(values)}")
        out = np.zeros((size, size))
        out[rows, columns] = values
        return out if layout == "FULL_MATRIX" else out + np.triu(out, 1).T + np.tril(out, -1).T


def _gaps(x: Vector, y: Vector) -> tuple[Matrix, Matrix]:
    return x[:, None] - x, y[:, None] - y


def _euclidean(x: Vector, y: Vector) -> Matrix:
    return np.asarray(np.floor(np.hypot(*_gaps(x, y)) + 0.5))


def _euclidean_up(x: Vector, y: Vector) -> Matrix:
    return np.asarray(np.ceil(np.hypot(*_gaps(x, y))))


def _pseudo_euclidean(x: Vector, y: Vector) -> Matrix:
    dx, dy = _gaps(x, y)
    exact = np.sqrt((dx**2 + dy**2) / 10)
    rounded = np.floor(exact + 0.5)
    return np.where(rounded < exact, rounded + 1, rounded)


def _manhattan(x: Vector, y: Vector) -> Matrix:
    dx, dy = _gaps(x, y)
    return np.asarray(np.floor(np.abs(dx) + np.abs(dy) + 0.5))


def _geographic(x: Vector, y: Vector) -> Matrix:
    """Kilometres between places given as DDD.MM, by TSPLIB's own value of pi and its rounding."""
    degrees = np.trunc(np.stack([x, y]))
    latitude, longitude = 3.141592 * (degrees + 5 * (np.stack([x, y]) - degrees) / 3) / 180
    q1 = np.cos(longitude[:, None] - longitude)
    q2 = np.cos(latitude[:, None] - latitude)
    q3 = np.cos(latitude[:, None] + latitude)
    angle = np.arccos(np.clip(0.5 * ((1 + q1) * q2 - (1 - q1) * q3), -1, 1))
    return np.asarray(np.floor(EARTH_RADIUS_KM * angle + 1))


_METRICS: dict[str, Callable[[Vector, Vector], Matrix]] = {
    "EUC_2D": _euclidean,
    "CEIL_2D": _euclidean_up,
    "MAN_2D": _manhattan,
    "ATT": _pseudo_euclidean,
    "GEO": _geographic,
}
