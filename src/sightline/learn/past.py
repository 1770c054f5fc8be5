"""What a learner of places remembers of one object, and its form in a state."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.errors import LearnError
from sightline.learn.failures import MOST_LOOKS, Failures

Array = NDArray[np.float64]
Vector = NDArray[np.float64]


@dataclass(eq=False)
class Past:
    """What is known of one object: faded finds (h, n + 1), failed searches, and their counts."""

    finds: Array
    failures: Failures
    failed: Array  # (h, n + 1) where the object lay in the failed searches
    absent: float  # chance that it is in no cell
    found: int = 0  # searches in which it was seen
    missed: float = 0.0  # searches in which it was in view and not seen, as far as is known

    @classmethod
    def none(cls, cells: int, half_lives: int, absent: float) -> "Past":
        """Nothing yet."""
        zeros = np.zeros((half_lives, cells + 1))
        return cls(zeros, Failures.none(cells, half_lives), zeros, absent)

    @property
    def counts(self) -> Array:
        """All counts (h, n + 1)."""
        return self.finds + self.failed

    @property
    def present(self) -> Array:
        """The counts (h, n + 1) without finds that were in no cell."""
        out = self.counts
        out[:, -1] = 0.0
        return out

    def fade(self, fading: Vector) -> None:
        """Let every half-life forget its share."""
        self.finds = self.finds * fading[:, None]
        self.failed = self.failed * fading[:, None]
        self.failures.fade(fading)


def pack(past: Past) -> dict[str, Any]:
    """One object's past for a state: of the finds only the cells that have some."""
    failures = past.failures
    at = np.flatnonzero(past.finds[-1] > 0)
    return {
        "atoms": past.finds.shape[1],
        "at": at,
        "finds": past.finds[:, at].copy(),
        "found": past.found,
        "absent": past.absent,
        "missed": past.missed,
        "failed": past.failed.copy() if past.failed.any() else None,
        "looks": failures.looks.copy(),
        "rates": failures.rates.copy(),
        "weights": failures.weights.copy(),
        "settled": failures.settled.copy() if failures.settled.any() else None,
        "missed_before": failures.missed_before,
    }


def unpack(entry: Any, half_lives: int) -> Past:
    """The past that ``pack`` wrote; refuses what is damaged."""
    if not isinstance(entry, Mapping) or not isinstance(entry.get("atoms"), int):
        raise LearnError("The state of PlaceBelief is damaged: a past has no number of atoms.")
    atoms, lives = entry["atoms"], half_lives
    at = array(entry, "at", (None,)).astype(np.int64)
    if not ((at >= 0) & (at < atoms)).all():
        raise LearnError(f"The state of PlaceBelief is damaged: at must be from 0 to {atoms - 1}.")
    finds = np.zeros((lives, atoms))
    finds[:, at] = array(entry, "finds", (lives, len(at)))
    rates = array(entry, "rates", (None,))
    looks = array(entry, "looks", (len(rates), atoms - 1))
    if (looks > MOST_LOOKS).any() or (rates > 1).any():
        raise LearnError(
            f"The state of PlaceBelief is damaged: looks go to {MOST_LOOKS} and rates to 1."
        )
    failures = Failures(
        looks.astype(np.uint8),
        rates,
        array(entry, "weights", (len(rates), lives)),
        _or_zeros(entry, "settled", (lives, atoms)),
        float(array(entry, "missed_before", ())),
    )
    failed = _or_zeros(entry, "failed", (lives, atoms))
    found, missed = int(array(entry, "found", ())), float(array(entry, "missed", ()))
    absent = float(array(entry, "absent", ()))
    if absent > 1:
        raise LearnError(
            f"The state of PlaceBelief is damaged: absent must be up to 1, not {absent}."
        )
    return Past(finds, failures, failed, absent, found, missed)


def array(entry: Mapping[str, Any], name: str, shape: tuple[int | None, ...]) -> Array:
    """A field of a state as finite numbers from 0 of some shape; None stands for any length."""
    try:
        out = np.array(entry[name], dtype=np.float64)
    except (KeyError, TypeError, ValueError):
        raise LearnError(f"The state of PlaceBelief is damaged: {name} holds no numbers.") from None
    fits = out.ndim == len(shape)
    fits = fits and all(want in (None, has) for want, has in zip(shape, out.shape, strict=True))
    if not fits or not np.isfinite(out).all() or (out < 0).any():
        raise LearnError(
            f"The state of PlaceBelief is damaged: {name} must be finite numbers from 0 of shape "
            f"{shape}, not {out.shape}."
        )
    return out


def _or_zeros(entry: Mapping[str, Any], name: str, shape: tuple[int, int]) -> Array:
    return np.zeros(shape) if entry.get(name) is None else array(entry, name, shape)
