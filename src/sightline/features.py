"""phi(i, x): an object's identity and the look of the map around a place, as a vector of norm at most 1.

The paper's feature vector has three parts: a one-hot identity of object i, a flattened 16 x 16 patch of
the wall-distance map around x, and a sinusoidal encoding of x. Here the identity stands last, so that
objects that are named later only append to the vectors.

- Wall distance: metres to the nearest obstacle, as a share of the largest on the map.
- Map resolution: the wall-distance map is scaled so that its longer side has 37, 75 or 150 pixels; the
  patch is the 16 x 16 pixels around the pixel that holds x, 0 outside the map. A coarser map shows more.
- Encoding of size E: sines and cosines of x and y along the map's own axes in turns, wavelengths from
  twice the map's longer side down to an eighth of it in equal ratios.
- Normaliser "l2" divides the whole vector by its norm. "mean-var" brings the patch and the encoding
  together to mean 0 and standard deviation 1, leaves the identity at 1, and divides by the root of
  257 + E, which makes the norm 1 whatever the number of objects.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage

from sightline.maps import Field, OccupancyMap, Points, as_points

Normaliser = Literal["l2", "mean-var"]
Vectors = NDArray[np.float64]  # (n, D)

PATCH = 16  # pixels along each side
RESOLUTIONS = (37, 75, 150)  # those that the paper tries
MOST_PIXELS = 1000
MOST_ENCODING = 200
LONGEST, SHORTEST = 2.0, 0.125  # wavelengths, in longer sides of the map


@dataclass(frozen=True)
class FeatureSettings:
    """How places become vectors.

    ``resolution``: pixels along the map's longer side (the paper: 37, 75 or 150). ``encoding``: size of
    the positional encoding (the paper: 5 to 50). ``identity_share``: the share of the squared norm that
    the identity has; None leaves it at what the normaliser gives, as in the paper.
    """

    resolution: int = 75
    encoding: int = 50
    normaliser: Normaliser = "l2"
    identity_share: float | None = None

    def __post_init__(self) -> None:
        for name, low, high in (
            ("resolution", PATCH, MOST_PIXELS),
            ("encoding", 0, MOST_ENCODING),
        ):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise ValueError(f"{name} must be a whole number in {low} to {high}, not {value}.")
        if self.normaliser not in get_args(Normaliser):
            raise ValueError(
                f"normaliser {self.normaliser!r} is unknown; valid are "
                f"{', '.join(get_args(Normaliser))}."
            )
        if self.identity_share is not None and not 0 < self.identity_share < 1:
            raise ValueError(
                f"identity_share must lie between 0 and 1, or be None, not {self.identity_share}."
            )

    @property
    def size(self) -> int:
        """Entries that do not tell of the object: 256 of the patch and those of the encoding."""
        return PATCH * PATCH + self.encoding


@dataclass(frozen=True, eq=False)
class Features:
    """phi for one map."""

    map: OccupancyMap
    settings: FeatureSettings

    @cached_property
    def pixel_m(self) -> float:
        """Side of a pixel of the scaled wall-distance map."""
        return max(self.map.size_m) / self.settings.resolution

    @cached_property
    def wall_distance(self) -> Field:
        """The scaled wall-distance map (rows, columns), each pixel in 0..1."""
        out = wall_distance(self.map, self.pixel_m)
        out.flags.writeable = False
        return out

    @cached_property
    def _patches(self) -> NDArray[np.float64]:
        """A view (rows + 1, columns + 1, 16, 16): the patch around each pixel."""
        padded = np.pad(self.wall_distance, PATCH // 2)
        return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, (PATCH, PATCH)))

    def places(self, points: ArrayLike) -> Vectors:
        """Patch and encoding (n, 256 + E) of positions (n, 2), before they are normalised."""
        at = as_points(points).reshape(-1, 2)
        scale = self.map.resolution_m / self.pixel_m
        rows, columns = self.wall_distance.shape
        pixel = np.floor(self.map.to_grid(at) * scale + 1e-9).astype(np.int64)
        row = np.clip(pixel[:, 1], 0, rows - 1)
        column = np.clip(pixel[:, 0], 0, columns - 1)
        patch = self._patches[row, column].reshape(len(at), PATCH * PATCH)
        return np.hstack([patch, encode(self.map, at, self.settings.encoding)])

    def phi(self, slot: int, slots: int, points: ArrayLike) -> Vectors:
        """Vectors (n, 256 + E + slots) of object number ``slot`` of ``slots`` at positions (n, 2)."""
        if not 0 <= slot < slots:
            raise ValueError(f"The object's number must lie in 0 to {slots - 1}, not {slot}.")
        place, one = normalised(self.places(points), self.settings)
        out = np.zeros((len(place), self.settings.size + slots))
        out[:, : self.settings.size] = place
        out[:, self.settings.size + slot] = one
        return out


@lru_cache(maxsize=16)
def features_of(on: OccupancyMap, settings: FeatureSettings) -> Features:
    """The features of a map; they are kept, since learners of one home share them."""
    return Features(on, settings)


def normalised(places: Vectors, settings: FeatureSettings) -> tuple[Vectors, NDArray[np.float64]]:
    """Vectors of places (n, 256 + E) and the entries (n,) of the identity, with norms 1 together."""
    if settings.normaliser == "mean-var":
        centred = places - places.mean(axis=1, keepdims=True)
        spread = centred.std(axis=1, keepdims=True)
        places = centred / np.where(spread > 1e-12, spread, 1.0)
    square = (places**2).sum(axis=1)
    if settings.identity_share is None:
        whole = places.shape[1] + 1.0 if settings.normaliser == "mean-var" else square + 1.0
        factor = one = 1.0 / np.sqrt(np.broadcast_to(whole, square.shape))
    else:
        factor = np.sqrt((1.0 - settings.identity_share) / np.where(square > 0, square, 1.0))
        one = np.full(len(places), np.sqrt(settings.identity_share))
    return places * factor[:, None], one


def wall_distance(on: OccupancyMap, pixel_m: float) -> Field:
    """Metres to the nearest obstacle as a share of the largest, at the centres of pixels of some size.

    Between cells it is interpolated linearly. All 0 on a map without obstacles.
    """
    gap = np.where(np.isfinite(on.clearance_m), on.clearance_m, 0.0)
    rows, columns = (max(1, round(side / pixel_m)) for side in on.size_m[::-1])
    share = pixel_m / on.resolution_m
    at = np.meshgrid(
        (np.arange(rows) + 0.5) * share - 0.5,
        (np.arange(columns) + 0.5) * share - 0.5,
        indexing="ij",
    )
    scaled = ndimage.map_coordinates(gap, at, order=1, mode="nearest")
    return np.asarray(scaled / max(gap.max(), 1e-12))


def encode(on: OccupancyMap, points: Points, size: int) -> Vectors:
    """The sinusoidal encoding (n, size): sin x, cos x, sin y, cos y of each wavelength, longest first."""
    at = on.to_grid(points) * on.resolution_m / max(on.size_m)
    waves = LONGEST * (SHORTEST / LONGEST) ** (np.arange(-(-size // 4)) / max(1, -(-size // 4) - 1))
    turns = 2 * np.pi * at[:, None, :] / waves[None, :, None]  # (n, wavelengths, 2)
    both = np.stack([np.sin(turns), np.cos(turns)], axis=-1)
    return both.reshape(len(at), 4 * len(waves))[:, :size]
