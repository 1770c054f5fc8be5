"""Detectors: from what the camera shows to things and where they lie."""

from sightline.detect.camera import Camera
from sightline.detect.depth import locate
from sightline.detect.protocol import Detection, Detector, Frame

__all__ = ["Camera", "Detection", "Detector", "Frame", "locate"]
