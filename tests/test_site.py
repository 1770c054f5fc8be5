"""Points of a home from which a position is within reach."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sightline as sl
from rooms import two_rooms

HOME = two_rooms()


@pytest.fixture(scope="module")
def site() -> sl.Site:
    return sl.Site.of(HOME)


@given(st.integers(0, 10**6), st.floats(0.05, 6.35), st.floats(0.05, 2.95), st.floats(0.0, 1.5))
def test_within_reach_is_the_nearest_by_way_of_all_that_are(site, start, x, y, reach):
    here = tuple(site.standing[start % len(site.standing)].tolist())
    got = site.within_reach(here, (x, y), reach)
    gaps = [float(np.hypot(a - x, b - y)) for a, b in site.standing]
    fit = [spot for spot, gap in zip(site.standing, gaps, strict=True) if gap <= reach]
    if not fit:
        fit = [
            spot for spot, gap in zip(site.standing, gaps, strict=True) if gap < min(gaps) + 1e-9
        ]
    assert any((np.array(got) == spot).all() for spot in fit)
    ways = site.free.distances([here], np.array(fit))[0]
    assert site.ways.metres(here, got) == pytest.approx(ways.min(), abs=1e-6)


def test_who_is_within_reach_stays(site):
    here = tuple(site.standing[40].tolist())
    assert site.within_reach(here, here, 0.5) == here


def test_a_spot_near_keeps_apart_from_others(site):
    here, there = tuple(site.standing[40].tolist()), (2.0, 1.5)
    others: list[tuple[float, float]] = []
    while (spot := site.spot_near(here, there, 1.5, apart_from=others, gap_m=0.8)) is not None:
        assert all(np.hypot(spot[0] - x, spot[1] - y) >= 0.8 for x, y in others)
        assert np.hypot(spot[0] - there[0], spot[1] - there[1]) <= 1.5
        others.append(spot)
    assert len(others) > 1


def test_a_spot_is_among_those_that_count(site):
    here, there = tuple(site.standing[40].tolist()), (2.0, 1.5)
    among = site.standing[:, 0] > 4.2  # the other room
    spot = site.spot_near(here, there, 0.5, among=among)
    gaps = np.hypot(*(site.standing[among] - np.array(there)).T)
    assert spot[0] > 4.2
    assert np.hypot(spot[0] - there[0], spot[1] - there[1]) == pytest.approx(gaps.min())
    assert site.spot_near(here, there, 0.5, among=among & False) is None
