"""The Gymnasium environment: its rules, what it gives away and when, and that it is the same search."""

from itertools import pairwise

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

import sightline as sl
from sightline.gym_env import DAY_S, ENV_ID, REFUSED, ObjectSearchEnv
from sightline.metrics import spl
from sightline.worlds.household import household

K = 12
ENDS = {"outcome", "success", "spl", "l", "p", "time_to_find"}


@pytest.fixture(scope="module")
def site():
    return sl.Site.of(sl.Scenario.load("kitchen1"))


@pytest.fixture(scope="module")
def env(site):
    return ObjectSearchEnv(site, points=K)


def masked_walk(env, seed, options=None):
    """Random allowed actions to the end: everything that reset and step returned."""
    rng = np.random.default_rng(seed)
    obs, info = env.reset(seed=seed, options=options)
    steps = [(obs, 0.0, False, info)]
    while not steps[-1][2]:
        points = np.flatnonzero(steps[-1][3]["action_mask"][:-1])
        action = int(rng.choice(points)) if len(points) else len(env.points)
        obs, reward, over, cut, info = env.step(action)
        assert not cut
        steps.append((obs, reward, over, info))
    return steps


def equal(these, those):
    """Whether two walks are the same to the last bit."""
    return len(these) == len(those) and all(
        one[1:3] == other[1:3]
        and one[i].keys() == other[i].keys()
        and all(np.array_equal(one[i][key], other[i][key]) for key in one[i])
        for one, other in zip(these, those, strict=True)
        for i in (0, 3)
    )


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"points": 5, "household_seed": 3},
        {"scenarios": ("kitchen1", "kitchen2"), "points": K},
        {
            "sensor": sl.Sensor(detection_rate=0.8, false_alarm_rate=0.3),
            "troubles": sl.Troubles(blocked_rate=0.3, sees_while_driving=True),
        },
    ],
    ids=["plain", "household", "two homes", "troubles"],
)
def test_it_keeps_the_rules_of_gymnasium(settings):
    made = gymnasium.make(ENV_ID, **settings)
    assert isinstance(made.unwrapped, ObjectSearchEnv)
    check_env(made.unwrapped)


def test_the_name_of_the_module_is_enough_to_make_it():
    made = gymnasium.make(f"sightline.gym_env:{ENV_ID}", points=3)
    assert made.action_space.n == 4


@pytest.mark.parametrize("seed", range(6))
def test_every_observation_lies_in_its_space(seed, env):
    for obs, *_ in masked_walk(env, seed):
        assert obs in env.observation_space


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.lists(st.integers(0, K), max_size=20))
def test_any_actions_are_taken(site, seed, actions):
    """Masked actions too; the search ends at most once, the mask never opens again."""
    env = ObjectSearchEnv(site, points=K)
    _, info = env.reset(seed=seed)
    for action in actions:
        before = info["action_mask"]
        obs, reward, over, _, info = env.step(action)
        assert obs in env.observation_space
        assert (info["action_mask"] <= before).all()
        assert info["action_mask"][K] == 1
        if over:
            assert set(info) >= ENDS
            with pytest.raises(ResetNeeded, match="has ended"):
                env.step(0)
            return
        assert set(info) == {"action_mask"}
        assert reward == REFUSED or before[action] == 1


def test_nothing_of_the_truth_is_told_before_the_end(env):
    """Until the object is seen, its place changes nothing that is told."""
    for seed in range(4):
        walk = masked_walk(env, seed)
        for _, _, over, info in walk:
            assert set(info) == ({"action_mask"} | ENDS if over else {"action_mask"})
        env.reset(seed=seed)
        away = {thing: [(-50.0, -50.0)] for thing in env.things}  # where no look sees it
        env._world.reset(start=env._world.position, positions=away)
        rng = np.random.default_rng(seed)
        for i in range(1, len(walk) - 1):
            action = int(rng.choice(np.flatnonzero(walk[i - 1][3]["action_mask"][:-1])))
            obs, reward, _, _, info = env.step(action)
            assert equal([walk[i]], [(obs, reward, False, info)])


def test_the_same_seed_gives_the_same_episode(env, site):
    other = ObjectSearchEnv(site, points=K)
    other.reset(seed=99)  # whatever was before
    for seed in range(5):
        assert equal(masked_walk(env, seed), masked_walk(other, seed))
    assert not equal(masked_walk(env, 0), masked_walk(other, 1))


def test_episodes_differ_without_a_seed(env):
    env.reset(seed=0)
    starts = {tuple(env.reset()[0]["pose"]) for _ in range(5)}
    assert len(starts) == 5


def test_the_household_is_seeded_apart_from_the_episode(site):
    """Habits are those of the household whatever the episodes; start and object those of the episode."""
    one, same, other = (ObjectSearchEnv(site, points=K, household_seed=seed) for seed in (1, 1, 2))
    for seed in (7, 8):
        first, again, elsewhere = (env.reset(seed=seed)[0] for env in (one, same, other))
        assert np.array_equal(first["pose"], elsewhere["pose"])
        assert first["object"] == elsewhere["object"] == again["object"]
    for thing in one.things:
        habits, others = (env.site.home.probabilities(thing) for env in (one, other))
        assert habits == same.site.home.probabilities(thing)
        assert habits != others
        assert habits != site.home.probabilities(thing)
    assert np.array_equal(one.site.cells, site.cells)


def test_habits_are_drawn_around_those_of_the_scenario(site):
    """Over many households the mean is the scenario's; little concentration makes one-sided habits."""
    home, rng = site.home, np.random.default_rng(0)
    usual = home.probabilities("cup")
    drawn = [household(home, rng=rng).probabilities("cup") for _ in range(150)]
    for name, p in usual.items():
        mean = np.mean([habits[name] for habits in drawn])
        # the variance of a Dirichlet share is p (1 - p) / (concentration + 1)
        assert abs(mean - p) < 4 * np.sqrt(p * (1 - p) / 5 / 150)
    sums = [sum(habits.values()) for habits in drawn]
    assert sums == pytest.approx(np.ones(150))
    largest = [
        np.mean([max(household(home, rng=rng, concentration=c).probabilities("cup").values())
                 for _ in range(20)])
        for c in (0.5, 4.0, 1000.0)
    ]  # fmt: skip
    assert largest[0] > largest[1] > largest[2]
    with pytest.raises(ValueError, match="concentration must be above 0 and finite, not 0"):
        household(home, rng=rng, concentration=0)


def test_target_cells_are_those_of_the_scenario_in_every_household(site):
    lived_in = household(site.home, rng=np.random.default_rng(5), concentration=0.1)
    assert np.array_equal(lived_in.target_cells(), site.home.target_cells())


def test_options_fix_what_they_name_and_nothing_else(env):
    free, _ = env.reset(seed=4)
    x, y = env.points[3]
    obs, _ = env.reset(seed=4, options={"start": (x, y)})
    assert obs["pose"].tolist() == [x, y]
    assert obs["object"] == free["object"]
    assert obs["clock"] == free["clock"]
    other = next(thing for thing in env.things if thing != env.thing)
    obs, _ = env.reset(seed=4, options={"object": other, "clock": 3600, "scenario": "kitchen1"})
    assert env.thing == other
    assert env.things[obs["object"]] == other
    assert obs["clock"] == 3600
    assert np.array_equal(obs["pose"], free["pose"])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"thing": "cup"}, ValueError, "no option 'thing'; valid are object, start, clock, scenario"),
        ({"object": "sofa"}, sl.UnknownObjectError, "no object 'sofa'; valid are bottle, can, cup"),
        ({"object": 2}, sl.UnknownObjectError, "no object 2; valid are"),
        ({"start": (-3.0, 1.0)}, sl.UnreachableError, "the nearest free point is"),
        ({"clock": DAY_S}, ValueError, "clock must be seconds from 0 to below 86400, not 86400"),
        ({"clock": "noon"}, ValueError, "not 'noon'"),
        ({"clock": float("nan")}, ValueError, "not nan"),
        ({"scenario": "kitchen2"}, ValueError, "no scenario 'kitchen2'; valid are kitchen1"),
    ],
    ids=str,
)  # fmt: skip
def test_bad_options_are_refused_and_the_search_goes_on(options, error, message, env):
    expected = masked_walk(env, 3)
    env.reset(seed=3)
    with pytest.raises(error, match=message):
        env.reset(options=options)
    rng = np.random.default_rng(3)
    for before, (obs, *_) in pairwise(expected):
        points = np.flatnonzero(before[3]["action_mask"][:-1])
        now = env.step(int(rng.choice(points)) if len(points) else K)[0]
        assert all(np.array_equal(now[key], obs[key]) for key in obs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"points": 0}, "0 vantage points are asked for"),
        ({"points": 10**6}, "points must be at most"),
        ({"points": []}, "at least one point"),
        ({"points": [(-5.0, 0.0)]}, "the nearest free point is"),
        ({"scenarios": ()}, "at least one scenario"),
        ({"scenarios": ("kitchen1", "kitchen1")}, "named once"),
        ({"scenarios": ("kitchen1", "kitchen2"), "points": [(1.0, 1.0)]}, "single scenario"),
        ({"scenarios": "castle"}, "castle is neither a folder"),
        ({"render_mode": "human"}, "valid are ansi, rgb_array and None"),
        ({"speed_m_s": 0}, "speed_m_s must be above 0"),
    ],
    ids=str,
)
def test_bad_settings_are_refused(arguments, message):
    with pytest.raises((ValueError, sl.SightlineError), match=message):
        ObjectSearchEnv(**arguments)


def test_a_home_without_objects_or_with_two_sensors_is_refused(site):
    empty = sl.OccupancyMap.from_array(np.zeros((40, 40), dtype=int), 0.1)
    with pytest.raises(sl.PlacesError, match="empty knows no objects"):
        ObjectSearchEnv(sl.Scenario("empty", empty))
    with pytest.raises(ValueError, match="A Site brings its sensor"):
        ObjectSearchEnv(site, sensor=sl.Sensor())


@pytest.mark.parametrize("action", [-1, K + 1, 1000])
def test_actions_that_are_none_are_refused(action, env):
    env.reset(seed=0)
    with pytest.raises(ValueError, match=f"action must lie in 0 to {K} .stop., not {action}"):
        env.step(action)


def test_nothing_can_be_asked_before_a_reset(site):
    env = ObjectSearchEnv(site, points=K)
    with pytest.raises(ResetNeeded, match="call reset first"):
        env.step(0)
    env.reset(seed=0)
    with pytest.raises(ResetNeeded, match="has not ended"):
        _ = env.episode


def test_it_is_the_search_of_the_searcher(env, site):
    """The route of a planner, driven by ``Searcher`` and stepped through here, ends the same."""
    searcher = sl.Searcher(
        site, learner=sl.Uniform(), planner=sl.Coverage(time_limit_s=0.2), points=env.points
    )
    for seed in range(6):
        env.reset(seed=seed)
        theirs = searcher.search(
            env.thing, world=env._world, rng=np.random.default_rng(seed), approach=False
        )  # fmt: skip
        env.reset(seed=seed)
        least_m = env._world.least_way_m(env.thing)
        rewards, over = 0.0, False
        for visit in theirs.visits[1:]:
            _, reward, over, _, info = env.step(visit.point)
            rewards += reward
        if not over:
            _, reward, over, _, info = env.step(K)
            rewards += reward
        assert over
        assert info["outcome"] == theirs.outcome
        assert info["p"] == theirs.visits[-1].driven_m
        assert info["l"] == least_m
        assert info["spl"] == spl(theirs.outcome is sl.Outcome.FOUND, least_m, info["p"])
        assert rewards == pytest.approx(10.0 * info["success"] - info["p"])
        assert info["time_to_find"] == pytest.approx(info["p"] / 0.5)
        assert env.episode.visits == theirs.visits
        assert env.episode.position == theirs.position


def test_an_object_in_view_of_the_start_is_found_by_any_action(site):
    env = ObjectSearchEnv(site, points=K)
    for seed in range(200):
        _, info = env.reset(seed=seed)
        if not info["action_mask"][:K].any():
            for action in (0, K):
                env.reset(seed=seed)
                _, reward, over, _, info = env.step(action)
                assert over
                assert reward == 10.0
                assert (info["success"], info["spl"], info["l"], info["p"]) == (True, 1.0, 0.0, 0.0)
            return
    pytest.fail("In 200 episodes no object was in view of the start.")


def test_stopping_ends_the_search_without_success(env):
    env.reset(seed=0)
    _, reward, over, _, info = env.step(K)
    assert over
    assert reward == 0.0
    assert info["outcome"] == "not_found"
    assert info["spl"] == 0.0
    assert not info["success"]


def test_blocked_ways_close_points_and_searches_end_when_none_is_left(site):
    env = ObjectSearchEnv(site, points=K, troubles=sl.Troubles(blocked_rate=1.0))
    env.reset(seed=2)
    start = env._world.position
    env._world.reset(start=start, positions={env.thing: [(-50.0, -50.0)]})
    for j in range(K):
        obs, _, over, _, info = env.step(j)
        assert info["action_mask"][j] == 0
        assert over == (j == K - 1)
    assert not obs["visited"].any()
    assert info["outcome"] == "not_found"
    assert info["l"] == np.inf


def test_false_alarms_cost_the_way_to_them_but_no_success():
    """Each alarm is driven to; only the object itself ends the search with success."""
    env = ObjectSearchEnv("kitchen1", points=K, sensor=sl.Sensor(false_alarm_rate=0.5))
    longer = 0
    for seed in range(10):
        steps = masked_walk(env, seed)
        visits = env.episode.visits
        stops = sum(visit.point >= 0 for visit in visits)
        longer += len(visits) > stops + 1
        if steps[-1][3]["success"]:
            at, true = np.array(env.episode.position), env._world.lying(env.thing)
            assert np.hypot(*(true - at).T).min() <= 0.3
    assert longer


def test_the_context_is_what_it_is_said_to_be(env, site):
    obs, _ = env.reset(seed=1)
    obs, *_ = env.step(2)
    here = obs["pose"]
    assert np.array_equal(obs["context"][:, :2], env.points)
    assert obs["context"][:, 2] == pytest.approx(site.free.distances(here[None], env.points)[0])
    # one by one: a cell of 0.2 m is new if neither the start nor the stop sees it
    looks = [env._on_trip().query.start, here]
    looked = sl.visible(site.home, looks, site.cells, site.sensor)
    known = set(looked.indices.tolist())
    sees = sl.visible(site.home, env.points, site.cells, site.sensor).toarray()
    for j in (0, 2, 5):
        new = [c for c in np.flatnonzero(sees[j]) if c not in known]
        assert obs["context"][j, 3] == pytest.approx(0.04 * len(new))


def test_the_clock_runs_while_the_robot_drives_and_looks(site):
    env = ObjectSearchEnv("kitchen1", points=K, sensor=sl.Sensor(look_s=4.0), speed_m_s=0.25)
    obs, _ = env.reset(seed=1, options={"clock": DAY_S - 5})
    assert obs["clock"] == DAY_S - 1  # the look at the start
    obs, reward, *_ = env.step(4)
    driven_m = -reward if reward <= 0 else 10.0 - reward
    assert obs["clock"][0] == pytest.approx((DAY_S + 3 + driven_m / 0.25) % DAY_S)


def test_a_time_limit_cuts_the_search_off():
    """The environment does not know of it, so ``info`` has no result, but ``result`` has."""
    env = gymnasium.make(ENV_ID, points=K, max_episode_steps=2)
    for seed in range(20):
        env.reset(seed=seed)
        over = env.step(0)[2] or env.step(1)[2]
        if not over:
            env.reset(seed=seed)
            env.step(0)
            _, reward, over, cut, info = env.step(1)
            assert (over, cut) == (False, True)
            assert set(info) == {"action_mask"}
            result = env.unwrapped.result()
            assert result["outcome"] == "cancelled"
            assert (result["success"], result["spl"]) == (False, 0.0)
            assert result["p"] >= -reward > 0
            return
    pytest.fail("Every search was over within two steps.")


def test_several_homes_share_one_space():
    env = ObjectSearchEnv(("kitchen1", "kitchen2"), points=K)
    names = set()
    for seed in range(8):
        for obs, *_ in masked_walk(env, seed):
            assert obs in env.observation_space
        names.add(env.site.home.name)
    assert names == {"kitchen1", "kitchen2"}
    env.reset(seed=0, options={"scenario": "kitchen2"})
    assert env.site.home.name == "kitchen2"


def test_points_of_ones_own(site):
    chosen = site.standing[[10, 400, 2000]]
    env = ObjectSearchEnv(site, points=chosen)
    assert env.action_space.n == 4
    env.reset(seed=0)
    obs, *_ = env.step(1)
    assert np.array_equal(env.points, chosen)
    assert (obs["visited"].tolist() == [0, 1, 0]) or obs["visited"].tolist() == [0, 0, 0]


def test_learners_learn_from_its_episodes(env, site):
    learner = sl.Frequency()
    learner.meet(site)
    before = learner.state()["finds"].sum()
    finds = 0
    for seed in range(5):
        finds += masked_walk(env, seed)[-1][3]["success"]
        assert env.episode.belief is None
        learner.update(env.episode)
    assert learner.state()["finds"].sum() - before == finds > 0


def test_it_is_drawn_as_text_and_as_a_picture(site):
    texts = ObjectSearchEnv(site, points=K, render_mode="ansi")
    texts.reset(seed=6, options={"start": tuple(site.standing[100])})
    assert texts.render().startswith("kitchen1: ")
    assert "0.0 m driven, 0 of 12 points visited, searching" in texts.render()
    texts.step(K)
    assert texts.render().endswith("not_found")
    pictures = ObjectSearchEnv(site, points=K, render_mode="rgb_array")
    pictures.reset(seed=6)
    first = pictures.render()
    pictures.step(3)
    second = pictures.render()
    assert first.dtype == np.uint8
    assert first.shape == second.shape
    assert first.shape[2] == 3
    assert (first != second).any()
    assert ObjectSearchEnv(site, points=K).render() is None
