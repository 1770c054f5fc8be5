import json
from pathlib import Path

import numpy as np
import pytest

from sightline.cli import main
from sightline.errors import PlanError
from sightline.plan.tsplib import read_travel, read_weights


def tsp(name="case.tsp", **fields):
    """A TSPLIB file from header fields and, in capitals ending in SECTION, sections."""
    lines = [f"{key} : {value}" for key, value in fields.items() if not key.endswith("SECTION")]
    for key, value in fields.items():
        if key.endswith("SECTION"):
            lines += [key, str(value)]
    path = Path(name)
    path.write_text("\n".join([*lines, "EOF"]))
    return path


def coordinates(rule, *places):
    rows = "\n".join(f"{i} {x} {y}" for i, (x, y) in enumerate(places, start=1))
    return tsp(DIMENSION=len(places), EDGE_WEIGHT_TYPE=rule, NODE_COORD_SECTION=rows)


@pytest.mark.parametrize(
    ("rule", "distance"),
    [("EUC_2D", 4), ("CEIL_2D", 4), ("MAN_2D", 5), ("ATT", 2)],
)
def test_metrics_round_as_tsplib_says(rule, distance):
    """The points are (0, 0) and (3, 2): 3.61 apart, 5 by blocks, 1.14 pseudo-Euclidean."""
    assert read_travel(coordinates(rule, (0, 0), (3, 2)))[0, 1] == distance


def test_geographic_distances_are_kilometres():
    """TSPLIB's documentation: from DDD.MM, a degree of latitude is 111.3 km, rounded down after + 1."""
    travel = read_travel(coordinates("GEO", (10.0, 20.0), (11.0, 20.0), (10.30, 20.0)))
    assert travel[0, 1] == 112
    assert travel[0, 2] == 56


FULL = [[0, 1, 2], [1, 0, 3], [2, 3, 0]]


@pytest.mark.parametrize(
    ("layout", "numbers"),
    [
        ("FULL_MATRIX", "0 1 2 1 0 3 2 3 0"),
        ("UPPER_ROW", "1 2 3"),
        ("UPPER_DIAG_ROW", "0 1 2 0 3 0"),
        ("LOWER_ROW", "1\n2 3"),
        ("LOWER_DIAG_ROW", "0 1 0 2 3 0"),
    ],
)
def test_explicit_layouts(layout, numbers):
    path = tsp(
        DIMENSION=3,
        EDGE_WEIGHT_TYPE="EXPLICIT",
        EDGE_WEIGHT_FORMAT=layout,
        EDGE_WEIGHT_SECTION=numbers,
    )
    assert read_travel(path).tolist() == FULL


def test_an_asymmetric_full_matrix_stays_asymmetric():
    path = tsp(
        DIMENSION=2,
        EDGE_WEIGHT_TYPE="EXPLICIT",
        EDGE_WEIGHT_FORMAT="FULL_MATRIX",
        EDGE_WEIGHT_SECTION="0 1 2 0",
    )
    assert read_travel(path).tolist() == [[0, 1], [2, 0]]


def test_a_csv_matrix_and_its_weights():
    Path("m.csv").write_text("0,1.5\n1.5;0\n\n")
    Path("w.csv").write_text("0\n2\n")
    assert read_travel(Path("m.csv")).tolist() == [[0, 1.5], [1.5, 0]]
    assert read_weights(Path("w.csv"), 2).tolist() == [0, 2]


COORDINATES = {"NODE_COORD_SECTION": "1 0 0\n2 1 1"}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"EDGE_WEIGHT_TYPE": "EUC_2D", **COORDINATES}, "DIMENSION"),
        ({"DIMENSION": "10**9", "EDGE_WEIGHT_TYPE": "EUC_2D", **COORDINATES}, "DIMENSION"),
        ({"DIMENSION": 2, "EDGE_WEIGHT_TYPE": "XRAY1", **COORDINATES}, "XRAY1"),
        ({"DIMENSION": 3, "EDGE_WEIGHT_TYPE": "EUC_2D", **COORDINATES}, "9 numbers, not 6"),
        (
            {"DIMENSION": 2, "EDGE_WEIGHT_TYPE": "EUC_2D", "NODE_COORD_SECTION": "1 a 0\n2 1 1"},
            "'a'",
        ),
        (
            {"DIMENSION": 2, "EDGE_WEIGHT_TYPE": "EXPLICIT", "EDGE_WEIGHT_FORMAT": "FUNCTION"},
            "FUNCTION",
        ),
        (
            {
                "DIMENSION": 2,
                "EDGE_WEIGHT_TYPE": "EXPLICIT",
                "EDGE_WEIGHT_FORMAT": "UPPER_ROW",
                "EDGE_WEIGHT_SECTION": "1 2",
            },
            "1 numbers, not 2",
        ),
    ],
)
def test_a_bad_tsplib_file_gives_one_sentence(fields, words):
    with pytest.raises(PlanError) as caught:
        read_travel(tsp(**fields))
    assert words in str(caught.value)
    assert str(caught.value).startswith("case.tsp: ")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0,1\n1", "equal length"),
        ("0,x\nx,0", "numbers"),
        ("0,1,2\n1,0,2", "square"),
        ("0,-1\n1,0", "-1"),
        ("0,nan\n1,0", "nan"),
        ("", "equal length"),
    ],
)
def test_a_bad_csv_gives_one_sentence(text, words):
    Path("m.csv").write_text(text)
    with pytest.raises(PlanError, match=words):
        read_travel(Path("m.csv"))


def run(capsys, *words):
    try:
        main(list(words))
        code = 0
    except SystemExit as stop:
        code = stop.code or 0
    return code, *capsys.readouterr()


@pytest.fixture
def line(tmp_path):
    """Four points on a line at 0, 1, 3 and -1: the best way takes -1, then 1, then 3."""
    at = np.array([0.0, 1.0, 3.0, -1.0])
    Path("line.csv").write_text("\n".join(",".join(map(str, abs(at - p))) for p in at))
    Path("w.csv").write_text("0,10,1,10")
    return "line.csv"


def test_solve_prints_the_order_and_its_proof(capsys, line):
    code, out, _ = run(capsys, "solve", line, "--weights", "w.csv", "--prove")
    assert code == 0
    assert "cost     45, proven optimal" in out
    assert "order    0 3 1 2" in out


def test_solve_json_holds_everything(capsys, line):
    _, out, _ = run(capsys, "solve", line, "--weights", "w.csv", "--prove", "--json")
    facts = json.loads(out)
    assert facts["order"] == [0, 3, 1, 2]
    assert facts["cost"] == pytest.approx(45)
    assert facts["optimal"] is True
    assert facts["gap"] == 0


def test_solve_circuit_counts_the_way_back(capsys, line):
    _, out, _ = run(capsys, "solve", line, "--circuit", "--prove", "--json")
    facts = json.loads(out)
    assert facts["optimal"]
    # unit weights: 1 at 1, 3 at 3, -1 at 7, back at 8, or -1 at 1, 1 at 3, 3 at 5, back at 8
    assert facts["cost"] == pytest.approx(17)


def test_solve_names_what_cannot_be_reached(capsys):
    Path("m.csv").write_text("0,1,inf\n1,0,inf\ninf,inf,0")
    _, out, _ = run(capsys, "solve", "m.csv")
    assert "left out 2" in out


@pytest.mark.parametrize(
    "words", [("gone.tsp",), ("line.csv", "--weights", "gone.csv"), ("line.csv", "--start", "9")]
)
def test_solve_with_bad_input_prints_one_line_and_exits_2(capsys, line, words):
    code, _, err = run(capsys, "solve", *words)
    assert code == 2
    assert err.startswith("sightline: ")
    assert err.count("\n") == 1
