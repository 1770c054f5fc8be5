"""Where objects tend to lie: the mixture, failed searches, what is kept, and honest errors."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sightline as sl
from naive_belief import NaiveBelief
from sightline.errors import LearnError, UnknownObjectError
from sightline.learn.failures import Failures
from sightline.learn.ground import Ground
from sightline.learn.places import PlaceBelief
from sightline.learn.state import load_state, save_state
from sightline.records import Belief, Episode, Outcome, Query, Visit

THINGS = ("cup", "key")
LEFT, RIGHT = (0.7, 1.5), (3.3, 1.5)
SMALL = {"concentrations": (0.5, 8.0), "poolings": (5.0, np.inf), "half_lives": (4.0, np.inf)}
seeds = st.integers(0, 10_000)


def room(places: bool = True) -> sl.Scenario:
    """4 x 3 m with a table at the left wall and one at the right; keys lie left, cups anywhere."""
    occupied = np.zeros((30, 40), dtype=bool)
    occupied[[0, -1]] = occupied[:, [0, -1]] = True
    occupied[10:20, 4:10] = occupied[10:20, 30:36] = True
    on = sl.OccupancyMap.from_array(occupied, 0.1)
    if not places:
        return sl.Scenario("bare", on)
    corners = np.array([[0.4, 1.0], [1.0, 1.0], [1.0, 2.0], [0.4, 2.0]])
    surfaces = {
        "left": sl.Surface("left", "DiningTable", corners, 0.75),
        "right": sl.Surface("right", "DiningTable", corners + np.array([2.6, 0.0]), 0.75),
    }
    rows = {"cup": {"left": 0.5, "right": 0.5}, "key": {"left": 1.0}}
    return sl.Scenario("room", on, sl.Places(surfaces, distributions={"d": rows}))


@cache
def site(places: bool = True, range_m: float = 1.2, rate: float = 1.0) -> sl.Site:
    sensor = sl.Sensor(range_m=range_m, kind="disc", detection_rate=rate)
    return sl.Site.of(room(places), sensor=sensor, robot_radius_m=0.2)


def learner(
    places: bool = True, *, range_m: float = 1.2, rate: float = 1.0, **options
) -> PlaceBelief:
    out = PlaceBelief(**options)
    out.meet(site(places, range_m, rate), THINGS)
    return out


def find(thing: str, at) -> Episode:
    x, y = at
    visit = Visit(0, (2.0, 1.5), 1.0, True)
    return Episode(Query(thing, (2.0, 1.5)), [[2.0, 1.5]], (visit,), Outcome.FOUND, (x, y))


def failure(thing: str, *looked_from, outcome=Outcome.NOT_FOUND) -> Episode:
    visits = tuple(Visit(i, at, float(i), False) for i, at in enumerate(looked_from))
    return Episode(Query(thing, (2.0, 1.5)), looked_from or np.empty((0, 2)), visits, outcome)


def on_table(mass, side: str) -> float:
    home = room()
    return float(mass[:-1][home.shares(side, site().cells) > 0].sum())


def random_course(seed: int, length: int = 12):
    """Finds and failed searches of two objects."""
    rng = np.random.default_rng(seed)
    for _ in range(length):
        thing = THINGS[rng.integers(2)]
        if rng.random() < 0.6:
            yield find(thing, rng.uniform((0.2, 0.2), (3.8, 2.8)))
        else:
            yield failure(thing, *map(tuple, rng.uniform((1.2, 0.4), (2.8, 2.6), (2, 2)).tolist()))


def dense(ground: Ground):
    return ground.pulling.toarray().reshape(len(ground.kernels), ground.atoms, ground.atoms)


@settings(max_examples=8, deadline=None)
@given(seeds, st.booleans(), st.sampled_from((1.0, 0.7)))
def test_the_mixture_is_that_of_the_formulas(seed: int, places: bool, rate: float) -> None:
    ours = learner(places, rate=rate, steps=3, **SMALL)
    where = site(places, 1.2, rate)
    ground = Ground.of(where)
    naive = NaiveBelief(
        dense(ground), ground.prior, ground.trust, share=0.01, missing=(1.0, 19.0), steps=3,
        absent=0.005, things=THINGS, **SMALL,
    )  # fmt: skip
    for episode in random_course(seed, 8):
        ours.update(episode)
        thing = episode.query.thing
        if episode.position is not None:
            naive.found(thing, ground.cell_of(episode.position))
        else:
            looks = where.sees([visit.position for visit in episode.visits]).sum(axis=0)
            naive.failed(thing, np.asarray(looks).ravel(), rate)
    for thing in THINGS:
        expected = naive.mixture(thing)
        if not any("looks" in e for e in naive.events if e["thing"] == thing):
            found = {int(e["where"].argmax()) for e in naive.events if e["thing"] == thing}
            expected = np.where(ground.hidden, 0.0, expected) * 1.0
            assert not found & set(np.flatnonzero(ground.hidden))
        assert ours.mass(thing) == pytest.approx(expected / expected.sum(), rel=1e-9, abs=1e-14)
    assert ours.missing == pytest.approx(naive.missing())


@given(seeds, st.booleans())
@settings(max_examples=10, deadline=None)
def test_mass_and_absent_sum_to_one(seed: int, places: bool) -> None:
    ours = learner(places)
    for episode in random_course(seed):
        ours.update(episode)
        for thing in THINGS:
            belief = ours.predict(Query(thing, (2.0, 1.5)), [[2.0, 1.5], [2.0, 0.5]])
            assert (belief.mass >= 0).all()
            assert 0 <= belief.absent <= 1
            assert belief.mass.sum() + belief.absent == pytest.approx(1, abs=1e-12)
            assert belief.mean == pytest.approx(site().sees([[2.0, 1.5], [2.0, 0.5]]) @ belief.mass)


def test_the_prior_has_equal_shares_of_the_surfaces() -> None:
    mass = learner().mass("cup")
    assert on_table(mass, "left") == pytest.approx(on_table(mass, "right"), abs=1e-3)
    assert on_table(mass, "left") > 0.46
    assert mass[-1] == pytest.approx(0.005)


def test_without_places_the_prior_lies_on_thick_obstacles() -> None:
    mass = learner(places=False).mass("cup")
    assert on_table(mass, "left") + on_table(mass, "right") > 0.85


def test_the_prior_does_not_look_at_the_distribution() -> None:
    other = room()
    rows = {"cup": {"right": 1.0}, "key": {"right": 1.0}}
    places = replace(other.places, distributions={"d": rows})
    elsewhere = PlaceBelief()
    elsewhere.meet(
        sl.Site.of(replace(other, places=places), sensor=site().sensor, robot_radius_m=0.2)
    )
    assert np.array_equal(elsewhere.mass("key"), learner().mass("key"))


def test_finds_draw_the_mass_to_their_surface_and_others_follow() -> None:
    ours = learner()
    for _ in range(6):
        ours.update(find("key", LEFT))
    assert on_table(ours.mass("key"), "left") > 0.85
    assert 0.5 < on_table(ours.mass("cup"), "left") < on_table(ours.mass("key"), "left")


def test_experts_are_weighted_by_bayes_rule() -> None:
    """After two finds in one spot, what the experts said of the second one; without sharing."""
    ours = learner(share=0.0, **SMALL)
    ours.update(find("key", LEFT))
    ground = Ground.of(site())
    cell, kernels = ground.cell_of(LEFT), dense(ground)
    before = ours._weights.copy()
    ours.update(find("key", LEFT))
    for m, a, b, h in np.ndindex(*before.shape):
        kappa = SMALL["concentrations"][a]
        said = (kappa * ground.prior[cell] + kernels[m, cell, cell]) / (kappa + 1)
        ratio = ours._weights[m, a, b, h] / before[m, a, b, h] / said
        assert ratio == pytest.approx(
            ours._weights[0, 0, 0, 0]
            / before[0, 0, 0, 0]
            / (
                (SMALL["concentrations"][0] * ground.prior[cell] + kernels[0, cell, cell])
                / (SMALL["concentrations"][0] + 1)
            )
        )
    assert ours._weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("places", [True, False])
def test_a_failed_search_moves_the_mass_to_what_was_not_seen(places: bool) -> None:
    ours = learner(places)
    before = ours.mass("cup")
    ours.update(failure("cup", (1.4, 1.5)))
    after = ours.mass("cup")
    seen = site().sees([[1.4, 1.5]]).toarray()[0]
    assert after[:-1][seen].sum() < 0.95 * before[:-1][seen].sum()
    assert on_table(after, "right") > on_table(before, "right")
    assert on_table(after, "left") < on_table(before, "left")


def test_many_failed_searches_find_the_table_never_looked_at() -> None:
    ours = learner()
    for _ in range(10):
        ours.update(find("cup", LEFT))
        for _ in range(2):
            ours.update(failure("cup", (1.4, 1.5)))
    mass = ours.mass("cup")
    # a third of the cups lie left, all others where nobody has looked
    assert on_table(mass, "left") == pytest.approx(1 / 3, abs=0.12)
    assert on_table(mass, "right") > 0.4


def test_failures_can_be_left_out() -> None:
    ours = learner(learn_failures=False)
    before = ours.mass("cup")
    ours.update(failure("cup", (1.4, 1.5)))
    assert np.array_equal(ours.mass("cup"), before)


def test_what_everybody_looked_at_is_absent_in_the_end() -> None:
    ours = learner(range_m=5.0)
    for _ in range(5):
        ours.update(find("cup", LEFT))
    absent = [ours.mass("key")[-1]]
    for _ in range(12):
        ours.update(failure("key", (2.0, 1.5)))
        absent.append(ours.mass("key")[-1])
    assert absent[12] > 0.5
    assert absent[12] > absent[2] > absent[0]


def test_a_few_total_failures_do_not_drive_the_mass_off_the_map() -> None:
    """Nine of ten searches see the cup; the tenth sees everything and misses it."""
    ours = learner(range_m=5.0)
    for episode in range(60):
        ours.update(failure("cup", (2.0, 1.5)) if episode % 10 == 9 else find("cup", LEFT))
    mass = ours.mass("cup")
    assert on_table(mass, "left") > 0.85
    assert mass[-1] < 0.08
    assert ours.missing == pytest.approx(0.1, abs=0.04)


def test_searches_cut_short_are_evidence_for_what_they_saw() -> None:
    masses = []
    for outcome in (
        Outcome.NOT_FOUND,
        Outcome.OUT_OF_BUDGET,
        Outcome.CANCELLED,
        Outcome.UNREACHABLE,
    ):
        ours = learner()
        ours.update(failure("cup", (1.4, 1.5), outcome=outcome))
        masses.append(ours.mass("cup"))
    assert all(np.array_equal(mass, masses[0]) for mass in masses)


@pytest.mark.parametrize("rate", [1.0, 0.5])
def test_a_search_that_saw_nothing_says_nothing(rate: float) -> None:
    ours = learner(rate=rate)
    before = ours.mass("cup")
    ours.update(failure("cup"))
    ours.update(failure("cup", (30.0, 30.0)))
    assert np.array_equal(ours.mass("cup"), before)


def test_looks_that_may_miss_say_less() -> None:
    sharp, dull = learner(), learner(rate=0.3)
    for ours in (sharp, dull):
        ours.update(failure("cup", (1.4, 1.5)))
    assert on_table(sharp.mass("cup"), "left") < on_table(dull.mass("cup"), "left") < 0.5
    belief = dull.predict(Query("cup", (2.0, 1.5)), [[1.4, 1.5]])
    assert belief.mean[0] == pytest.approx(0.3 * (site().sees([[1.4, 1.5]]) @ belief.mass)[0])


def test_habits_that_change_are_followed_by_short_half_lives() -> None:
    ours, slow = learner(), learner(half_lives=(np.inf,))
    for side in (LEFT, RIGHT):
        for _ in range(30):
            ours.update(find("key", side))
            slow.update(find("key", side))
        lasting = ours._weights.sum(axis=(0, 1, 2))[-1]
        assert (lasting > 0.5) if side == LEFT else (lasting < 0.2)
    assert on_table(ours.mass("key"), "right") > 0.9
    assert on_table(slow.mass("key"), "right") < 0.6


def test_hidden_cells_have_no_mass_before_a_search_failed() -> None:
    near = learner(range_m=0.5)
    hidden = ~site(True, 0.5).seen_from_anywhere
    assert hidden.any()
    assert not near.mass("cup")[:-1][hidden].any()
    near.update(failure("cup", (1.4, 1.5)))
    assert near.mass("cup")[:-1][hidden].any()
    wide = learner(range_m=5.0)
    assert wide.mass("cup")[:-1][hidden].any()


def test_the_sensor_may_change_between_searches() -> None:
    ours = learner()
    ours.update(failure("cup", (1.4, 1.5)))
    before = ours.mass("cup")
    ours.meet(site(True, 5.0))
    assert ours.mass("cup") == pytest.approx(before)
    belief = ours.predict(Query("cup", (2.0, 1.5)), [[2.0, 1.5]])
    assert belief.mean[0] == pytest.approx(1 - belief.absent)


def test_what_a_person_tells_counts_as_a_find_and_as_no_search() -> None:
    told, seen = learner(), learner()
    told.update(Episode.taught("key", LEFT))
    seen.update(find("key", LEFT))
    assert np.array_equal(told.mass("key"), seen.mass("key"))
    assert told.missing == pytest.approx(1 / 20)
    assert seen.missing == pytest.approx(1 / 21)


@pytest.mark.parametrize("at", [(1.5, 0.8), (0.05, 0.05), (2.0, 1.5)])
def test_a_find_off_all_surfaces_is_believed(at: tuple[float, float]) -> None:
    ours = learner()
    for _ in range(8):
        ours.update(find("key", at))
    near = np.hypot(*(site().cells - at).T) < 0.6
    assert ours.mass("key")[:-1][near].sum() > 0.4


def test_a_find_far_from_every_cell_counts_as_absent() -> None:
    ours = learner()
    ours.update(find("key", (40.0, 1.0)))
    assert ours.mass("key")[-1] > 0.1


def test_a_find_belongs_to_the_surface_on_which_it_lies() -> None:
    home = sl.Scenario.load("kitchen1")
    where = sl.Site.of(home)
    ground = Ground.of(where)
    shares = np.array([home.shares(name, where.cells) for name in home.places.surfaces])
    rng = np.random.default_rng(0)
    for i, (name, surface) in enumerate(home.places.surfaces.items()):
        cell = ground.cell_of(surface.sample(rng=rng))
        assert shares[i, cell] > 0, name


def test_the_parts_of_a_home_are_as_they_should_be() -> None:
    for places in (True, False):
        ground = Ground.of(site(places))
        assert ground.prior.sum() == pytest.approx(1)
        assert ground.prior[-1] == 0.0
        assert dense(ground).sum(axis=2) == pytest.approx(1)
        assert (ground.pushing.toarray() == ground.pulling.toarray().T).all()
    kernels = dict(zip(ground.kernels, dense(ground), strict=True))
    cell, far = ground.cell_of(LEFT), ground.cell_of(RIGHT)
    assert kernels["component"][cell, far] == 0
    assert (kernels["component"][cell] > 0).sum() > 10


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_a_state_comes_back_exactly(tmp_path, suffix: str) -> None:
    ours = learner(rate=0.7, most_failures=2)
    for episode in random_course(3, 25):
        ours.update(episode)
    save_state(tmp_path / f"belief{suffix}", ours.state())
    again = PlaceBelief.from_state(load_state(tmp_path / f"belief{suffix}"))
    again.meet(site(True, 1.2, 0.7))
    points = [[1.4, 1.5], [2.6, 1.5]]
    for episode in [None, *random_course(4, 5)]:
        if episode is not None:
            ours.update(episode)
            again.update(episode)
        for thing in THINGS:
            same(
                ours.predict(Query(thing, (2.0, 1.5)), points),
                again.predict(Query(thing, (2.0, 1.5)), points),
            )
    assert ours.missing == again.missing


def same(a: Belief, b: Belief) -> None:
    for name in ("mean", "weight", "width", "mass"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    assert a.absent == b.absent


def test_a_state_is_a_copy() -> None:
    ours = learner()
    ours.update(failure("cup", (1.4, 1.5)))
    ours.update(find("cup", LEFT))
    state, before = ours.state(), ours.mass("cup")
    state["weights"][:] = 0
    for entry in state["past"]:
        for value in entry.values():
            if isinstance(value, np.ndarray):
                value[...] = 0
    assert np.array_equal(ours.mass("cup"), before)


def test_memory_stays_bounded() -> None:
    """Different looks every time; the last searches are kept, the others as counts."""
    ours = learner(most_failures=8, steps=1)
    rng = np.random.default_rng(1)
    sizes = []
    for episode in range(300):
        if episode % 3:
            at = rng.uniform((1.2, 0.4), (2.8, 2.6))
            ours.update(failure("cup", tuple(at.tolist())))
        else:
            ours.update(find("cup", rng.uniform((0.4, 1.0), (1.0, 2.0))))
        if episode in (149, 299):
            arrays = [
                v for e in ours.state()["past"] for v in e.values() if isinstance(v, np.ndarray)
            ]
            sizes.append(sum(value.nbytes for value in arrays))
    assert sizes[1] <= 1.1 * sizes[0]
    assert ours.mass("cup").sum() == pytest.approx(1)
    counts = ours._past[0].counts[-1]
    assert counts.sum() == pytest.approx(300)


def test_equal_failed_searches_share_a_row() -> None:
    failures = Failures.none(3, 2)
    for _ in range(3):
        failures.add(np.array([1, 0, 0], np.uint8), 1.0)
    failures.add(np.array([1, 0, 0], np.uint8), 0.5)
    assert failures.weights.tolist() == [[3.0, 3.0], [1.0, 1.0]]
    belief = np.array([0.5, 0.2, 0.2, 0.1])
    counts, missed = failures.counts(belief, 0.0)
    # of the 0.9 in cells three searches leave 0.4, the fourth half of the first cell besides
    assert counts[0] == pytest.approx([0.25 / 0.65, 1.5 + 0.2 / 0.65, 1.5 + 0.2 / 0.65, 0.0])
    assert missed == 0


def test_new_objects_can_be_named_later() -> None:
    ours = learner()
    with pytest.raises(UnknownObjectError, match=r"'hat'.*cup, key"):
        ours.predict(Query("hat", (2.0, 1.5)), [[2.0, 1.5]])
    for _ in range(5):
        ours.update(find("key", LEFT))
    ours.meet(site(), ["hat"])
    assert on_table(ours.mass("hat"), "left") > 0.5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"concentrations": ()}, "concentrations"),
        ({"concentrations": (0.0, 1.0)}, "concentrations"),
        ({"poolings": (-1.0,)}, "poolings"),
        ({"half_lives": (4.0, 8.0)}, "end with inf"),
        ({"half_lives": "x"}, "half_lives"),
        ({"share": 1.5}, "share"),
        ({"absent": 0.0}, "absent"),
        ({"missing": (1.0,)}, "missing"),
        ({"missing": (np.nan, 1.0)}, "missing"),
        ({"steps": 0}, "steps"),
        ({"steps": 2.5}, "whole"),
        ({"use_places": 1}, "use_places"),
        ({"most_failures": 0}, "most_failures"),
    ],
)
def test_bad_settings_are_refused(options, words: str) -> None:
    with pytest.raises(LearnError, match=words):
        PlaceBelief(**options)


def test_bad_input_changes_nothing() -> None:
    ours = learner()
    ours.update(find("cup", LEFT))
    before = ours.mass("cup")
    with pytest.raises(LearnError, match="meet"):
        PlaceBelief().predict(Query("cup", (2.0, 1.5)), [[2.0, 1.5]])
    with pytest.raises(LearnError, match="finite"):
        ours.update(find("cup", (np.nan, 1.0)))
    with pytest.raises(ValueError, match="finite"):
        ours.update(failure("cup", (np.nan, 1.0)))
    with pytest.raises(UnknownObjectError):
        ours.update(find("hat", LEFT))
    with pytest.raises(LearnError, match="cannot go on"):
        ours.meet(site(False))
    assert np.array_equal(ours.mass("cup"), before)


@pytest.mark.parametrize(
    "damage",
    [
        {"version": 99},
        {"learner": "Frequency"},
        {"past": []},
        {"weights": [1.0]},
        {"weights": "x"},
        {"past": [{}, {}]},
        {"half_lives": (1.0,)},
    ],
)
def test_damaged_states_are_refused(damage) -> None:
    with pytest.raises(LearnError):
        PlaceBelief.from_state({**learner().state(), **damage})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("at", [10**6]),
        ("finds", [[-1.0]]),
        ("looks", np.full((1, 300), 999)),
        ("rates", [2.0]),
        ("found", None),
    ],
)
def test_damaged_pasts_are_refused(field: str, value) -> None:
    state = learner().state()
    state["past"][0][field] = value
    with pytest.raises(LearnError, match="damaged"):
        PlaceBelief.from_state(state)


def test_a_state_of_another_grid_is_refused() -> None:
    ours = learner()
    state = {**ours.state(), "weights": np.ones((1, 1, 1, 1))}
    with pytest.raises(LearnError, match="weights have the shape"):
        PlaceBelief.from_state(state).meet(site())
