"""Where there is nothing to learn, nobody gains: objects anywhere, each search anew."""

from collections.abc import Callable

import numpy as np
import pytest

import sightline as sl
from sightline.learn.acquaintance import even_mass
from sightline.learn.protocol import Learner
from sightline.records import Belief, Episode, Query
from sightline.regret import Course, follow, lay_course
from test_learners import LEARNERS

SEEDS, EPISODES = 10, 60
T_975 = 2.262  # Student's t of 9 degrees of freedom


class Cheat:
    """Knows where the object lies this time."""

    def __init__(self, course: Course) -> None:
        self.course, self.episode = course, 0

    def predict(self, query: Query, points: np.ndarray) -> Belief:
        gaps = np.hypot(*(points - self.course.positions[self.episode]).T)
        sees = (gaps <= self.course.site.sensor.range_m).astype(float)
        return Belief(sees, 0 * sees, sees)

    def update(self, episode: Episode) -> None:
        self.episode += 1


@pytest.fixture(scope="module")
def courses() -> list[Course]:
    home = sl.Scenario.load("wrs2020")
    site = sl.Site.of(home, sensor=sl.Sensor(range_m=1.2, kind="disc"), robot_radius_m=0.2)
    even, out = {thing: even_mass(site) for thing in home.objects}, []
    for seed in range(SEEDS):
        rng = np.random.default_rng((31, seed))
        points = sl.farthest_points(site.free, 10, rng=rng)
        course = lay_course(site, points, EPISODES, masses=even, least=np.zeros(EPISODES), rng=rng)
        out.append(course)
    return out


def late_metres(courses: list[Course], make: Callable[[Course], Learner]) -> np.ndarray:
    """Metres driven per search (seeds,), over the second half of each course."""
    out = []
    for seed, course in enumerate(courses):
        costs = follow(course, make(course), rng=np.random.default_rng((32, seed)))
        out.append(costs.driven[EPISODES // 2 :].mean())
    return np.array(out)


def introduced(name: str) -> Callable[[Course], Learner]:
    def make(course: Course) -> Learner:
        learner = LEARNERS[name]()
        learner.meet(course.site)
        return learner

    return make


def interval(gain: np.ndarray) -> tuple[float, float]:
    error = T_975 * gain.std(ddof=1) / np.sqrt(len(gain))
    return gain.mean() - error, gain.mean() + error


@pytest.fixture(scope="module")
def even_metres(courses) -> np.ndarray:
    return late_metres(courses, introduced("Uniform"))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in LEARNERS if name not in ("Uniform", "Oracle")])
def test_no_learner_gains_where_nothing_can_be_learned(name, courses, even_metres):
    """Metres saved per search against Uniform, paired by seed: not above zero beyond the noise."""
    low, _ = interval(even_metres - late_metres(courses, introduced(name)))
    assert low <= 0


def test_who_peeks_is_caught(courses, even_metres):
    low, _ = interval(even_metres - late_metres(courses, Cheat))
    assert low > 1
