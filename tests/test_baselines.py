"""What each baseline believes, by its formula."""

import numpy as np
import pytest

import sightline as sl
from sightline.errors import LearnError, UnknownObjectError
from sightline.learn.acquaintance import even_mass
from sightline.learn.state import load_state, save_state
from sightline.records import Episode, Query


@pytest.fixture(scope="module")
def site() -> sl.Site:
    home = sl.Scenario.load("wrs2020")
    sensor = sl.Sensor(range_m=0.6, kind="disc", detection_rate=0.8)
    return sl.Site.of(home, sensor=sensor, robot_radius_m=0.2)


@pytest.fixture(scope="module")
def points(site) -> np.ndarray:
    return sl.farthest_points(site.free, 6, rng=np.random.default_rng(0))


def met(learner, site):
    learner.meet(site)
    return learner


def mass_of(learner, thing: str) -> np.ndarray:
    return learner.predict(Query(thing, (1.0, 1.0)), []).mass


def test_uniform_is_even_over_what_can_be_seen(site, points):
    belief = met(sl.Uniform(), site).predict(Query("cup", (1.0, 1.0)), points)
    seen = site.seen_from_anywhere
    assert 0 < seen.sum() < len(seen)
    assert belief.mass[seen] == pytest.approx(1 / seen.sum())
    assert (belief.mass[~seen] == 0).all()
    views = site.sees(points).toarray()
    for row, chance in zip(views, belief.mean, strict=True):
        assert chance == pytest.approx(0.8 * (row & seen).sum() / seen.sum())


def test_frequency_counts_finds_and_adds_the_prior(site):
    learner = met(sl.Frequency(prior=2.0), site)
    first, second = np.flatnonzero(site.seen_from_anywhere)[[3, 40]]
    for cell in (first, first, second):
        # a little beside the middle of the cell
        learner.update(Episode.taught("cup", site.cells[cell] + 0.04))
    expected = 2.0 * even_mass(site)
    expected[first] += 2
    expected[second] += 1
    np.testing.assert_allclose(mass_of(learner, "cup"), expected / 5.0)
    np.testing.assert_array_equal(mass_of(learner, "bowl"), even_mass(site))


def test_last_seen_follows_the_last_sighting_only(site):
    learner = met(sl.LastSeen(spread_m=0.4, leak=0.1), site)
    seen = np.flatnonzero(site.seen_from_anywhere)
    for cell in seen[[3, 40]]:
        learner.update(Episode.taught("cup", site.cells[cell]))
    squares = ((site.cells - site.cells[seen[40]]) ** 2).sum(axis=1)
    bell = np.where(site.seen_from_anywhere, np.exp(-squares / (2 * 0.4**2)), 0.0)
    expected = 0.1 * even_mass(site) + 0.9 * bell / bell.sum()
    np.testing.assert_allclose(mass_of(learner, "cup"), expected, atol=1e-15)


def test_a_sighting_far_from_all_cells_is_at_the_nearest(site):
    learner = met(sl.LastSeen(spread_m=0.01, leak=0.0), site)
    learner.update(Episode.taught("cup", (500.0, 500.0)))
    mass = mass_of(learner, "cup")
    gaps = np.hypot(*(site.cells - 500.0).T)
    gaps[~site.seen_from_anywhere] = np.inf
    assert mass.sum() == pytest.approx(1)
    assert mass[gaps.argmin()] == pytest.approx(mass.max())


def test_random_orders_are_new_after_each_update_and_differ_by_object(site, points):
    learner = met(sl.RandomOrder(rng=np.random.default_rng(1)), site)
    query = Query("cup", (1.0, 1.0))
    first = learner.predict(query, points)
    other = learner.predict(Query("bowl", (1.0, 1.0)), points)
    learner.update(Episode.taught("bowl", site.cells[0]))
    second = learner.predict(query, points)
    assert first.mass is None
    for a, b in ((first, other), (first, second)):
        assert not np.array_equal(a.weight, b.weight)
        np.testing.assert_array_equal(a.mean, b.mean)


def test_making_a_learner_takes_one_number_from_its_generator(site):
    rng = np.random.default_rng(3)
    one, two = sl.RandomOrder(rng=rng), sl.RandomOrder(rng=rng)
    assert one.state()["seed"] != two.state()["seed"]


def test_the_oracle_knows_the_distribution(site, points):
    belief = met(sl.Oracle(), site).predict(Query("cup", (1.0, 1.0)), points)
    np.testing.assert_array_equal(belief.mass, site.home.mass("cup", site.cells))
    assert belief.mean == pytest.approx(0.8 * (site.sees(points) @ belief.mass))


def test_the_oracle_refuses_what_it_cannot_know(site):
    with pytest.raises(UnknownObjectError, match="knows no object 'sofa'"):
        sl.Oracle().meet(site, ["sofa"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sl.Frequency(prior=0), "prior must be a number from 1e-09 to 1e\\+09, not 0"),
        (lambda: sl.Frequency(prior=np.nan), "not nan"),
        (lambda: sl.Frequency(prior="1"), "not '1'"),
        (lambda: sl.LastSeen(spread_m=0), "spread_m must be a number from 0.001 to 1000, not 0"),
        (lambda: sl.LastSeen(leak=1.5), "leak must be a number from 0 to 1, not 1.5"),
        (lambda: sl.LastSeen(leak=True), "leak must be a number from 0 to 1, not True"),
    ],
)
def test_wrong_settings_are_named(make, message):
    with pytest.raises(LearnError, match=message):
        make()


@pytest.mark.parametrize(
    ("learner", "change"),
    [
        (sl.Frequency, {"finds": np.zeros((1, 3), dtype=int)}),
        (sl.Frequency, {"finds": "many"}),
        (sl.LastSeen, {"last": {"sofa": [1.0, 2.0]}}),
        (sl.LastSeen, {"last": {"cup": [1.0]}}),
        (sl.LastSeen, {"last": {"cup": [1.0, np.nan]}}),
        (lambda: sl.RandomOrder(rng=np.random.default_rng(0)), {"updates": -1}),
        (lambda: sl.RandomOrder(rng=np.random.default_rng(0)), {"seed": 0.5}),
    ],
)
def test_damaged_states_are_named(learner, change, site):
    state = dict(met(learner(), site).state())
    with pytest.raises(LearnError):
        type(learner()).from_state(state | change)


def test_counts_of_another_number_of_cells_are_refused_when_the_site_is_met(site, tmp_path):
    state = dict(met(sl.Frequency(), site).state())
    cut = state | {"finds": state["finds"][:, 1:]}
    save_state(tmp_path / "cut.npz", cut)
    again = sl.Frequency.from_state(load_state(tmp_path / "cut.npz"))
    with pytest.raises(LearnError, match="damaged: it has 555 cells"):
        again.meet(site)
