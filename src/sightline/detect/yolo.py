"""What YOLO-style models take and give: letterboxed images, and three layouts of boxes.

=========== ============== ============================================= =====================
layout      output         of each of the N candidates                   suppression
=========== ============== ============================================= =====================
``yolov8``  (1, 4 + C, N)  x, y, w, h, one score per label               here
``yolov5``  (1, N, 5 + C)  x, y, w, h, objectness, one score per label   here
``end2end`` (1, N, 6)      left, top, right, bottom, score, label number in the model
=========== ============== ============================================= =====================

x, y are the middle of the box; all are pixels of the model's input. C is the number of labels.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sightline.errors import DetectError

Layout = Literal["yolov8", "yolov5", "end2end"]
Floats = NDArray[np.float64]

GRAY = 114  # what YOLO models are trained to take for "no image here"
MOST_CANDIDATES = 1000  # the best of them; suppression compares each with each
SCORE_SLACK = 1e-3


@dataclass(frozen=True)
class Letterbox:
    """An image of ``image_px`` scaled to ``scaled_px``, ``offset_px`` from the corner of the input.

    All are (width, height) in pixels.
    """

    image_px: tuple[int, int]
    scaled_px: tuple[int, int]
    offset_px: tuple[int, int]

    @classmethod
    def fit(cls, image_px: tuple[int, int], input_px: tuple[int, int]) -> "Letterbox":
        """The largest image of the same proportions in the middle of the input."""
        scale = min(input_px[0] / image_px[0], input_px[1] / image_px[1])
        width, height = (max(1, round(side * scale)) for side in image_px)
        offset = (input_px[0] - width) // 2, (input_px[1] - height) // 2
        return cls(image_px, (width, height), offset)

    def to_image(self, boxes: Floats) -> Floats:
        """Boxes (n, 4) of the model's input in pixels of the image, cut at its rim."""
        scale = np.divide(self.image_px, self.scaled_px)
        out = (boxes - np.tile(self.offset_px, 2)) * np.tile(scale, 2)
        inside: Floats = np.clip(out, 0.0, np.tile(self.image_px, 2))
        return inside


def letterboxed(
    rgb: NDArray[np.uint8], input_px: tuple[int, int]
) -> tuple[NDArray[np.float32], Letterbox]:
    """An image (rows, columns, 3) as a model takes it: (1, 3, height, width) in 0 to 1."""
    box = Letterbox.fit((rgb.shape[1], rgb.shape[0]), input_px)
    image = Image.fromarray(rgb)
    if box.scaled_px != box.image_px:
        image = image.resize(box.scaled_px, Image.Resampling.BILINEAR)
    canvas = np.full((input_px[1], input_px[0], 3), GRAY, dtype=np.uint8)
    (left, top), (width, height) = box.offset_px, box.scaled_px
    canvas[top : top + height, left : left + width] = np.asarray(image)
    return (canvas.transpose(2, 0, 1)[None] / np.float32(255)).astype(np.float32), box


def fitting_layouts(shape: tuple[int, ...], labels: int) -> tuple[Layout, ...]:
    """The layouts that an output of this shape can have, with this number of labels."""
    if len(shape) != 3 or shape[0] != 1:
        return ()
    fits: dict[Layout, bool] = {
        "yolov8": shape[1] == 4 + labels,
        "yolov5": shape[2] == 5 + labels,
        "end2end": shape[2] == 6,
    }
    return tuple(layout for layout, fit in fits.items() if fit)


def layout_of(shape: tuple[int, ...], labels: int, asked: Layout | None = None) -> Layout:
    """The layout of an output; an error if there is none, or more than one and none is asked for."""
    if asked is not None and asked not in get_args(Layout):
        raise ValueError(f"layout {asked!r} is unknown; valid are {', '.join(get_args(Layout))}.")
    fits = fitting_layouts(shape, labels)
    if asked in fits or (asked is None and len(fits) == 1):
        return asked or fits[0]
    if asked is None and fits:
        raise DetectError(
            f"an output of shape {shape} with {labels} labels can be {' or '.join(fits)}; "
            "say which by layout=."
        )
    raise DetectError(
        f"its output has shape {shape}; with {labels} labels it must be (1, {4 + labels}, N) for "
        f"yolov8, (1, N, {5 + labels}) for yolov5, or (1, N, 6) for end2end"
        + (f", and {asked} is asked for." if asked is not None and fits else ".")
    )


def decode(
    output: Floats, layout: Layout, labels: int, *, min_score: float, iou: float
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Boxes (n, 4) left, top, right, bottom in pixels of the input, scores (n,), label numbers (n,).

    ``output`` is (1, rows, columns), of a shape that fits the layout. Best score first.
    """
    if not np.isfinite(output).all():
        raise DetectError("its output has NaN or infinite numbers.")
    rows = output[0].T if layout == "yolov8" else output[0]
    boxes, scores, numbers = _parted(rows, layout)
    if len(scores) and not -SCORE_SLACK <= scores.min() <= scores.max() <= 1 + SCORE_SLACK:
        raise DetectError(
            f"its scores lie in {scores.min():.3g} to {scores.max():.3g}, and must lie in 0 to 1: "
            f"it has no last sigmoid, or another layout than {layout}."
        )
    good = np.flatnonzero(scores >= min_score)
    good = good[np.argsort(-scores[good], kind="stable")][:MOST_CANDIDATES]
    boxes, scores, numbers = boxes[good], np.clip(scores[good], 0, 1), numbers[good]
    whole = numbers.astype(np.int64)
    if (whole != numbers).any() or (len(whole) and not 0 <= whole.min() <= whole.max() < labels):
        odd = numbers[(whole != numbers) | (whole < 0) | (whole >= labels)][0]
        raise DetectError(f"it gives label number {odd:g}; there are {labels} labels, from 0.")
    if layout == "end2end":
        return boxes, scores, whole
    kept = suppress(boxes, whole, iou)
    return boxes[kept], scores[kept], whole[kept]


def _parted(rows: Floats, layout: Layout) -> tuple[Floats, Floats, Floats]:
    """Boxes with corners, the best score and its label number, of candidates (n, columns)."""
    if layout == "end2end":
        return rows[:, :4], rows[:, 4], rows[:, 5]
    half = rows[:, 2:4] / 2
    boxes = np.hstack([rows[:, :2] - half, rows[:, :2] + half])
    by_label = rows[:, 4:] if layout == "yolov8" else rows[:, 4:5] * rows[:, 5:]
    numbers = by_label.argmax(axis=1)
    return boxes, by_label[np.arange(len(rows)), numbers], numbers.astype(np.float64)


def suppress(boxes: Floats, numbers: NDArray[np.int64], iou: float) -> NDArray[np.int64]:
    """Which boxes (n, 4), best first, to keep: those that overlap no better one of their label by more.

    Overlap is intersection over union.
    """
    area = np.prod(np.maximum(boxes[:, 2:] - boxes[:, :2], 0), axis=1)
    kept: list[int] = []
    left = np.arange(len(boxes))
    while len(left):
        best, left = left[0], left[1:]
        kept.append(int(best))
        low = np.maximum(boxes[best, :2], boxes[left, :2])
        high = np.minimum(boxes[best, 2:], boxes[left, 2:])
        common = np.prod(np.maximum(high - low, 0), axis=1)
        # common > iou * union, without a division by the area of an empty box
        same = (numbers[left] == numbers[best]) & (
            common > iou * (area[best] + area[left] - common)
        )
        left = left[~same]
    return np.array(kept, dtype=np.int64)
