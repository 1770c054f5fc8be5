"""What every learner promises, each of them held to it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sightline as sl
from sightline.errors import LearnError, UnknownObjectError
from sightline.learn.baselines import Frequency, LastSeen, RandomOrder, Uniform
from sightline.learn.genlin import GenLin
from sightline.learn.neural import Neural
from sightline.learn.oracle import Oracle
from sightline.learn.places import PlaceBelief
from sightline.learn.protocol import Learner
from sightline.learn.state import load_state, save_state
from sightline.records import Belief, Episode, Outcome, Query, Route, Visit
from sightline.worlds.grid import carry_out

START = (1.0, 1.0)
QUICK: dict[str, Any] = {"width": 16, "steps": 20, "memory": 300}  # a network for tests
LEARNERS: dict[str, Callable[[], Learner]] = {
    "Frequency": Frequency,
    "LastSeen": LastSeen,
    "Uniform": Uniform,
    "RandomOrder": lambda: RandomOrder(rng=np.random.default_rng(5)),
    "Oracle": Oracle,
    "GenLin lower": lambda: GenLin(encoding=6),
    "GenLin upper": lambda: GenLin(encoding=6, bound="upper", normaliser="mean-var"),
    "GenLin theory": lambda: GenLin(encoding=6, bound="upper", theory=True, augment=False),
    "Neural exact": lambda: Neural(rng=np.random.default_rng(6), **QUICK),
    "Neural diagonal": lambda: Neural(
        rng=np.random.default_rng(6), covariance="diagonal", bound="upper", **QUICK
    ),
    "Neural solved": lambda: Neural(
        rng=np.random.default_rng(6), rule="solve", slope=3.0, ridge=1.0, **QUICK
    ),
    "PlaceBelief": PlaceBelief,
    "PlaceBelief on a bare map": lambda: PlaceBelief(use_places=False),
}
PAPERS = [name for name in LEARNERS if name.startswith(("GenLin", "Neural"))]
# what was learned of one object says nothing of another
DISJOINT = [n for n in LEARNERS if n.startswith("GenLin") or n in ("Frequency", "LastSeen")]
NEVER_LEARN = ["Uniform", "RandomOrder", "Oracle"]
ALIKE = ["GenLin upper", "PlaceBelief on a bare map"]  # as large as others
ONLY_KNOWN = ["Oracle"]  # objects of which the home has a distribution

every = pytest.mark.parametrize("name", LEARNERS)


@pytest.fixture(scope="module")
def site() -> sl.Site:
    """The smallest home that ships; at 1.2 m some searches fail."""
    return sl.Site.of(
        sl.Scenario.load("wrs2020"),
        sensor=sl.Sensor(range_m=1.2, kind="disc"),
        robot_radius_m=0.2,
    )


@pytest.fixture(scope="module")
def points(site: sl.Site) -> np.ndarray:
    return sl.farthest_points(site.free, 8, rng=np.random.default_rng(3))


@pytest.fixture(scope="module")
def episodes(site: sl.Site, points: np.ndarray) -> list[Episode]:
    return list(searches(site, points, 40, seed=1))


def searches(site: sl.Site, points: np.ndarray, count: int, *, seed: int) -> Iterator[Episode]:
    """Searches for random objects along random routes."""
    rng = np.random.default_rng(seed)
    rows = np.vstack([site.free.nearest(START), points])
    travel = site.free.distances(rows)
    for _ in range(count):
        thing = site.home.objects[rng.integers(len(site.home.objects))]
        route = Route(rng.permutation(len(points)) + 1, 0.0)
        position = site.home.sample_position(thing, rng=rng)
        x, y = rows[0].tolist()
        yield carry_out(site, Query(thing, (x, y)), route, points, travel, position)


def made(name: str, site: sl.Site, episodes: Sequence[Episode] = ()) -> Learner:
    learner = LEARNERS[name]()
    learner.meet(site)
    for episode in episodes:
        learner.update(episode)
    return learner


def same(a: Any, b: Any) -> bool:
    """Whether two states hold the same, to the last bit."""
    if isinstance(a, Mapping):
        return isinstance(b, Mapping) and a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, np.ndarray):
        return bool(a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))
    return bool(a == b) or (a != a and b != b)


def equal(a: Belief, b: Belief) -> bool:
    return same(vars(a), vars(b))


def beliefs(learner: Learner, site: sl.Site, points: np.ndarray) -> list[Belief]:
    return [learner.predict(Query(thing, START), points) for thing in site.home.objects]


def all_equal(a: list[Belief], b: list[Belief]) -> bool:
    return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b, strict=True))


def size(state: Any) -> int:
    """Numbers and characters in a state."""
    if isinstance(state, Mapping):
        return sum(size(part) + len(str(key)) for key, part in state.items())
    if isinstance(state, list | tuple):
        return sum(map(size, state))
    if isinstance(state, np.ndarray):
        return state.size
    return len(state) if isinstance(state, str) else 1


def test_the_searches_are_of_both_kinds(episodes):
    found = [episode.outcome is Outcome.FOUND for episode in episodes]
    assert 0.3 < np.mean(found) < 0.9
    assert len({episode.query.thing for episode in episodes}) > 2


@every
@pytest.mark.parametrize("learned", [0, 40])
def test_beliefs_are_chances(name, learned, site, points, episodes):
    learner = made(name, site, episodes[:learned])
    for belief in beliefs(learner, site, points):
        assert belief.mean.shape == belief.width.shape == belief.weight.shape == (8,)
        assert ((belief.mean >= 0) & (belief.mean <= 1)).all()
        assert (belief.width >= 0).all()
        assert np.isfinite(belief.width).all()
        assert (np.isfinite(belief.weight) & (belief.weight >= 0)).all()
        assert 0 <= belief.absent <= 1
        if belief.mass is not None:
            assert belief.mass.shape == (len(site.cells),)
            assert (belief.mass >= 0).all()
            assert belief.mass.sum() + belief.absent == pytest.approx(1, abs=1e-9)
            assert belief.mean == pytest.approx(site.sees(points) @ belief.mass, abs=1e-9)


@every
def test_one_point_and_no_point_can_be_asked_for(name, site, points, episodes):
    learner = made(name, site, episodes[:5])
    query = Query(site.home.objects[0], START)
    both = learner.predict(query, points)
    if name != "RandomOrder":
        one = learner.predict(query, points[2:3])
        assert one.mean == pytest.approx(both.mean[2:3])
        assert one.weight == pytest.approx(both.weight[2:3])
    assert learner.predict(query, np.empty((0, 2))).mean.shape == (0,)
    assert learner.predict(query, points.tolist()).mean == pytest.approx(both.mean, rel=1e-12)


@every
def test_predicting_changes_nothing(name, site, points, episodes):
    learner = made(name, site, episodes[:10])
    before = learner.state()
    first = beliefs(learner, site, points)
    assert all_equal(first, beliefs(learner, site, points))
    assert same(before, learner.state())


@every
def test_predicting_in_between_does_not_change_what_is_learned(name, site, points, episodes):
    quiet, asked = made(name, site), made(name, site)
    for episode in episodes[:10]:
        quiet.update(episode)
        beliefs(asked, site, points)
        asked.update(episode)
    assert same(quiet.state(), asked.state())


@every
def test_arguments_and_results_are_not_shared(name, site, points, episodes):
    learner = made(name, site)
    given = points.copy()
    loose = [replace(episode, points=given) for episode in episodes[:10]]
    for episode in loose:
        learner.update(episode)
    belief = learner.predict(Query(site.home.objects[0], START), given)
    kept = {key: None if v is None else np.copy(v) for key, v in vars(belief).items()}
    state = learner.state()
    again = type(learner).from_state(state)
    given[:] = 0.5
    for array in arrays_in(state):
        if array.flags.writeable:
            array[...] = 0
    assert all(same(kept[key], v if v is None else np.copy(v)) for key, v in vars(belief).items())
    again.meet(site)
    reference = beliefs(made(name, site, episodes[:10]), site, points)
    assert all_equal(beliefs(learner, site, points), reference)
    assert all_equal(beliefs(again, site, points), reference)
    with pytest.raises(ValueError, match="read-only"):
        belief.mean[0] = 1


def arrays_in(state: Any) -> Iterator[np.ndarray]:
    if isinstance(state, np.ndarray):
        yield state
    elif isinstance(state, Mapping):
        for part in state.values():
            yield from arrays_in(part)
    elif isinstance(state, list | tuple):
        for part in state:
            yield from arrays_in(part)


@every
def test_equal_learners_learn_equally(name, site, episodes):
    assert same(made(name, site, episodes).state(), made(name, site, episodes).state())


@every
def test_learning_changes_what_is_believed(name, site, points, episodes):
    fresh, learned = made(name, site), made(name, site, episodes)
    pairs = zip(beliefs(fresh, site, points), beliefs(learned, site, points), strict=True)
    changed = [not np.array_equal(a.mean, b.mean) for a, b in pairs]
    assert any(changed) == (name not in NEVER_LEARN)


@pytest.mark.parametrize("name", DISJOINT)
def test_searches_for_different_objects_may_come_in_any_order(name, site, points, episodes):
    sorted_by_thing = sorted(episodes, key=lambda episode: episode.query.thing)
    assert [e.query.thing for e in sorted_by_thing] != [e.query.thing for e in episodes]
    one, other = made(name, site, episodes), made(name, site, sorted_by_thing)
    assert all_equal(beliefs(one, site, points), beliefs(other, site, points))


@pytest.mark.parametrize("name", ["Frequency", *NEVER_LEARN])
def test_counting_does_not_depend_on_the_order(name, site, points, episodes):
    one, other = made(name, site, episodes), made(name, site, episodes[::-1])
    assert all_equal(beliefs(one, site, points), beliefs(other, site, points))


@every
def test_points_that_were_not_visited_are_no_negatives(name, site, points, episodes):
    """More points to choose from, none of them visited, change nothing."""
    spare = sl.farthest_points(site.free, 30, rng=np.random.default_rng(9))
    more = [replace(e, points=np.vstack([e.points, spare])) for e in episodes]
    one, other = made(name, site, episodes), made(name, site, more)
    assert all_equal(beliefs(one, site, points), beliefs(other, site, points))


@pytest.mark.parametrize("name", [*PAPERS, "Frequency", "LastSeen"])
def test_a_search_without_a_sighting_teaches_nothing(name, site, points, episodes):
    """The bonus of Algorithm 2 grows with the number of searches, found or not, as the theorem has it."""
    learner = made(name, site, episodes[:10])
    before = beliefs(learner, site, points)
    for episode in (e for e in episodes if e.outcome is Outcome.NOT_FOUND):
        learner.update(episode)
    after = beliefs(learner, site, points)
    if name == "GenLin theory":
        assert all(same(a.mean, b.mean) for a, b in zip(before, after, strict=True))
    else:
        assert all_equal(before, after)


@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "GenLin theory"])
def test_a_taught_place_counts_as_a_sighting(name, site, points):
    """Without augmentation there is nothing to learn from it, as nothing was visited."""
    learner, thing = made(name, site), site.home.objects[0]
    position = site.home.sample_position(thing, rng=np.random.default_rng(2))
    query, near = Query(thing, START), np.hypot(*(points - position).T).argmin()
    before = learner.predict(query, points).mean[near]
    for _ in range(3):
        learner.update(Episode.taught(thing, position))
    after = learner.predict(query, points).mean[near]
    assert after > before if name not in NEVER_LEARN else after == before


@every
@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_a_reloaded_learner_is_the_same_to_the_last_bit(
    name, suffix, site, points, episodes, tmp_path
):
    learner = made(name, site, episodes[:20])
    save_state(tmp_path / f"state{suffix}", learner.state())
    again = type(learner).from_state(load_state(tmp_path / f"state{suffix}"))
    again.meet(site)
    assert all_equal(beliefs(learner, site, points), beliefs(again, site, points))
    for episode in episodes[20:]:
        learner.update(episode)
        again.update(episode)
    assert all_equal(beliefs(learner, site, points), beliefs(again, site, points))
    assert same(learner.state(), again.state())


@every
def test_a_fresh_learner_can_be_saved(name, site, points, tmp_path):
    """Before and after it met its site."""
    for learner in (LEARNERS[name](), made(name, site)):
        save_state(tmp_path / "state.json", learner.state())
        again = type(learner).from_state(load_state(tmp_path / "state.json"))
        again.meet(site)
        assert all_equal(beliefs(made(name, site), site, points), beliefs(again, site, points))


@every
def test_one_text_is_no_list_of_objects(name, site):
    learner = LEARNERS[name]()
    with pytest.raises(LearnError, match="not as one text 'sofa'"):
        learner.meet(site, "sofa")


@every
def test_an_unknown_object_is_refused_with_those_that_are_known(name, site, points, episodes):
    learner = made(name, site, episodes[:5])
    state = learner.state()
    message = f"no object 'sofa'; valid are {', '.join(site.home.objects)}, and more can be named"
    with pytest.raises(UnknownObjectError, match=message):
        learner.predict(Query("sofa", START), points)
    with pytest.raises(UnknownObjectError, match="no object 'sofa'"):
        learner.update(Episode.taught("sofa", (1, 1)))
    assert same(state, learner.state())


@every
def test_more_objects_can_be_named_later(name, site, points, episodes):
    learner = made(name, site, episodes[:10])
    before = beliefs(learner, site, points)
    if name in ONLY_KNOWN:
        with pytest.raises(UnknownObjectError, match="knows no object 'sofa'"):
            learner.meet(site, ["sofa"])
    else:
        again = type(learner).from_state(learner.state())
        again.meet(site, ["sofa"])
        for known in (again, learner):
            known.meet(site, ["sofa"])
            # the same up to rounding: a wider model may add in another order
            for a, b in zip(before, beliefs(known, site, points), strict=True):
                assert a.mean == pytest.approx(b.mean, abs=1e-9)
            belief = known.predict(Query("sofa", START), points)
            assert ((belief.mean >= 0) & (belief.mean <= 1)).all()
            known.update(Episode.taught("sofa", site.cells[0]))
            assert "sofa" in known.state()["things"]
        assert same(again.state(), learner.state())
    assert len(beliefs(learner, site, points)) == len(site.home.objects)


@every
def test_names_of_objects_must_be_texts(name, site):
    learner = LEARNERS[name]()
    with pytest.raises((LearnError, UnknownObjectError)):
        learner.meet(site, [7])
    with pytest.raises(LearnError, match="must meet its site"):
        learner.predict(Query(site.home.objects[0], START), [START])


@every
def test_before_it_met_its_site_it_says_nothing(name, points, episodes):
    learner = LEARNERS[name]()
    again = type(learner).from_state(learner.state())
    for unmet in (learner, again):
        with pytest.raises(LearnError, match="must meet its site"):
            unmet.predict(Query("cup", START), points)
        with pytest.raises(LearnError, match="must meet its site"):
            unmet.update(episodes[0])


@every
def test_a_learner_does_not_move_to_another_home(name, site, points, episodes):
    learner = made(name, site, episodes[:5])
    state, before = learner.state(), beliefs(learner, site, points)
    elsewhere = sl.Site.of(sl.Scenario.load("kitchen1"))
    again = type(learner).from_state(state)
    for one in (learner, again):
        with pytest.raises(LearnError, match=f"has learned in {site.name} and cannot go on"):
            one.meet(elsewhere)
        assert same(state, one.state())
    assert all_equal(before, beliefs(learner, site, points))


@every
def test_it_goes_on_with_another_sensor(name, site, points, episodes):
    learner = made(name, site, episodes[:10])
    wide = sl.Site.of(site.home, sensor=sl.Sensor(range_m=2.5, kind="disc"), robot_radius_m=0.2)
    assert wide.name == site.name
    learner.meet(wide)
    for belief in beliefs(learner, wide, points):
        if belief.mass is not None:
            assert belief.mean == pytest.approx(wide.sees(points) @ belief.mass, abs=1e-9)


@every
def test_states_of_others_are_refused(name, site, episodes):
    learner = made(name, site, episodes[:5])
    state = dict(learner.state())
    kind = type(learner)
    for change, message in (
        ({"learner": "Sibyl"}, f"one of 'Sibyl', not of {kind.__name__}"),
        ({"version": 999}, "has version 999; this release reads"),
    ):
        with pytest.raises(LearnError, match=message):
            kind.from_state(state | change)
    for other in LEARNERS.values():
        if type(other()) is not kind:
            with pytest.raises(LearnError, match="not of"):
                type(other()).from_state(state)


@every
def test_damaged_states_are_refused(name, site, episodes):
    """Every field missing or of a wrong kind, one at a time."""
    learner = made(name, site, episodes[:5])
    state = dict(learner.state())
    kind = type(learner)
    for key in state:
        with pytest.raises(LearnError):
            kind.from_state({k: v for k, v in state.items() if k != key})
    for key in state:
        with pytest.raises(LearnError):
            kind.from_state(state | {key: object()}).meet(site)
    with pytest.raises(LearnError):
        kind.from_state(state | {"things": [*state["things"], *state["things"]]})


@every
def test_states_name_the_site_and_the_objects(name, site, episodes):
    state = made(name, site, episodes[:5]).state()
    assert state["site"] == site.name
    assert list(state["things"]) == list(site.home.objects)


@every
@pytest.mark.parametrize(
    "wrong", [[[np.nan, 1.0]], [[1.0, np.inf]], [[1.0, 2.0, 3.0]], "here"], ids=str
)
def test_points_that_are_none_are_refused(name, wrong, site, episodes):
    learner = made(name, site, episodes[:5])
    state = learner.state()
    with pytest.raises((LearnError, ValueError)):
        learner.predict(Query(site.home.objects[0], START), wrong)
    assert same(state, learner.state())


@every
@pytest.mark.parametrize("wrong", [(np.nan, 1.0), (1.0, np.inf)], ids=str)
def test_a_bad_episode_changes_nothing(name, wrong, site, points, episodes):
    learner = made(name, site, episodes[:5])
    state, before = learner.state(), beliefs(learner, site, points)
    good = next(e for e in episodes if e.outcome is Outcome.FOUND)
    with pytest.raises((LearnError, ValueError)):
        learner.update(replace(good, position=wrong))
    assert same(state, learner.state())
    assert all_equal(before, beliefs(learner, site, points))


@pytest.mark.parametrize("name", PAPERS)
def test_a_visit_to_no_place_changes_nothing(name, site, points, episodes):
    """Who learns from where the robot looked refuses a place that is none."""
    learner = made(name, site, episodes[:5])
    before, state = beliefs(learner, site, points), learner.state()
    good = next(e for e in episodes if e.outcome is Outcome.FOUND)
    nowhere = Visit(-1, (np.nan, 0.0), 0.0, False)
    with pytest.raises((LearnError, ValueError)):
        learner.update(replace(good, visits=(nowhere, *good.visits)))
    assert all_equal(before, beliefs(learner, site, points))
    assert same(state, learner.state())


@every
def test_a_home_without_cells_can_be_met(name):
    """Nothing but floor: no target cell, no distribution."""
    empty = sl.OccupancyMap.from_array(np.zeros((20, 20), dtype=int), 0.1)
    site = sl.Site.of(sl.Scenario("empty", empty))
    learner = LEARNERS[name]()
    if name in ONLY_KNOWN:
        with pytest.raises(UnknownObjectError):
            learner.meet(site, ["cup"])
        return
    learner.meet(site, ["cup"])
    learner.update(Episode.taught("cup", (1.0, 1.0)))
    belief = learner.predict(Query("cup", (1.0, 1.0)), [(1.0, 1.0), (0.5, 0.5)])
    assert np.isfinite(belief.mean).all()
    if belief.mass is not None:
        assert belief.mass.sum() + belief.absent == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in LEARNERS if n not in ALIKE])
def test_memory_stays_bounded(name, site, points):
    """In 10,000 searches the state is never larger than in the first 5,000, up to a few counters."""
    learner, sizes = made(name, site), []
    some = list(searches(site, points, 500, seed=8))
    for i in range(10_000):
        learner.update(some[i % len(some)])
        if (i + 1) % 250 == 0:
            sizes.append(size(learner.state()))
    assert max(sizes[20:]) <= 1.02 * max(sizes[:20]) + 10
    assert max(sizes) < 2_000_000
