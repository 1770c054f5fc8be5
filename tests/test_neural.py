"""Neural: the network's gradients, kernel and training are those of the definitions."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_learn as naive
import sightline as sl
from sightline.errors import LearnError, UnknownObjectError
from sightline.learn.neural import Neural
from sightline.learn.ntk import (
    DiagonalCovariance,
    ExactCovariance,
    Network,
    NtkNetwork,
    Training,
    descend,
    halved,
)
from sightline.learn.state import load_state, save_state
from sightline.records import Episode, Outcome, Query, Visit
from sightline.site import Site

seeds = st.integers(0, 10_000)


def rng(seed=0):
    return np.random.default_rng(seed)


def random_network(seed, *, size=7, width=6):
    """A network whose units are no longer in pairs."""
    draw = rng(seed)
    return Network(draw.standard_normal((width, size)), draw.standard_normal(width))


@pytest.fixture(scope="module")
def site():
    """The smallest home with objects."""
    home = sl.Scenario.load("wrs2020")
    return Site.of(home, sensor=sl.Sensor(range_m=1.0, kind="disc"))


@pytest.fixture(scope="module")
def points(site):
    return sl.farthest_points(site.free, 12, rng=rng(1))


@pytest.fixture(scope="module")
def thing(site):
    return site.home.objects[0]


def learner(site, **options):
    out = Neural(**{"rng": rng(5), "steps": 20, "width": 16, **options})
    out.meet(site)
    return out


def search(points, thing, *, looks=(3, 7, 1), found=True):
    """A search that looked at some points, and saw the object from the last of them."""
    visits = [Visit(i, tuple(points[i]), 1.0 * n, False) for n, i in enumerate(looks)]
    query = Query(thing, tuple(points[0]))
    if not found:
        return Episode(query, points, tuple(visits), Outcome.NOT_FOUND)
    visits[-1] = Visit(looks[-1], tuple(points[looks[-1]]), len(looks), True)
    position = tuple(points[looks[-1]] + 0.2)
    return Episode(query, points, tuple(visits), Outcome.FOUND, position)


@given(seeds)
def test_the_output_is_that_of_the_definition(seed):
    network, x = random_network(seed), rng(seed + 1).standard_normal((4, 7))
    by_hand = [naive.forward(row, network.inner, network.outer) for row in x]
    assert network.value(x) == pytest.approx(by_hand)


@given(seeds)
def test_products_are_those_of_explicit_gradients(seed):
    """Also between gradients that were taken at different parameters."""
    one, two = random_network(seed), random_network(seed + 1)
    x, y = rng(seed).standard_normal((2, 5, 7))
    explicit = np.array([naive.gradient(row, one.inner, one.outer) for row in x])
    others = np.array([naive.gradient(row, two.inner, two.outer) for row in y])
    products = one.tangent(x).products(two.tangent(y))
    assert np.abs(products - explicit @ others.T).max() <= 1e-10
    assert one.tangent(x).squares() == pytest.approx((explicit**2).sum(axis=1), abs=1e-10)


def test_the_explicit_gradient_is_a_difference_quotient():
    """The slow twin itself, against small steps in each parameter; it is scaled by 1 / sqrt(w)."""
    network, x, step = random_network(3), rng(4).standard_normal(7), 1e-6
    gradient = naive.gradient(x, network.inner, network.outer) * math.sqrt(6)
    flat = np.concatenate([network.outer, network.inner.ravel()])
    for i in range(flat.size):
        ends = []
        for sign in (1, -1):
            moved = flat.copy()
            moved[i] += sign * step
            ends.append(naive.forward(x, moved[6:].reshape(6, 7), moved[:6]))
        assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(gradient[i], abs=1e-5)


@given(seeds, st.sampled_from((0.5, 4.0, 25.0)), st.integers(1, 9))
@settings(max_examples=25)
def test_the_exact_variance_is_that_of_the_big_matrix(seed, ridge, cut):
    """However the examples are cut into blocks, and with parameters that move in between."""
    x, query = rng(seed).standard_normal((10, 7)), rng(seed + 1).standard_normal((3, 7))
    covariance, gradients = ExactCovariance(ridge, 7, 6), []
    for part, network in zip(
        (x[:cut], x[cut:]), map(random_network, (seed, seed + 9)), strict=True
    ):
        covariance.add(network.tangent(part))
        gradients += [naive.gradient(row, network.inner, network.outer) for row in part]
    now = random_network(seed + 5)
    by_hand = [
        naive.network_variance(
            gradients, np.ones(10), ridge, naive.gradient(row, now.inner, now.outer)
        )
        for row in query
    ]
    assert covariance.variances(now.tangent(query)) == pytest.approx(by_hand, abs=1e-8)


@given(seeds)
@settings(max_examples=25)
def test_the_diagonal_is_that_of_the_big_matrix(seed):
    network, x = random_network(seed), rng(seed).standard_normal((5, 7))
    covariance = DiagonalCovariance(2.5, 7, 6)
    covariance.add(network.tangent(x))
    gradients = np.array([naive.gradient(row, network.inner, network.outer) for row in x])
    diagonal = 2.5 + (gradients**2).sum(axis=0)
    by_hand = (gradients**2 / diagonal).sum(axis=1)
    assert covariance.variances(network.tangent(x)) == pytest.approx(by_hand)


@pytest.mark.parametrize("loss", ["logistic", "square"])
def test_training_takes_the_steps_of_the_definition(loss):
    network, first, draw = random_network(1), random_network(2), rng(3)
    x, targets = draw.standard_normal((9, 7)), draw.choice([-1.0, 1.0], 9)
    weights, batches = draw.choice([1.0, 2.0], 9), draw.integers(9, size=(15, 4))
    how = Training(eta=0.05, ridge=3.0, loss=loss, slope=2.0)
    got = descend(network, first, x, targets, weights, batches, how)
    inner, outer = naive.descend(
        x,
        targets,
        weights,
        *(network.inner, network.outer, first.inner, first.outer),
        batches,
        eta=0.05,
        ridge=3.0,
        slope=2.0,
        square=loss == "square",
    )
    assert got.inner == pytest.approx(inner, abs=1e-12)
    assert got.outer == pytest.approx(outer, abs=1e-12)


@pytest.mark.parametrize("loss", ["logistic", "square"])
def test_training_descends_the_loss_that_it_states(loss):
    """A step on all examples is along minus the loss's gradient, by difference quotients."""
    how = Training(eta=1e-3, ridge=2.0, loss=loss, slope=3.0)
    network, first, draw = random_network(1), random_network(2), rng(3)
    x, targets = draw.standard_normal((5, 7)), draw.choice([-1.0, 1.0], 5)

    def total(inner):
        f = Network(inner, network.outer).value(x)
        each = (f - targets) ** 2 / 2
        if loss == "logistic":
            each = np.log1p(np.exp(-3.0 * targets * f)) / 3.0
        apart = ((inner - first.inner) ** 2).sum()
        return each.mean() + 6 * 2.0 / (2 * 5) * apart

    got = descend(network, first, x, targets, np.ones(5), np.arange(5)[None], how)
    moved = np.zeros((6, 7))
    for at in np.ndindex(6, 7):
        step = np.zeros((6, 7))
        step[at] = 1e-6
        moved[at] = -(1e-3 / 6) * (total(network.inner + step) - total(network.inner - step)) / 2e-6
    assert got.inner - network.inner == pytest.approx(moved, abs=1e-9)


@given(seeds, st.integers(1, 9))
@settings(max_examples=25)
def test_the_solved_network_is_that_of_least_squares(seed, cut):
    """However the examples are cut into updates."""
    first, draw = Network.drawn(7, 6, rng=rng(seed)), rng(seed + 1)
    x, targets, query = draw.standard_normal((10, 7)), draw.choice([-1.0, 1.0], 10), rng(3)
    model = NtkNetwork(first, Training(ridge=0.5, rule="solve", loss="square"), memory=100)
    for rows in (slice(0, cut), slice(cut, 10)):
        model.learn(x[rows], targets[rows], rng=rng())
    unseen = query.standard_normal((4, 7))
    gradients = [naive.gradient(row, first.inner, first.outer) for row in x]
    by_hand = [
        naive.least_squares(
            gradients, targets, np.ones(10), 0.5, naive.gradient(row, first.inner, first.outer)
        )
        for row in unseen
    ]
    f, variance = model.predict(unseen)
    assert f == pytest.approx(by_hand, abs=1e-8)
    assert variance == pytest.approx(model.covariance.variances(first.tangent(unseen)), abs=1e-12)
    assert model.now is first


def test_halved_examples_count_double_in_the_solved_network():
    first, draw = Network.drawn(3, 6, rng=rng(1)), rng(2)
    x, targets = draw.standard_normal((9, 3)), draw.choice([-1.0, 1.0], 9)
    model = NtkNetwork(first, Training(ridge=0.5, rule="solve", loss="square"), memory=8)
    model.learn(x, targets, rng=rng(3))
    assert len(model.x) == 4
    gradients = [naive.gradient(row, first.inner, first.outer) for row in model.x]
    query = naive.gradient(x[0], first.inner, first.outer)
    by_hand = naive.least_squares(gradients, model.targets, np.full(4, 9 / 4), 0.5, query)
    assert model.predict(x[:1])[0] == pytest.approx([by_hand])


def test_a_wide_network_descends_to_the_solved_one():
    """The 20,000 units hardly move; before any example both are 0."""
    x = np.array([[0.6, 0.0, 0.8], [0.0, 0.6, 0.8], [0.6, 0.8, 0.0]])
    targets = np.array([1.0, -1.0, 1.0])
    first = Network.drawn(3, 20_000, rng=rng(0))
    solved = NtkNetwork(first, Training(ridge=0.5, rule="solve", loss="square"), memory=100)
    assert solved.predict(x)[0].tolist() == [0.0, 0.0, 0.0]
    solved.learn(x, targets, rng=rng())
    batches = np.tile(np.arange(3), (400, 1))
    how = Training(eta=0.5, ridge=0.5, loss="square")
    trained = descend(first, first, x, targets, np.ones(3), batches, how)
    assert trained.value(x) == pytest.approx(solved.predict(x)[0], abs=5e-3)


def test_the_scale_of_inner_weights_leaves_the_gates():
    one, small = (Network.drawn(3, 6, rng=rng(0), scale=scale) for scale in (1.0, 0.25))
    x = rng(1).standard_normal((5, 3))
    assert small.tangent(x).hidden == pytest.approx(0.25 * one.tangent(x).hidden)
    assert np.array_equal(small.tangent(x).gates, one.tangent(x).gates)


def test_a_rule_that_cannot_be_is_refused():
    with pytest.raises(ValueError, match="square"):
        Training(rule="solve")
    solve = Training(rule="solve", loss="square")
    with pytest.raises(ValueError, match="exact"):
        NtkNetwork(Network.drawn(3, 6, rng=rng()), solve, memory=100, diagonal=True)


def test_a_network_learns_what_no_line_can():
    """Exclusive or, with a constant entry: no linear model gets more than three of four."""
    x = np.array([[1, 1, 1], [-1, -1, 1], [1, -1, 1], [-1, 1, 1]]) / math.sqrt(3)
    targets = np.array([-1.0, -1.0, 1.0, 1.0])
    training = Training(eta=0.5, ridge=0.01, steps=2000, slope=4.0)
    model = NtkNetwork(Network.drawn(3, 32, rng=rng(0)), training, memory=100)
    assert model.predict(x)[0] == pytest.approx(np.zeros(4), abs=1e-12)
    model.learn(x, targets, rng=rng(1))
    assert (np.sign(model.predict(x)[0]) == targets).all()


@pytest.mark.parametrize("ridge", [1.0, 4.0, 25.0])
@pytest.mark.parametrize("covariance", ["exact", "diagonal"])
def test_a_fresh_learner_has_the_width_of_the_closed_form(site, points, thing, ridge, covariance):
    """eps^2 = alpha (h.h + x.x sum of active squared outer weights) / k; the mean is one half."""
    who = learner(site, ridge=ridge, alpha=2.0, covariance=covariance)
    belief = who.predict(Query(thing, (1.0, 1.0)), points)
    first = who._model.first
    gradients = [naive.gradient(x, first.inner, first.outer) for x in who._phi(thing, points)]
    square = np.array([g @ g for g in gradients])
    assert belief.width == pytest.approx(np.sqrt(2.0 * square / ridge))
    assert belief.mean == pytest.approx(np.full(12, 0.5))


@pytest.mark.parametrize("covariance", ["exact", "diagonal"])
def test_looking_narrows_and_moves_the_belief(site, points, thing, covariance):
    who = learner(site, covariance=covariance, steps=200, ridge=1.0, augment=False)
    query = Query(thing, (1.0, 1.0))
    before = who.predict(query, points)
    for _ in range(20):
        who.update(search(points, thing))
    after = who.predict(query, points)
    assert (after.width[[3, 7, 1]] < before.width[[3, 7, 1]]).all()
    assert after.mean[1] > 0.5 > max(after.mean[3], after.mean[7])


def test_bounds_lie_on_both_sides_of_the_mean(site, points, thing):
    beliefs = [
        learner(site, bound=b).predict(Query(thing, (1, 1)), points) for b in ("lower", "upper")
    ]
    for belief, sign in zip(beliefs, (-1, 1), strict=True):
        assert belief.weight == pytest.approx(1 / (1 + np.exp(-sign * 20.0 * belief.width)))


def test_a_search_in_vain_teaches_nothing(site, points, thing):
    who = learner(site)
    who.update(search(points, thing))
    query = Query(thing, (1.0, 1.0))
    before = who.predict(query, points)
    who.update(search(points, thing, found=False))
    assert np.array_equal(before.weight, who.predict(query, points).weight)


def test_what_a_person_tells_counts_as_a_sighting(site, points, thing):
    who = learner(site, steps=200, ridge=1.0)
    who.update(Episode.taught(thing, points[4]))
    assert who.predict(Query(thing, (1.0, 1.0)), points).mean[4] > 0.5


@pytest.mark.parametrize("covariance", ["exact", "diagonal"])
def test_memory_is_bounded(site, points, thing, covariance):
    """A random half goes when there are too many; what is left counts for all."""
    who = learner(site, memory=100, steps=1, covariance=covariance)
    things = site.home.objects
    total = 0
    for i in range(120):
        before = len(who._model.x)
        who.update(search(points, things[i % len(things)], looks=(i % 12, (i + 5) % 12)))
        assert len(who._model.x) <= 100
        total += max(len(who._model.x) - before, 0)
    assert total > 200
    assert who._model.weights.sum() >= 120
    if covariance == "exact":
        assert len(who._model.covariance.known) == len(who._model.x)


def test_halving_keeps_the_covariance_in_expectation():
    """The mean of Z over many halvings is Z, within four standard errors."""
    network, x = random_network(0, size=3, width=4), rng(1).standard_normal((20, 3))
    whole = network.tangent(x)
    total, draws = np.zeros((2, 2)), []
    for seed in range(400):
        kept = halved(20, 19, rng=rng(seed))
        rows = whole.taken(kept).scaled(np.full(len(kept), math.sqrt(20 / len(kept))))
        draws.append((rows.hidden.T @ rows.hidden)[:2, :2])
    total = np.mean(draws, axis=0)
    error = np.std(draws, axis=0) / 20
    assert (np.abs(total - (whole.hidden.T @ whole.hidden)[:2, :2]) <= 4 * error + 1e-12).all()


@pytest.mark.parametrize("suffix", ["json", "npz"])
@pytest.mark.parametrize(
    ("rule", "covariance"), [("descent", "exact"), ("descent", "diagonal"), ("solve", "exact")]
)
def test_a_learner_comes_back_to_the_last_bit(site, points, thing, suffix, rule, covariance):
    who = learner(site, rule=rule, covariance=covariance, memory=100)
    for i in range(12):
        who.update(search(points, thing, looks=(i, (i + 3) % 12, (i + 7) % 12)))
    who.meet(site, ["slippers"])
    save_state(f"it.{suffix}", who.state())
    back = Neural.from_state(load_state(f"it.{suffix}"))
    back.meet(site)
    for step in range(3):  # and goes on in the same way
        for name in (thing, "slippers"):
            one, two = (x.predict(Query(name, (1.0, 1.0)), points) for x in (who, back))
            assert np.array_equal(one.weight, two.weight)
            assert np.array_equal(one.width, two.width)
        for x in (who, back):
            x.update(search(points, thing, looks=(5, 2 + step)))


def test_an_object_named_later_changes_nothing_of_the_others(site, points, thing):
    who, other = learner(site), learner(site)
    for one in (who, other):
        one.update(search(points, thing))
    other.meet(site, ["slippers"])
    query = Query(thing, (1.0, 1.0))
    one, two = who.predict(query, points), other.predict(query, points)
    assert one.mean == pytest.approx(two.mean, abs=1e-12)
    assert one.width == pytest.approx(two.width, abs=1e-12)


def test_the_same_seed_gives_the_same_learner_and_leaves_the_generator(site, points, thing):
    draw = rng(5)
    before = draw.bit_generator.state
    one, two = learner(site, rng=draw), learner(site, rng=draw)
    assert draw.bit_generator.state == before
    for who in (one, two):
        who.update(search(points, thing))
    query = Query(thing, (1.0, 1.0))
    assert np.array_equal(one.predict(query, points).weight, two.predict(query, points).weight)


def test_training_that_runs_away_changes_nothing(site, points, thing):
    who = learner(site, eta=1e9, steps=100)
    before = who.state()
    with pytest.raises(LearnError, match="smaller eta"):
        who.update(search(points, thing))
    after = who.state()
    assert after["rng"] == before["rng"]
    assert after["site"] == before["site"] == ""
    assert np.array_equal(after["network"]["now_inner"], before["network"]["now_inner"])
    assert len(after["network"]["x"]) == 0


def test_unknown_objects_and_other_maps_are_refused(site, points, thing):
    who = learner(site)
    with pytest.raises(UnknownObjectError, match="valid are"):
        who.update(search(points, "yeti"))
    with pytest.raises(LearnError, match="meet"):
        Neural(rng=rng()).predict(Query(thing, (1.0, 1.0)), points)
    who.update(search(points, thing))
    with pytest.raises(LearnError, match="belong to that map"):
        who.meet(Site.of(sl.Scenario.load("kitchen1")))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ridge": 0}, "ridge"),
        ({"eta": math.nan}, "eta"),
        ({"width": 7}, "even"),
        ({"steps": 0}, "steps"),
        ({"memory": 5}, "memory"),
        ({"covariance": "full"}, "exact, diagonal"),
        ({"rule": "guess"}, "descent, solve"),
        ({"rule": "solve", "covariance": "diagonal"}, "exact"),
        ({"bound": "middle"}, "lower, upper"),
    ],
)
def test_settings_out_of_range_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        Neural(rng=rng(), **options)


def test_a_state_from_before_there_were_rules_is_one_of_descent(site, points, thing):
    who = learner(site)
    who.update(search(points, thing))
    state = who.state()
    old = {**state, "settings": {k: v for k, v in state["settings"].items() if k != "rule"}}
    back = Neural.from_state(old)
    back.meet(site)
    query = Query(thing, (1.0, 1.0))
    assert np.array_equal(back.predict(query, points).weight, who.predict(query, points).weight)


def broken_states(good):
    """States with one thing wrong each, and words of the error."""
    network = good["network"]
    yield {**good, "version": 99}, "version"
    yield {**good, "rng": {"bit_generator": "Dice"}}, "PCG64"
    yield {**good, "rng": {"bit_generator": "PCG64"}}, "generator"
    yield {**good, "settings": {**good["settings"], "depth": 3}}, "depth"
    yield {**good, "network": {**network, "blocks": [1]}}, "blocks"
    yield {**good, "network": {**network, "x": network["x"][:, :-1]}}, "shape"
    yield {**good, "network": {**network, "now_outer": network["now_outer"] * np.inf}}, "finite"
    yield {**good, "network": {**network, "gates": None}}, "gates"


def test_damaged_states_are_refused(site, points, thing):
    who = learner(site)
    who.update(search(points, thing))
    for state, words in broken_states(who.state()):
        with pytest.raises(LearnError, match=words):
            Neural.from_state(state)
