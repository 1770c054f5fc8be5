"""Detectors for tests of worlds: one that never errs, and one that sees what is not there."""

import numpy as np

from sightline.detect import Detection, Frame
from sightline.detect.depth import locate


class Perfect:
    """Reports every object of which 20 pixels or more are in the picture."""

    def detect(self, frame: Frame) -> tuple[Detection, ...]:
        out = []
        for number, name in enumerate(frame.things):
            mask = frame.segments == number
            if mask.sum() >= 20:
                rows, columns = np.nonzero(mask)
                box = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
                out.append(Detection(name, 0.9, tuple(map(float, box)), locate(frame, mask)))
        return tuple(out)


class Deluded:
    """Reports an object at a point wherever the camera stands within a metre of some place."""

    def __init__(
        self, thing: str, at: tuple[float, float], *, seen_from: tuple[float, float]
    ) -> None:
        self.thing, self.at, self.seen_from = thing, at, seen_from

    def detect(self, frame: Frame) -> tuple[Detection, ...]:
        x, y, _ = frame.camera.position
        if np.hypot(x - self.seen_from[0], y - self.seen_from[1]) > 1.0:
            return ()
        return (Detection(self.thing, 0.8, (0.0, 0.0, 9.0, 9.0), (*self.at, 0.8)),)
