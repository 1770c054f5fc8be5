"""The paper's figures: all are drawn, small, and of the right things."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sightline import plot
from sightline.metrics import learning_curve
from sightline.places import Scenario
from sightline.reproduce import figures
from sightline.site import Site
from sightline.visibility import Sensor

MOST_BYTES = 300_000
NAMES = {"overview", "augmentation", "learned", "distributions", "patches", "cpsat_time"}


@pytest.fixture(scope="module")
def site() -> Site:
    """A small home with the sensor of the training."""
    return Site.of(Scenario.load("wrs2020"), sensor=Sensor(range_m=1.0, kind="disc"))


def test_every_figure_is_drawn_and_small() -> None:
    told: list[tuple[int, int, str]] = []
    drawn = figures.draw_all(
        "figures",
        seed=0,
        progress=lambda *piece: told.append(piece),
        time_limit_s=1.0,
        counts=(3, 6),
        trained=5,
    )
    assert {path.stem for path in drawn} == NAMES
    assert told[0][:2] == (0, len(NAMES))
    assert told[-1][:2] == (len(NAMES), len(NAMES))
    for path in drawn:
        assert path.parent == Path("figures")
        assert path.stat().st_size < MOST_BYTES
        with Image.open(path) as picture:
            picture.load()
            assert picture.format == "PNG"
            assert min(picture.size) > 250
            assert len(picture.convert("RGB").getcolors(2**20) or range(2**20)) > 50


def test_true_chances_are_the_mass_within_range(site: Site) -> None:
    thing = site.home.objects[0]
    chances = figures.true_chances(site, thing)
    assert chances.shape == (len(site.standing),)
    mass = site.home.mass(thing, site.cells)
    for number in (0, len(chances) // 2, len(chances) - 1):
        away = np.hypot(*(site.cells - site.standing[number]).T)
        assert chances[number] == pytest.approx(mass[away <= 1.0].sum())


def test_the_problem_of_the_times_is_the_papers(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    thing = site.home.objects[0]
    monkeypatch.setattr(figures, "THING", thing)
    points = site.standing[:: len(site.standing) // 5][:4]
    problem = figures.order_problem(site, points, rng=np.random.default_rng(0))
    np.testing.assert_allclose(problem.travel[1:, 1:], site.free.distances(points))
    assert problem.weights[0] == 0
    everywhere = figures.true_chances(site, thing)
    rows = [int(np.hypot(*(site.standing - point).T).argmin()) for point in points]
    np.testing.assert_allclose(problem.weights[1:], everywhere[rows])


def test_the_search_of_the_overview_follows_its_plan(site: Site) -> None:
    for seed in range(3):
        plan, episode = figures.one_search(
            site, site.home.objects[0], rng=np.random.default_rng(seed)
        )
        visited = [visit.point for visit in episode.visits[1:]]
        assert visited
        assert visited == [stop.point for stop in plan.stops][: len(visited)]
        assert episode.visits[0].position == plan.query.start


def test_distributions_name_every_share() -> None:
    home = Scenario.load("kitchen1")
    figure = plot.draw_distributions([home])
    assert [ax.get_title() for ax in figure.axes] == list(home.objects)
    for ax, thing in zip(figure.axes, home.objects, strict=True):
        shares = sorted(f"{share:.0%}" for share in home.probabilities(thing).values() if share)
        assert sorted(text.get_text() for text in ax.texts) == shares


def test_an_unproven_time_is_a_ring() -> None:
    ax = plot.draw_times(
        (5, 10), {"ours": [0.1, 2.0]}, {"ours": [True, False]}, limit_s=2.0, where="home"
    )
    assert ax.get_yscale() == "log"
    assert "at most 2 s" in ax.get_title(loc="left")
    line, proven, rings = ax.lines[:3]
    np.testing.assert_allclose(line.get_ydata(), [0.1, 2.0])
    np.testing.assert_allclose(proven.get_xdata(), [5])
    np.testing.assert_allclose(rings.get_xdata(), [10])
    assert rings.get_markerfacecolor() == "white"


def test_learning_curves_are_running_means() -> None:
    runs = np.random.default_rng(0).random((4, 12))
    ax = plot.draw_learning({"ours": runs, "theirs": runs[:1]}, window=3)
    want = np.mean([learning_curve(run, 3) for run in runs], axis=0)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), want)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["ours", "theirs"]
    assert len(ax.collections) == 1  # a band for four seeds, none for one
