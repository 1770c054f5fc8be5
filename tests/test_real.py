"""The protocol ``real``: why searches fail, what their rows come to, and a run that goes on."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from sightline.records import Episode, Outcome, Query
from sightline.reproduce import real
from sightline.reproduce.real import FAILURES, METHODS, OURS, Setting

SMALL = Setting(points=8, training_episodes=6, episodes=1, boxes=0, budget_m=20.0)


def episode(outcome: Outcome, position: tuple[float, float] | None = None) -> Episode:
    return Episode(Query("cup", (0.0, 0.0)), np.zeros((1, 2)), (), outcome, position)


def world(**facts: Any) -> Any:
    """What ``failure_of`` asks of a world; the cup lies at (1, 1)."""
    truth = {"sighted": {"cup": 0}, "in_view": {"cup": 0}, "blocked": 0} | facts
    return SimpleNamespace(
        truth=SimpleNamespace(**truth),
        is_at=lambda thing, position: position == (1.0, 1.0),
        in_grasp=lambda thing: facts.get("near", True),
    )


@pytest.mark.parametrize(
    ("outcome", "position", "facts", "failure"),
    [
        (Outcome.FOUND, (1.0, 1.0), {}, None),
        (Outcome.FOUND, (3.0, 1.0), {}, "mistaken"),
        (Outcome.FOUND, (1.0, 1.0), {"near": False}, "seen but not reached"),
        (Outcome.OUT_OF_BUDGET, None, {}, "out of budget"),
        (Outcome.OUT_OF_BUDGET, None, {"sighted": {"cup": 1}}, "seen but not reached"),
        (Outcome.OUT_OF_BUDGET, None, {"in_view": {"cup": 3}}, "not seen though in view"),
        (Outcome.UNREACHABLE, (1.0, 1.0), {}, "blocked"),
        (Outcome.NOT_FOUND, None, {"sighted": {"cup": 2}, "in_view": {"cup": 5}}, "seen but not reached"),
        (Outcome.NOT_FOUND, None, {"in_view": {"cup": 5}, "blocked": 1}, "not seen though in view"),
        (Outcome.NOT_FOUND, None, {"blocked": 1}, "blocked"),
        (Outcome.NOT_FOUND, None, {}, "never in view"),
    ],
)  # fmt: skip
def test_every_failure_has_one_reason(
    outcome: Outcome, position: tuple[float, float] | None, facts: Any, failure: str | None
) -> None:
    found = real.failure_of("cup", episode(outcome, position), world(**facts))
    assert found == failure
    assert found is None or found in FAILURES


def row(failure: str | None, least: float | None, driven: float) -> real.Row:
    return {
        "failure": failure, "l": least, "p": driven, "driven": driven + 1, "seconds": 10.0,
        "collisions": 0, "worst_error": 0.01, "wall_s": 1.0,
    }  # fmt: skip


def test_rows_come_to_means_over_seeds() -> None:
    rows = [
        [row(None, 2.0, 4.0), row("blocked", 1.0, 3.0)],  # SPL 0.5 and 0
        [row(None, 0.0, 0.0), row(None, 3.0, 3.0)],  # SPL 1 and 1
        [row("mistaken", 5.0, 9.0), row("mistaken", None, 9.0)],
    ]
    found = real.summary(rows)
    assert found.episodes == 6
    assert found.success.mean == pytest.approx(0.5)
    assert found.spl.mean == pytest.approx((0.25 + 1.0 + 0.0) / 3)
    assert found.spl.low <= found.spl.mean <= found.spl.high
    assert found.driven_m.mean == pytest.approx(np.mean([5, 4, 1, 4, 10, 10]))
    assert found.failures == {"blocked": 1, "mistaken": 2}


def test_the_page_has_every_method_failure_and_the_rule() -> None:
    rows = {name: [[row(None, 2.0, 4.0)], [row("blocked", 2.0, 4.0)]] for name in METHODS}
    page = real.page(Setting(), rows)
    for wanted in (
        *METHODS,
        *FAILURES,
        "within grasp range",
        "(0.92)",
        f"{OURS} against TSP: +0.000",
    ):
        assert wanted in page


def test_methods_and_numbers_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'Wander' is unknown; valid are TSP"):
        real.run(tmp_path, methods=("Wander",))
    with pytest.raises(ValueError, match="seeds must be at least 1, not 0"):
        real.run(tmp_path, seeds=0)


def test_a_cell_of_another_setting_or_a_damaged_one_is_not_taken(tmp_path: Path) -> None:
    real._store(tmp_path, SMALL, "TSP", 0, [row(None, 1.0, 1.0)])
    assert real._read(tmp_path, SMALL, "TSP", 0) == [row(None, 1.0, 1.0)]
    assert real._read(tmp_path, replace(SMALL, boxes=2), "TSP", 0) is None
    assert real._read(tmp_path, SMALL, "TSP", 1) is None
    (tmp_path / "tsp-000.json").write_text("{")
    assert real._read(tmp_path, SMALL, "TSP", 0) is None


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two methods with one seed, one search each."""
    pytest.importorskip("pybullet")
    folder = tmp_path_factory.mktemp("real")
    real.run(folder, seeds=1, jobs=1, methods=("TSP", OURS), setting=SMALL)
    return folder


@pytest.mark.slow
def test_a_run_trains_searches_and_tells(finished: Path) -> None:
    content = json.loads((finished / "real.json").read_text())
    assert set(content["rows"]) == {"TSP", OURS}
    for of_method in content["rows"].values():
        ((one,),) = of_method
        assert one["failure"] is None or one["failure"] in FAILURES
        assert one["driven"] >= one["p"] >= 0
        assert one["collisions"] == 0
        assert one["worst_error"] < 0.1
    theirs, ours = (content["rows"][name][0][0] for name in ("TSP", OURS))
    assert theirs["l"] == ours["l"]  # the same episode for both
    assert "kitchen1 spread in physics" in (finished / "real.md").read_text()


@pytest.mark.slow
def test_a_finished_run_does_nothing_and_a_missing_cell_is_done_again(finished: Path) -> None:
    before = json.loads((finished / "real.json").read_text())
    told: list[int] = []
    (finished / "cells" / "tsp-000.json").unlink()
    real.run(
        finished, seeds=1, jobs=1, methods=("TSP", OURS), setting=SMALL,
        progress=lambda done, total, what: told.append(done),
    )  # fmt: skip
    assert told == [2]  # one cell was there

    def without_wall(content: Any) -> Any:
        rows = [r for of in content["rows"].values() for of_seed in of for r in of_seed]
        return [{key: value for key, value in r.items() if key != "wall_s"} for r in rows]

    assert without_wall(json.loads((finished / "real.json").read_text())) == without_wall(before)


def test_the_command_knows_the_part() -> None:
    from sightline.cli import app

    result = CliRunner().invoke(app, ["reproduce", "--help"])
    assert result.exit_code == 0
    assert "real" in result.output
