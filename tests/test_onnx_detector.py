"""The models are made here, with `onnx.helper`; they find what is red, so that boxes can be followed."""

import math
import sys
from dataclasses import replace

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from scenes import board, camera, frame
from sightline.detect import OnnxDetector
from sightline.detect.yolo import Letterbox, fitting_layouts, suppress
from sightline.errors import DetectError

LABELS = ("apple", "red cup", "tree")
SIZES = [(320, 240), (256, 256), (640, 640), (416, 128), (64, 320)]
LAYOUTS = ["yolov8", "yolov5", "end2end"]


def save(path, nodes, constants, output, *, size, kind=TensorProto.FLOAT, metadata=None):
    width, height = size if size is not None else ("width", "height")
    graph = helper.make_graph(
        nodes,
        "finder",
        [helper.make_tensor_value_info("images", kind, (1, 3, height, width))],
        [helper.make_tensor_value_info(output, kind, None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    helper.set_model_props(model, metadata or {})
    onnx.save(model, path)
    return path


def red_finder(path, layout="yolov8", *, size=(256, 256), metadata=None):
    """A model whose first candidate is the box of all that is red, with score 0.9, label 1.

    The second is 2 pixels beside it with score 0.8, which suppression drops unless the model has done it
    itself, the third the same box with score 0.1.
    """
    node = helper.make_node
    constants = {
        "0": np.int64([0]),
        "1": np.int64([1]),
        "2": np.int64([2]),
        "first": np.int64(0),
        "zero": np.float32(0),
        "one": np.float32(1),
        "half": np.float32(0.5),
        "shift": np.float32([[0, 0, 0, 0], [2, 0, 2, 0], [0, 0, 0, 0]]),
        "scores": np.float32([[0.9], [0.8], [0.1]]),
        "labels": np.float32([[0, 1, 0]] * 3),
        "number": np.float32([[1], [1], [1]]),
    }
    nodes = [
        node("Slice", ["images", "0", "1", "1"], ["red"]),
        node("Slice", ["images", "1", "2", "1"], ["green"]),
        node("Sub", ["red", "green"], ["redness"]),
        node("Greater", ["redness", "half"], ["is_red"]),
        node("Cast", ["is_red"], ["hot"], to=TensorProto.FLOAT),
        node("ReduceMax", ["hot"], ["any"], keepdims=0),
        node("Mul", ["scores", "any"], ["score"]),
    ]
    for axis, other in ((2, 3), (3, 2)):
        nodes += [
            node("ReduceMax", ["hot"], [f"line{axis}"], axes=[0, 1, other], keepdims=0),
            node("Shape", [f"line{axis}"], [f"shape{axis}"]),
            node("Cast", [f"shape{axis}"], [f"side{axis}"], to=TensorProto.FLOAT),
            node("Mul", [f"line{axis}", "zero"], [f"zeros{axis}"]),
            node("Add", [f"zeros{axis}", "one"], [f"ones{axis}"]),
            node("CumSum", [f"ones{axis}", "first"], [f"high{axis}"]),
            node("Sub", [f"high{axis}", "one"], [f"low{axis}"]),
            node("Mul", [f"high{axis}", f"line{axis}"], [f"highs{axis}"]),
            node("ReduceMax", [f"highs{axis}"], [f"end{axis}"], keepdims=1),
            node("Sub", [f"side{axis}", f"low{axis}"], [f"from_end{axis}"]),
            node("Mul", [f"from_end{axis}", f"line{axis}"], [f"from_ends{axis}"]),
            node("ReduceMax", [f"from_ends{axis}"], [f"most{axis}"], keepdims=1),
            node("Sub", [f"side{axis}", f"most{axis}"], [f"begin{axis}"]),
            node("Add", [f"begin{axis}", f"end{axis}"], [f"sum{axis}"]),
            node("Mul", [f"sum{axis}", "half"], [f"middle{axis}"]),
            node("Sub", [f"end{axis}", f"begin{axis}"], [f"length{axis}"]),
        ]
    corners = ["begin3", "begin2", "end3", "end2"]
    middles = ["middle3", "middle2", "length3", "length2"]
    nodes.append(node("Concat", corners if layout == "end2end" else middles, ["one_box"], axis=0))
    if layout != "end2end":  # shift the middle, keep the size
        constants["shift"][1, 2] = 0
    nodes.append(node("Add", ["shift", "one_box"], ["boxes"]))
    if layout == "yolov8":
        nodes += [
            node("Mul", ["score", "labels"], ["by_label"]),
            node("Concat", ["boxes", "by_label"], ["rows"], axis=1),
            node("Transpose", ["rows"], ["table"]),
        ]
    else:
        last = ["score", "labels" if layout == "yolov5" else "number"]
        nodes.append(node("Concat", ["boxes", *last], ["table"], axis=1))
    nodes.append(node("Unsqueeze", ["table", "0"], ["output0"]))
    return save(path, nodes, constants, "output0", size=size, metadata=metadata)


def saying(path, output, *, size=(64, 64), kind=TensorProto.FLOAT, metadata=None):
    """A model that gives the same output for every image."""
    table = np.asarray(output, dtype=helper.tensor_dtype_to_np_dtype(kind))
    nodes = [helper.make_node("Identity", ["table"], ["output0"])]
    return save(path, nodes, {"table": table}, "output0", size=size, kind=kind, metadata=metadata)


def red_thing(at=(1.5, 0.3, 1.1), width_m=0.2, height_m=0.3):
    """A frame with a red rectangle before a gray wall, and the box that it fills."""
    view = camera()
    shot = frame(view, [("red cup", board(view, at, width_m, height_m))])
    red = shot.segments == 0
    rgb = np.where(red[..., None], np.uint8([230, 20, 20]), np.uint8(90))
    rows, columns = np.nonzero(red)
    box = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
    return replace(shot, rgb=rgb, segments=None, things=()), box


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_box_comes_back_through_the_letterbox(tmp_path, layout, size):
    """Tolerance: two pixels of whichever is coarser, the image or the input."""
    shot, box = red_thing()
    finder = OnnxDetector(red_finder(tmp_path / "red.onnx", layout, size=size), LABELS)
    assert finder.layout == layout
    best, *others = finder.detect(shot)
    assert len(others) == (1 if layout == "end2end" else 0)
    pixel = max(1.0, 1 / min(size[0] / 320, size[1] / 240))
    np.testing.assert_allclose(best.box, box, atol=2 * pixel)
    assert (best.thing, best.score) == ("red cup", pytest.approx(0.9))
    if pixel < 2:
        assert math.dist(best.position, (1.5, 0.3, 1.1)) < 0.06


def test_an_input_of_any_size_follows_the_image_or_the_size_of_training(tmp_path):
    shot, box = red_thing()
    free = OnnxDetector(red_finder(tmp_path / "a.onnx", size=None), LABELS)
    np.testing.assert_allclose(free.detect(shot)[0].box, box, atol=0.01)
    trained = {"imgsz": "[128, 160]"}
    coarse = OnnxDetector(red_finder(tmp_path / "b.onnx", size=None, metadata=trained), LABELS)
    found = coarse.detect(shot)[0].box
    np.testing.assert_allclose(found, box, atol=4)
    assert (np.mod(found, 2) == 0).all()  # a pixel of the input is two of the image


def test_nothing_red_nothing_found(tmp_path):
    shot, _ = red_thing()
    finder = OnnxDetector(red_finder(tmp_path / "red.onnx"), LABELS)
    assert finder.detect(replace(shot, rgb=np.full((240, 320, 3), 90, np.uint8))) == ()


def test_boxes_are_cut_at_the_rim_of_the_image(tmp_path):
    shot, _ = red_thing()
    wide = [[[-20, -20, 400, 50, 0.9, 1], [0, 245, 300, 250, 0.9, 1]]]
    finder = OnnxDetector(saying(tmp_path / "m.onnx", wide, size=(320, 240)), LABELS)
    assert [one.box for one in finder.detect(shot)] == [(0, 0, 320, 50)]


def test_scores_and_overlap_decide_what_is_reported(tmp_path):
    shot, _ = red_thing()
    model = red_finder(tmp_path / "red.onnx")
    assert len(OnnxDetector(model, LABELS, min_score=0.95).detect(shot)) == 0
    assert len(OnnxDetector(model, LABELS, iou=1.0).detect(shot)) == 2
    assert len(OnnxDetector(model, LABELS, min_score=0.05, iou=1.0).detect(shot)) == 3


def test_a_thing_without_depth_has_no_position(tmp_path):
    shot, _ = red_thing()
    finder = OnnxDetector(red_finder(tmp_path / "red.onnx"), LABELS)
    (found,) = finder.detect(replace(shot, depth_m=np.zeros((240, 320), np.float32)))
    assert found.position is None


def test_half_floats_are_taken(tmp_path):
    shot, _ = red_thing()
    table = [[[10, 10, 30, 30, 0.5, 2]]]
    model = saying(tmp_path / "m.onnx", table, kind=TensorProto.FLOAT16)
    assert [one.thing for one in OnnxDetector(model, LABELS).detect(shot)] == ["tree"]


# --- labels and things


def test_labels_come_from_a_list_a_file_or_the_model(tmp_path):
    named = {"names": "{0: 'apple', 1: 'red cup', 2: 'tree'}"}
    model = red_finder(tmp_path / "red.onnx", metadata=named)
    (tmp_path / "labels.txt").write_text("apple\nred cup\ntree\n\n")
    (tmp_path / "list.yaml").write_text("names: [apple, red cup, tree]\n")
    (tmp_path / "data.yaml").write_text("nc: 3\nnames:\n  0: apple\n  1: red cup\n  2: tree\n")
    files = [tmp_path / name for name in ("labels.txt", "list.yaml", "data.yaml")]
    for labels in (None, list(LABELS), *files, str(files[0])):
        assert OnnxDetector(model, labels).labels == LABELS


def test_things_rename_labels_and_leave_out_the_rest(tmp_path):
    shot, _ = red_thing()
    model = red_finder(tmp_path / "red.onnx")
    renamed = OnnxDetector(model, LABELS, things={"red cup": "cup", "tree": None})
    assert [one.thing for one in renamed.detect(shot)] == ["cup"]
    for things in ({"red cup": None}, {"apple": "apple"}):
        assert OnnxDetector(model, LABELS, things=things).detect(shot) == ()
    with pytest.raises(DetectError, match="'mug', which is no label of the model; valid are apple"):
        OnnxDetector(model, LABELS, things={"mug": "cup"})


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({}, "carries no labels; give a list"),
        ({"names": "__import__('os').getcwd()"}, "must be a list of labels, not None"),
        ({"names": "["}, "must be a list of labels"),
        ({"names": "[" * 100_000}, "must be a list of labels"),
        ({"names": "{0: 'a', 2: 'b', 3: 'c'}"}, "must be numbered 0 to 2"),
        ({"names": "['a', 5, 'c']"}, "a label must be a word, not 5"),
    ],
    ids=["none", "code", "broken", "deep", "gap", "number"],
)
def test_a_model_with_bad_labels_is_refused(tmp_path, metadata, words):
    model = red_finder(tmp_path / "red.onnx", metadata=metadata)
    with pytest.raises(DetectError, match=words):
        OnnxDetector(model)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("no.txt", None, "does not exist; it should hold one label per line"),
        ("no.yaml", None, "does not exist"),
        ("labels.txt", b"\xff\xfe\x00", "cannot be read as text"),
        ("labels.txt", b"\n\n", "must be a list of labels"),
        ("labels.txt", b"a" * 1_000_001, "too long"),
        ("data.yaml", b"nc: 3", "no field names"),
        ("data.yaml", b"names: [a, b", "not valid YAML"),
        ("data.yaml", b"names: apple", "must be a list of labels, not 'apple'"),
    ],
)
def test_a_bad_file_of_labels_is_refused(tmp_path, name, content, words):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(DetectError, match=words):
        OnnxDetector(red_finder(tmp_path / "red.onnx"), tmp_path / name)


# --- models that do not fit


@pytest.mark.parametrize(
    ("labels", "shape", "words"),
    [
        (2, (1, 7, 3), r"shape \(1, 7, 3\); with 2 labels it must be \(1, 6, N\) for yolov8"),
        (80, (1, 9, 20), r"\(1, 84, N\) for yolov8, \(1, N, 85\) for yolov5, or \(1, N, 6\)"),
        (3, (7, 20), r"shape \(7, 20\)"),
        (3, (2, 7, 20), r"shape \(2, 7, 20\)"),
        (1, (1, 20, 6), "yolov5 or end2end; say which by layout="),
        (2, (1, 6, 6), "yolov8 or end2end; say which by layout="),
    ],
)
def test_an_output_of_no_or_of_two_layouts_is_refused(tmp_path, labels, shape, words):
    model = saying(tmp_path / "m.onnx", np.zeros(shape))
    with pytest.raises(DetectError, match=words):
        OnnxDetector(model, [str(number) for number in range(labels)])


def test_where_two_layouts_fit_the_user_says_which(tmp_path):
    model = saying(tmp_path / "m.onnx", [[[10, 10, 30, 30, 0.5, 0]]])
    shot, _ = red_thing()
    assert OnnxDetector(model, ["cup"], layout="end2end").detect(shot)[0].score == 0.5
    assert OnnxDetector(model, ["cup"], layout="yolov5").detect(shot) == ()
    with pytest.raises(DetectError, match=r"must be .*, and yolov8 is asked for"):
        OnnxDetector(model, ["cup"], layout="yolov8")
    with pytest.raises(ValueError, match="layout 'yolo' is unknown; valid are yolov8"):
        OnnxDetector(model, ["cup"], layout="yolo")


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ([math.nan, 0, 9, 9, 0.5, 0], "NaN or infinite"),
        ([0, 0, math.inf, 9, 0.5, 0], "NaN or infinite"),
        ([0, 0, 9, 9, 7.5, 0], "scores lie in 7.5 to 7.5, and must lie in 0 to 1"),
        ([0, 0, 9, 9, 0.5, 3], "label number 3; there are 3 labels"),
        ([0, 0, 9, 9, 0.5, -1], "label number -1"),
        ([0, 0, 9, 9, 0.5, 0.5], "label number 0.5"),
    ],
)
def test_numbers_that_cannot_be_are_refused(tmp_path, row, words):
    model = saying(tmp_path / "m.onnx", [[row]])
    with pytest.raises(DetectError, match=rf"m\.onnx cannot be used: .*{words}"):
        OnnxDetector(model, LABELS)


def test_a_model_that_fails_on_a_later_frame_says_so(tmp_path):
    """It gives 0 * log(0.5 - the brightest of the image): NaN from half brightness."""
    nodes = [
        helper.make_node("ReduceMax", ["images"], ["most"], keepdims=0),
        helper.make_node("Sub", ["half", "most"], ["room"]),
        helper.make_node("Log", ["room"], ["logarithm"]),
        helper.make_node("Mul", ["table", "logarithm"], ["output0"]),
    ]
    constants = {"table": np.zeros((1, 7, 9), np.float32), "half": np.float32(0.5)}
    model = save(tmp_path / "m.onnx", nodes, constants, "output0", size=(64, 64))
    shot, _ = red_thing()
    finder = OnnxDetector(model, LABELS)
    assert finder.detect(replace(shot, rgb=np.zeros((240, 320, 3), np.uint8))) == ()
    with pytest.raises(DetectError, match=r"m\.onnx failed on a frame: .*NaN or infinite"):
        finder.detect(shot)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "is not a file; an ONNX model is needed"),
        (b"this is a text, and no model\n" * 5, "cannot be read as an ONNX model"),
        (b"", "cannot be read as an ONNX model"),
    ],
    ids=["missing", "text", "empty"],
)
def test_a_file_that_is_no_model_is_refused_in_one_line(tmp_path, content, words):
    path = tmp_path / "model.onnx"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DetectError, match=words) as refused:
        OnnxDetector(path, LABELS)
    assert "\n" not in str(refused.value)
    assert str(path) in str(refused.value)


def test_a_damaged_model_is_refused(tmp_path):
    path = red_finder(tmp_path / "red.onnx")
    path.write_bytes(path.read_bytes()[:-300])
    with pytest.raises(DetectError, match="cannot be read as an ONNX model"):
        OnnxDetector(path, LABELS)


@pytest.mark.parametrize(
    ("shape", "kind", "words"),
    [
        ((1, 3, 64), TensorProto.FLOAT, "must have one input of floats"),
        ((1, 3, 64, 64), TensorProto.UINT8, "must have one input of floats"),
        ((1, 1, 64, 64), TensorProto.FLOAT, r"must have an input \(1, 3, height, width\)"),
        ((8, 3, 64, 64), TensorProto.FLOAT, r"must have an input \(1, 3, height, width\)"),
        ((1, 3, 64, 50_000), TensorProto.FLOAT, "50000 x 64 pixels; valid are sides of 1 to 4096"),
    ],
)
def test_an_input_that_is_no_image_is_refused(tmp_path, shape, kind, words):
    path = tmp_path / "m.onnx"
    graph = helper.make_graph(
        [helper.make_node("Identity", ["images"], ["output0"])],
        "copy",
        [helper.make_tensor_value_info("images", kind, shape)],
        [helper.make_tensor_value_info("output0", kind, shape)],
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path
    )
    with pytest.raises(DetectError, match=words):
        OnnxDetector(path, LABELS)


def test_without_onnxruntime_the_message_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(DetectError, match=r"pip install 'sightline\[onnx\]'"):
        OnnxDetector(tmp_path / "any.onnx", LABELS)


@pytest.mark.parametrize(("field", "value"), [("min_score", 1.5), ("iou", -0.1), ("threads", 0)])
def test_settings_that_cannot_be_are_refused(tmp_path, field, value):
    with pytest.raises(ValueError, match=field):
        OnnxDetector(tmp_path / "any.onnx", LABELS, **{field: value})


# --- the parts


@given(*[st.integers(1, 2000)] * 2, *[st.integers(1, 700)] * 2)
def test_the_letterbox_fits_and_its_rim_is_the_rim_of_the_image(width, height, across, down):
    box = Letterbox.fit((width, height), (across, down))
    assert 1 <= box.scaled_px[0] <= across
    assert 1 <= box.scaled_px[1] <= down
    assert box.scaled_px[0] == across or box.scaled_px[1] == down
    rim = np.array([[*box.offset_px, *np.add(box.offset_px, box.scaled_px)]], dtype=np.float64)
    np.testing.assert_allclose(box.to_image(rim), [[0, 0, width, height]])


@given(st.integers(1, 200), st.integers(7, 9000))
def test_each_layout_is_known_by_its_shape(labels, candidates):
    assert "yolov8" in fitting_layouts((1, 4 + labels, candidates), labels)
    assert "yolov5" in fitting_layouts((1, candidates, 5 + labels), labels)
    assert "end2end" in fitting_layouts((1, candidates, 6), labels)


def overlap(a, b):
    """Intersection over union of two boxes, written out."""
    width = max(0.0, min(a[2], b[2]) - max(a[0], b[0]))
    height = max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - width * height
    return width * height / union


@given(st.integers(0, 2**32 - 1), st.floats(0.05, 0.95))
def test_suppression_equals_the_obvious_loop(seed, iou):
    rng = np.random.default_rng(seed)
    corner = rng.uniform(0, 20, (30, 2))
    boxes = np.hstack([corner, corner + rng.uniform(1, 15, (30, 2))])
    numbers = rng.integers(0, 3, 30)
    kept = []
    for i in range(30):
        if all(numbers[i] != numbers[j] or overlap(boxes[i], boxes[j]) <= iou for j in kept):
            kept.append(i)
    assert suppress(boxes, numbers, iou).tolist() == kept
