"""GenLin: the paper's steps to the last digits, honest widths, and nothing learned by half."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, minimize

import naive_learn as naive
import sightline as sl
from sightline._kernels.online_newton import newton_pass
from sightline.errors import LearnError, UnknownObjectError
from sightline.learn.augment import positives, signals
from sightline.learn.genlin import GenLin, slopes, theory_alpha
from sightline.learn.newton import OnlineLogistic
from sightline.learn.state import load_state, save_state
from sightline.records import Episode, Outcome, Query, Visit
from sightline.site import Site

seeds = st.integers(0, 10_000)
limits = st.sampled_from((math.inf, 0.3, 0.02))


def random_examples(seed, *, count=40, size=12):
    """Rows of norm at most 1 and signs."""
    rng = np.random.default_rng(seed)
    phi = rng.standard_normal((count, size))
    phi *= rng.uniform(0.2, 1, (count, 1)) / np.linalg.norm(phi, axis=1, keepdims=True)
    return phi, rng.choice([-1.0, 1.0], count)


@pytest.fixture(scope="module")
def site():
    home = sl.Scenario.load("kitchen1")
    return Site.of(home, sensor=sl.Sensor(range_m=1.0, kind="disc"))


@pytest.fixture(scope="module")
def points(site):
    return sl.farthest_points(site.free, 25, rng=np.random.default_rng(1))


def learner(site, **settings):
    out = GenLin(**settings)
    out.meet(site)
    return out


def search(site, points, thing="cup", *, looks=(3, 7, 1), found=True, start=False):
    """A search that looked at some points, and saw the object from the last of them."""
    visits = [Visit(-1, tuple(site.standing[0]), 0.0, False)] if start else []
    visits += [Visit(i, tuple(points[i]), 1.0 * n, False) for n, i in enumerate(looks)]
    outcome, position = Outcome.NOT_FOUND, None
    if found:
        last = visits.pop()
        visits.append(Visit(last.point, last.position, last.driven_m, True))
        outcome, position = Outcome.FOUND, tuple(points[looks[-1]] + 0.2)
    query = Query(thing, tuple(site.standing[0]))
    return Episode(query, points, tuple(visits), outcome, position)


def test_one_step_by_hand():
    """From theta = 0, k = 4: M = diag(5, 4), the step is eta / 2 / 5 along the first axis."""
    model = OnlineLogistic.fresh(2, ridge=4.0).learned(
        np.array([[1.0, 0.0]]), np.array([1.0]), rate=3.0
    )
    assert model.theta == pytest.approx([0.3, 0.0])
    assert model.inverse == pytest.approx(np.diag([1 / 5, 1 / 4]))


@pytest.mark.kernel
@given(seeds, limits, st.sampled_from((1.0, 7.0)), st.integers(1, 60))
def test_blocks_take_the_steps_of_the_definition(seed, limit, slope, cut):
    """theta as by single steps, the inverse as by inverting M, however the rows are cut into calls."""
    phi, signs = random_examples(seed, count=60)
    model = OnlineLogistic.fresh(12, ridge=2.5, slope=slope)
    for rows in (slice(0, cut), slice(cut, 60)):
        model = model.learned(phi[rows], signs[rows], rate=0.7, limit=limit)
    bound = None if limit == math.inf else limit
    theta, matrix = naive.newton_steps(phi, signs, ridge=2.5, rate=0.7, slope=slope, limit=bound)
    assert model.theta == pytest.approx(theta, abs=1e-10)
    assert model.inverse == pytest.approx(np.linalg.inv(matrix), abs=1e-10)


@pytest.mark.kernel
def test_the_pass_projects_a_margin_beyond_the_limit():
    """One step from a margin of 5 with limit 1: M_0 = I, |phi| = 1, so the projection moves by -4."""
    lower = np.array([[math.sqrt(2.0)]])
    out = newton_pass(lower, np.array([5.0]), np.array([1.0]), 0.0, 1.0, 1.0)
    # theta moves along W = phi / sqrt(2), so -4 phi is -4 sqrt(2) of it
    assert out == pytest.approx([-4 * math.sqrt(2)])


def test_the_inverse_stays_exact_after_thousands_of_updates():
    phi, signs = random_examples(1, count=6000, size=60)
    model = OnlineLogistic.fresh(60, ridge=25.0)
    for first in range(0, 6000, 37):
        rows = slice(first, first + 37)
        model = model.learned(phi[rows], signs[rows], rate=0.4)
    exact = np.linalg.inv(25.0 * np.eye(60) + phi.T @ phi)
    assert np.abs(model.inverse - exact).max() <= 1e-8 * np.abs(exact).max()
    assert np.array_equal(model.inverse, model.inverse.T)


@given(seeds)
def test_the_projection_is_what_an_optimiser_finds(seed):
    """Step of rate 0 after some learning: the nearest vector in the norm of M within the limit."""
    phi, signs = random_examples(seed, count=8, size=5)
    theta, matrix = naive.newton_steps(phi, signs, ridge=1.5, rate=4.0)
    row, limit = phi[0], 0.5 * abs(theta @ phi[0])
    found = minimize(
        lambda v: (v - theta) @ matrix @ (v - theta),
        np.zeros(5),
        jac=lambda v: 2 * matrix @ (v - theta),
        constraints=LinearConstraint(row, -limit, limit),
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    model = OnlineLogistic(theta, np.linalg.inv(matrix), 1.5)
    moved = model.learned(row[None], np.ones(1), rate=0.0, limit=limit)
    assert moved.theta == pytest.approx(found.x, abs=1e-5)


@pytest.mark.parametrize("ridge", [1.0, 4.0, 25.0])
def test_a_fresh_learner_has_the_width_of_the_closed_form(site, points, ridge):
    """sqrt(alpha / k) |phi|, and |phi| = 1; the mean is one half."""
    belief = learner(site, ridge=ridge, alpha=2.0).predict(Query("cup", (1.0, 1.0)), points)
    assert belief.width == pytest.approx(np.full(25, math.sqrt(2.0 / ridge)))
    assert belief.mean == pytest.approx(np.full(25, 0.5))


def test_bounds_lie_on_both_sides_of_the_mean(site, points):
    episode = search(site, points)
    beliefs = {}
    for bound in ("lower", "upper"):
        who = learner(site, bound=bound, slope=3.0)
        who.update(episode)
        beliefs[bound] = who.predict(episode.query, points)
    low, high = beliefs["lower"], beliefs["upper"]
    assert np.array_equal(low.mean, high.mean)
    delta = np.log(low.mean / (1 - low.mean)) / 3.0
    assert low.weight == pytest.approx(1 / (1 + np.exp(-3.0 * (delta - low.width))))
    assert high.weight == pytest.approx(1 / (1 + np.exp(-3.0 * (delta + low.width))))


@pytest.mark.parametrize("theory", [False, True])
def test_a_search_teaches_what_the_definition_says(site, points, theory):
    """Looks in their order, the look at the start too, then every navigable point that sees it."""
    who = learner(site, eta=0.8, ridge=3.0, theory=theory, limit=0.5)
    episode = search(site, points, start=True)
    who.update(episode)
    near = site.standing[np.hypot(*(site.standing - episode.position).T) <= 1.0]
    where = np.vstack([site.standing[:1], points[[3, 7, 1]], near])
    signs = np.array([-1.0, -1.0, -1.0, 1.0, *np.ones(len(near))])
    phi = who._phi("cup", where)
    rate = 1 / slopes(0.5)[1] if theory else 0.8
    theta, matrix = naive.newton_steps(
        phi, signs, ridge=3.0, rate=rate, limit=0.5 if theory else None
    )
    after = who.predict(episode.query, points)
    at = who._phi("cup", points)
    margin = np.clip(at @ theta, -0.5, 0.5) if theory else at @ theta
    assert after.mean == pytest.approx(1 / (1 + np.exp(-margin)), abs=1e-9)
    alpha = who.exploration()
    width = np.sqrt(alpha * np.einsum("nd,nd->n", at, np.linalg.solve(matrix, at.T).T))
    assert after.width == pytest.approx(width, abs=1e-9)


def test_the_theory_takes_alpha_of_its_formula():
    """Term by term, at B = 1: c = 0.731, c' = 0.197."""
    c = math.e / (1 + math.e)
    slope = c * (1 - c)
    by_hand = (
        25 * 1.0
        + (c / slope) ** 2 * 311 * math.log(1 + (10 * c / (1 - c) + math.log(11 / 0.05)) / 25)
        + ((c / slope) ** 2 + 2 / slope) * math.log(25 * 11 / 0.05)
    )
    assert theory_alpha(25, 311, 10, delta=0.05, limit=1.0) == pytest.approx(by_hand)


def test_a_search_in_vain_teaches_nothing(site, points):
    who = learner(site)
    who.update(search(site, points))
    before = who.predict(Query("cup", (1.0, 1.0)), points)
    who.update(search(site, points, found=False))
    after = who.predict(Query("cup", (1.0, 1.0)), points)
    assert np.array_equal(before.weight, after.weight)


def test_objects_have_parameters_of_their_own(site, points):
    who = learner(site)
    before = who.predict(Query("bowl", (1.0, 1.0)), points)
    who.update(search(site, points, "cup"))
    after = who.predict(Query("bowl", (1.0, 1.0)), points)
    assert np.array_equal(before.weight, after.weight)


def test_what_a_person_tells_raises_the_chance_there(site, points):
    who = learner(site)
    who.update(Episode.taught("cup", points[4] + 0.1))
    mean = who.predict(Query("cup", (1.0, 1.0)), points).mean
    assert mean[4] > max(0.5, np.median(mean))
    told = GenLin(augment=False)
    told.meet(site)
    told.update(Episode.taught("cup", points[4]))
    assert told.predict(Query("cup", (1.0, 1.0)), points).mean == pytest.approx(np.full(25, 0.5))


def test_the_same_look_often_is_believed_in_the_end(site, points):
    who = learner(site, augment=False, eta=5.0)
    for _ in range(300):
        who.update(search(site, points))
    mean = who.predict(Query("cup", (1.0, 1.0)), points).mean
    assert mean[1] > 0.9
    assert mean[3] < 0.1
    assert mean[7] < 0.1


def test_an_object_named_later_changes_nothing_of_the_others(site, points):
    who, other = learner(site), learner(site)
    for one in (who, other):
        one.update(search(site, points))
    other.meet(site, ["slippers"])
    query = Query("cup", (1.0, 1.0))
    assert other.predict(query, points).weight == pytest.approx(
        who.predict(query, points).weight, abs=1e-14
    )
    fresh = other.predict(Query("slippers", (1.0, 1.0)), points)
    assert fresh.mean == pytest.approx(np.full(25, 0.5))


@pytest.mark.parametrize("kind", ["disc", "line_of_sight"])
def test_augmented_points_are_those_that_see_the_object(site, points, kind):
    seeing = Site.of(site.home, sensor=sl.Sensor(range_m=1.5, kind=kind))
    episode = search(seeing, points)
    got = {tuple(at) for at in positives(seeing, episode)}
    position = np.array([episode.position])
    sees = sl.visible(seeing.home, seeing.standing, position, seeing.sensor).toarray()[:, 0]
    assert got == {tuple(at) for at in seeing.standing[sees]}
    thin = positives(seeing, episode, spacing_m=0.3)
    assert 0 < len(thin) < len(got) / 4


def test_signals_stop_with_the_last_look(site, points):
    where, signs = signals(search(site, points, start=True))
    assert signs.tolist() == [-1, -1, -1, 1]
    assert np.array_equal(where, np.vstack([site.standing[0], points[[3, 7, 1]]]))
    assert len(signals(search(site, points, found=False))[0]) == 0


@pytest.mark.parametrize("suffix", ["json", "npz"])
@pytest.mark.parametrize("theory", [False, True])
def test_a_learner_comes_back_to_the_last_bit(site, points, suffix, theory):
    who = learner(site, theory=theory, normaliser="mean-var")
    who.update(search(site, points))
    save_state(f"it.{suffix}", who.state())
    back = GenLin.from_state(load_state(f"it.{suffix}"))
    back.meet(site)
    for step in range(2):  # and goes on in the same way
        for thing in ("cup", "bowl"):
            one, two = (x.predict(Query(thing, (1.0, 1.0)), points) for x in (who, back))
            assert np.array_equal(one.weight, two.weight)
            assert np.array_equal(one.width, two.width)
        for x in (who, back):
            x.update(search(site, points, looks=(5, 2 + step)))


def test_what_is_wrong_changes_nothing(site, points):
    who = learner(site)
    who.update(search(site, points))
    before = who.state()
    bad = Episode(
        Query("cup", (0.0, 0.0)),
        np.array([[np.nan, 1.0]]),
        (Visit(0, (0.0, 0.0), 0.0, True),),
        Outcome.FOUND,
        (1.0, 1.0),
    )
    with pytest.raises(ValueError, match="finite"):
        who.update(bad)
    with pytest.raises(ValueError, match="finite"):
        who.update(Episode.taught("cup", (1.0, np.nan)))
    with pytest.raises(LearnError, match="points 0 to 4"):
        who.update(
            Episode(
                Query("cup", (1.0, 1.0)),
                points[:5],
                (Visit(5, (0.0, 0.0), 0.0, True),),
                Outcome.FOUND,
                (1.0, 1.0),
            )
        )
    with pytest.raises(UnknownObjectError, match="valid are"):
        who.update(search(site, points, "yeti"))
    with pytest.raises(UnknownObjectError, match="yeti"):
        who.update(search(site, points, "yeti", found=False))
    with pytest.raises(LearnError, match="belong to that map"):
        who.meet(Site.of(sl.Scenario.load("wrs2020")))
    after = who.state()
    assert after["searches"] == before["searches"]
    assert np.array_equal(after["models"]["cup"]["inverse"], before["models"]["cup"]["inverse"])


def test_a_learner_must_meet_its_site_first(points):
    with pytest.raises(LearnError, match="meet"):
        GenLin().predict(Query("cup", (1.0, 1.0)), points)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"ridge": 0}, "ridge"),
        ({"eta": math.nan}, "eta"),
        ({"alpha": -0.1}, "alpha"),
        ({"slope": "steep"}, "slope"),
        ({"bound": "both"}, "lower, upper"),
        ({"normaliser": "l1"}, "l2, mean-var"),
        ({"resolution": 3}, "resolution"),
        ({"theory": True, "slope": 2.0}, "slope 1"),
        ({"theory": True, "delta": 0.5}, "delta"),
    ],
)
def test_settings_out_of_range_are_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        GenLin(**settings)


def broken_states(good):
    """States with one thing wrong each, and words of the error."""
    model = dict(good["models"]["cup"])
    skew = np.array(model["inverse"])
    skew[0, 1] += 1.0
    yield {**good, "version": 99}, "version"
    yield {**good, "learner": "Neural"}, "Neural"
    yield {name: value for name, value in good.items() if name != "models"}, "models"
    yield {**good, "settings": {"etta": 1.0}}, "etta"
    yield {**good, "settings": {**good["settings"], "ridge": 0}}, "ridge"
    yield {**good, "things": ["cup", "cup"]}, "twice"
    yield {**good, "searches": -1}, "searches"
    yield {**good, "models": {"cup": {**model, "theta": model["theta"][:5]}}}, "theta"
    yield {**good, "models": {"cup": {**model, "theta": model["theta"] * np.nan}}}, "finite"
    yield {**good, "models": {"cup": {**model, "inverse": skew}}}, "symmetric"


def test_damaged_states_are_refused(site, points):
    who = learner(site)
    who.update(search(site, points))
    for state, words in broken_states(who.state()):
        with pytest.raises(LearnError, match=words):
            GenLin.from_state(state)
