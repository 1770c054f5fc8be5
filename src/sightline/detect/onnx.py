"""A detector that runs a YOLO-style ONNX model on the CPU. Needs the extra ``sightline[onnx]``."""

import ast
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.detect.depth import locate
from sightline.detect.protocol import Detection, Frame
from sightline.detect.yolo import Floats, Layout, Letterbox, decode, layout_of, letterboxed
from sightline.errors import DetectError
from sightline.mapfile import MAX_YAML_BYTES, quoted, read_yaml, shorten

INPUT_TYPES: dict[str, np.dtype[Any]] = {
    "tensor(float)": np.dtype(np.float32),
    "tensor(float16)": np.dtype(np.float16),
}
STRIDE_PX = 32  # sides of the input of a YOLO model are multiples of this
SIDES_PX = (1, 4096)
QUIET = 3  # of onnxruntime: errors only
Labels = Sequence[str] | str | PathLike[str] | None


class OnnxDetector:
    """Finds what a YOLO-style model finds; the depth says where it lies.

    ``labels`` are the names of the model's classes in their order; or a text file with one per line, or a
    YAML file with ``names``; or None, if the model carries them (Ultralytics writes them into its
    metadata). ``things`` maps labels to the names that the search uses; labels that are missing in it or
    map to None are not reported. Without it all labels are reported as they are.

    Candidates below ``min_score`` are dropped, and so are those that overlap a better one of the same
    label by more than ``iou``. The layout of the output is recognised by its shape; ``layout`` says which
    it is where two fit. ``threads`` is how many cores one frame may use.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        labels: Labels = None,
        *,
        min_score: float = 0.25,
        iou: float = 0.45,
        things: Mapping[str, str | None] | None = None,
        layout: Layout | None = None,
        threads: int = 1,
    ) -> None:
        for name, share in (("min_score", min_score), ("iou", iou)):
            if not 0 <= share <= 1:
                raise ValueError(f"{name} must lie in 0 to 1, not {share}.")
        if threads < 1:
            raise ValueError(f"threads must be at least 1, not {threads}.")
        self.path = Path(path)
        self.min_score = min_score
        self.iou = iou
        self._session = _open(self.path, threads)
        metadata = self._session.get_modelmeta().custom_metadata_map
        self.labels = _read_labels(labels, metadata, self.path)
        self._things = _names(self.labels, things)
        self._input, self._type, self._size_px = _input_of(self._session, metadata, self.path)
        # a blank image now, so that a model that does not fit is refused before the robot drives
        blank, letterbox = letterboxed(
            np.zeros((96, 128, 3), dtype=np.uint8), self._input_px(128, 96)
        )
        try:
            self.layout = layout_of(self._run(blank).shape, len(self.labels), layout)
            self._candidates(blank, letterbox)
        except DetectError as reason:
            raise DetectError(f"{self.path} cannot be used: {reason}") from None

    def detect(self, frame: Frame) -> tuple[Detection, ...]:
        """What the model finds in the frame, the best score first."""
        camera = frame.camera
        image, letterbox = letterboxed(frame.rgb, self._input_px(camera.width, camera.height))
        try:
            boxes, scores, numbers = self._candidates(image, letterbox)
        except DetectError as reason:
            raise DetectError(f"{self.path} failed on a frame: {reason}") from None
        found = []
        for (left, top, right, bottom), score, number in zip(
            boxes.tolist(), scores.tolist(), numbers.tolist(), strict=True
        ):
            thing = self._things[number]
            if thing is not None and left < right and top < bottom:
                box = left, top, right, bottom
                found.append(Detection(thing, score, box, locate(frame, box)))
        return tuple(found)

    def _candidates(
        self, image: NDArray[np.float32], letterbox: Letterbox
    ) -> tuple[Floats, Floats, NDArray[np.int64]]:
        """Boxes (n, 4) in pixels of the frame, scores (n,) and label numbers (n,)."""
        output = self._run(image)
        layout_of(output.shape, len(self.labels), self.layout)
        boxes, scores, numbers = decode(
            output, self.layout, len(self.labels), min_score=self.min_score, iou=self.iou
        )
        return letterbox.to_image(boxes), scores, numbers

    def _run(self, image: NDArray[np.float32]) -> Floats:
        """The first output of the model for an image (1, 3, height, width)."""
        try:
            output = self._session.run(None, {self._input: image.astype(self._type)})[0]
        except Exception as reason:  # those of onnxruntime have no other base
            raise DetectError(f"it does not run: {_one_line(reason)}") from None
        if not isinstance(output, np.ndarray) or not np.issubdtype(output.dtype, np.number):
            raise DetectError("its first output is not an array of numbers.")
        return output.astype(np.float64)

    def _input_px(self, width: int, height: int) -> tuple[int, int]:
        """Width and height of the input for an image of this size."""
        fixed_width, fixed_height = self._size_px
        return (
            fixed_width or -(-width // STRIDE_PX) * STRIDE_PX,
            fixed_height or -(-height // STRIDE_PX) * STRIDE_PX,
        )


def _open(path: Path, threads: int) -> Any:
    """An onnxruntime session that is quiet and keeps to the CPU."""
    try:
        import onnxruntime
    except ImportError:
        raise DetectError("ONNX models need onnxruntime: pip install 'sightline[onnx]'.") from None
    if not path.is_file():
        raise DetectError(f"{path} is not a file; an ONNX model is needed.")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = QUIET
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as reason:  # those of onnxruntime have no other base
        raise DetectError(f"{path} cannot be read as an ONNX model: {_one_line(reason)}") from None


def _input_of(
    session: Any, metadata: Mapping[str, str], path: Path
) -> tuple[str, np.dtype[Any], tuple[int, int]]:
    """Name, number type, and (width, height) of the input; a side of 0 follows the image."""
    inputs = session.get_inputs()
    shape, kind = inputs[0].shape, inputs[0].type
    if len(inputs) != 1 or len(shape) != 4 or kind not in INPUT_TYPES:
        given = ", ".join(f"{one.name} {one.type} {one.shape}" for one in inputs)
        raise DetectError(
            f"{path} must have one input of floats (1, 3, height, width), not {shorten(given)}."
        )
    batch, channels, height, width = (side if isinstance(side, int) else 0 for side in shape)
    if batch not in (0, 1) or channels not in (0, 3):
        raise DetectError(f"{path} must have an input (1, 3, height, width), not {shape}.")
    trained = _literal(metadata.get("imgsz", ""))
    if isinstance(trained, list) and len(trained) == 2:
        sides = [side if isinstance(side, int) else 0 for side in trained]
        height, width = height or sides[0], width or sides[1]
    for side in (width, height):
        if side and not SIDES_PX[0] <= side <= SIDES_PX[1]:
            raise DetectError(
                f"{path} has an input of {width} x {height} pixels; valid are sides of "
                f"{SIDES_PX[0]} to {SIDES_PX[1]}."
            )
    return inputs[0].name, INPUT_TYPES[kind], (width, height)


def _read_labels(labels: Labels, metadata: Mapping[str, str], path: Path) -> tuple[str, ...]:
    """The label of each class."""
    source = "labels"
    names: object = labels
    if labels is None:
        source = f"the metadata of {path}"
        if "names" not in metadata:
            raise DetectError(f"{path} carries no labels; give a list of them, or a file.")
        names = _literal(metadata["names"])
    elif isinstance(labels, str | PathLike):
        source = str(Path(labels))
        names = _labels_of_file(Path(labels))
    if isinstance(names, Mapping):
        if sorted(names, key=str) != sorted(range(len(names)), key=str):
            raise DetectError(f"{source}: names must be numbered 0 to {len(names) - 1}.")
        names = [names[number] for number in range(len(names))]
    if not isinstance(names, Sequence) or isinstance(names, str) or not names:
        raise DetectError(f"{source} must be a list of labels, not {quoted(names)}.")
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise DetectError(f"{source}: a label must be a word, not {quoted(name)}.")
    return tuple(names)


def _labels_of_file(path: Path) -> object:
    """One label per line; in a YAML file, what stands under ``names``."""
    if path.suffix.lower() in (".yaml", ".yml"):
        content = read_yaml(path, DetectError)
        if "names" not in content:
            raise DetectError(f"{path} has no field names, under which the labels stand.")
        return content["names"]
    try:
        if path.stat().st_size > MAX_YAML_BYTES:
            raise DetectError(f"{path} is too long for a list of labels.")
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DetectError(f"{path} does not exist; it should hold one label per line.") from None
    except (OSError, UnicodeDecodeError) as reason:
        raise DetectError(f"{path} cannot be read as text: {_one_line(reason)}.") from None
    return [line.strip() for line in text.strip().splitlines()]


def _literal(text: str) -> object:
    """A Python literal, as Ultralytics writes into metadata; None if it is none."""
    if len(text) > MAX_YAML_BYTES:
        return None
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _names(
    labels: Sequence[str], things: Mapping[str, str | None] | None
) -> tuple[str | None, ...]:
    """What each label is reported as; None if it is not."""
    if things is None:
        return tuple(labels)
    odd = sorted(set(things) - set(labels))
    if odd:
        raise DetectError(
            f"things names {odd[0]!r}, which is no label of the model; valid are "
            f"{shorten(', '.join(labels), 400)}."
        )
    return tuple(things.get(label) for label in labels)


def _one_line(reason: Exception) -> str:
    """What went wrong, without the path that onnxruntime puts before it."""
    text = " ".join(str(reason).split())
    return shorten(text.rpartition(" failed:")[2], 200)
