"""Detectors: from what the camera shows to things and where they lie."""

from sightline.detect.camera import Camera
from sightline.detect.depth import locate
from sightline.detect.onnx import OnnxDetector
from sightline.detect.protocol import Detection, Detector, Frame
from sightline.detect.simulated import SimulatedDetector

__all__ = [
    "Camera",
    "Detection",
    "Detector",
    "Frame",
    "OnnxDetector",
    "SimulatedDetector",
    "locate",
]
