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
