"""What every detector is: it takes what the camera shows, and says which things lie where."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sightline.detect.camera import Camera, Point3

Box = tuple[float, float, float, float]  # pixels: left, top, right, bottom; half-open


@dataclass(frozen=True, eq=False)
class Frame:
    """What an RGB-D camera shows at one moment, with the pose that it had then.

    ``rgb`` (height, width, 3) is uint8; ``depth_m`` (height, width) float32 is measured along the optical
    axis. Depths that are not finite or not above 0 mean that nothing was measured. ``segments``
    (height, width) int32 is known in simulation only: which of ``things`` each pixel shows, -1 for
    everything else. ``things`` has one entry per object, and the same in all frames of an episode; names
    may repeat. All arrays are read-only copies.
    """

    rgb: NDArray[np.uint8]
    depth_m: NDArray[np.float32]
    camera: Camera
    segments: NDArray[np.int32] | None = None
    things: tuple[str, ...] = ()
    time_s: float = 0.0

    def __post_init__(self) -> None:
        shape = (self.camera.height, self.camera.width)
        self._keep("rgb", np.dtype(np.uint8), (*shape, 3))
        self._keep("depth_m", np.dtype(np.float32), shape)
        object.__setattr__(self, "things", tuple(self.things))
        if self.segments is None:
            return
        self._keep("segments", np.dtype(np.int32), shape)
        least, most = int(self.segments.min()), int(self.segments.max())
        if least < -1 or most >= len(self.things):
            raise ValueError(
                f"segments must lie in -1 to {len(self.things) - 1}, one for each of the "
                f"{len(self.things)} things, not {least} to {most}."
            )

    def _keep(self, name: str, dtype: np.dtype[np.generic], shape: tuple[int, ...]) -> None:
        given = np.asarray(getattr(self, name))
        if given.shape != shape or not np.can_cast(given.dtype, dtype, casting="same_kind"):
            raise ValueError(
                f"{name} must be {dtype} of shape {shape}, as the camera says, "
                f"not {given.dtype} of shape {given.shape}."
            )
        kept = given.astype(dtype)
        kept.flags.writeable = False
        object.__setattr__(self, name, kept)


@dataclass(frozen=True)
class Detection:
    """One thing that a detector takes to be in a frame.

    ``score`` in 0 to 1 says how sure the detector is; it need not be a calibrated chance. ``position`` is
    where the thing lies in the map frame, from the depth; None where no depth was measured.
    """

    thing: str
    score: float
    box: Box
    position: Point3 | None = None


class Detector(Protocol):
    """Finds things in what a camera shows."""

    def detect(self, frame: Frame) -> tuple[Detection, ...]:
        """What is taken to be in the frame, the best score first."""
