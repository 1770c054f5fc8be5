"""Features: norms, what each part shows, and the map that they are taken from."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sightline as sl
from grids import ascii_map
from sightline.features import (
    PATCH,
    Features,
    FeatureSettings,
    features_of,
    normalised,
    wall_distance,
)

HALL = """
    ####################
    #..................#
    #..................#
    #....##............#
    #....##............#
    #..................#
    #..................#
    ####################
"""


@pytest.fixture(scope="module")
def hall():
    """20 x 8 cells of half a metre, with a pillar, turned and moved."""
    return ascii_map(HALL, 0.5, (3.0, -2.0, 0.7))


@pytest.fixture(scope="module")
def kitchen():
    return sl.Scenario.load("kitchen1").map


@pytest.mark.parametrize("resolution", [37, 75, 150])
@pytest.mark.parametrize("encoding", [5, 10, 15, 20, 30, 50])
@pytest.mark.parametrize("normaliser", ["l2", "mean-var"])
@pytest.mark.parametrize("share", [None, 0.3])
def test_norms_are_one_for_all_settings_of_the_paper(
    kitchen, resolution, encoding, normaliser, share
):
    points = kitchen.free_space(0.25).points(0.3)
    features = Features(kitchen, FeatureSettings(resolution, encoding, normaliser, share))
    phi = features.phi(1, 5, points)
    assert phi.shape == (len(points), 256 + encoding + 5)
    assert np.linalg.norm(phi, axis=1) == pytest.approx(np.ones(len(points)))
    one_hot = phi[:, 256 + encoding :]
    assert (one_hot[:, 1] > 0).all()
    assert not one_hot[:, [0, 2, 3, 4]].any()


def test_the_share_of_the_identity_is_what_is_asked_for(kitchen):
    features = Features(kitchen, FeatureSettings(identity_share=0.25))
    phi = features.phi(0, 2, kitchen.free_space(0.25).points(0.5))
    assert phi[:, -2] == pytest.approx(np.full(len(phi), 0.5))


def test_mean_var_is_standard_before_it_is_scaled(kitchen):
    settings = FeatureSettings(normaliser="mean-var")
    points = kitchen.free_space(0.25).points(0.5)
    place, one = normalised(Features(kitchen, settings).places(points), settings)
    assert place.mean(axis=1) == pytest.approx(np.zeros(len(place)), abs=1e-12)
    assert place.std(axis=1) / one == pytest.approx(np.ones(len(place)))


def test_more_objects_only_append_zeros(hall):
    points = hall.free_space(0.2).points()
    for normaliser in ("l2", "mean-var"):
        features = Features(hall, FeatureSettings(normaliser=normaliser))
        few, many = features.phi(1, 2, points), features.phi(1, 4, points)
        assert np.array_equal(many[:, :-2], few)
        assert not many[:, -2:].any()


def test_wall_distances_are_those_of_the_map_when_pixels_are_cells(hall):
    scaled = wall_distance(hall, 0.5)
    assert scaled == pytest.approx(hall.clearance_m / hall.clearance_m.max())
    assert scaled.max() == 1.0


@pytest.mark.parametrize("resolution", [37, 75, 150])
def test_the_longer_side_has_as_many_pixels_as_the_resolution(kitchen, resolution):
    features = Features(kitchen, FeatureSettings(resolution))
    assert max(features.wall_distance.shape) == resolution
    assert features.wall_distance.min() >= 0
    assert features.wall_distance.max() <= 1


def test_the_patch_is_the_map_around_the_point(hall):
    """Pixels are cells here, so the middle of the patch is the cell of the point."""
    features = Features(hall, FeatureSettings(20, 0))
    share = hall.clearance_m / hall.clearance_m.max()
    for row, column in ((3, 4), (1, 1), (6, 18)):
        patch = features.places(hall.centres([[row, column]])).reshape(PATCH, PATCH)
        for up, right in ((0, 0), (1, 0), (0, -1), (-3, 5), (7, -8)):
            at = row + up, column + right
            inside = 0 <= at[0] < 8 and 0 <= at[1] < 20
            expected = share[at] if inside else 0.0
            assert patch[8 + up, 8 + right] == pytest.approx(expected)


def test_the_encoding_is_sines_and_cosines_of_each_wavelength(hall):
    """Wavelengths from twice the longer side of 10 m to an eighth of it: 20 m and 1.25 m."""
    features = Features(hall, FeatureSettings(20, 7))
    x, y = 1.3, 2.9
    got = features.places(hall.to_world((x / 0.5, y / 0.5)))[0, 256:]
    long, short = 2 * math.pi / 20, 2 * math.pi / 1.25
    assert got == pytest.approx(
        [
            *(math.sin(long * x), math.cos(long * x), math.sin(long * y), math.cos(long * y)),
            *(math.sin(short * x), math.cos(short * x), math.sin(short * y)),
        ]
    )


@given(st.floats(-50, 50), st.floats(-50, 50))
def test_any_position_has_features(x, y):
    """Also off the map, where a lost robot may be."""
    on = ascii_map(HALL, 0.5)
    phi = features_of(on, FeatureSettings()).phi(0, 3, [x, y])
    assert phi.shape == (1, 309)
    assert np.linalg.norm(phi) == pytest.approx(1.0)


def test_a_map_without_obstacles_has_features():
    phi = Features(ascii_map("....\n....\n...."), FeatureSettings()).phi(0, 1, [[1.5, 1.5]])
    assert np.isfinite(phi).all()
    assert not phi[0, :256].any()


def test_all_points_at_once_are_as_one_by_one(kitchen):
    features = Features(kitchen, FeatureSettings())
    points = kitchen.free_space(0.25).points(0.5)
    single = np.vstack([features.phi(0, 1, at) for at in points])
    assert np.array_equal(features.phi(0, 1, points), single)
    assert features.phi(0, 1, np.empty((0, 2))).shape == (0, 307)


def test_features_of_a_map_are_kept(kitchen):
    assert features_of(kitchen, FeatureSettings(75)) is features_of(kitchen, FeatureSettings(75))
    assert features_of(kitchen, FeatureSettings(37)) is not features_of(
        kitchen, FeatureSettings(75)
    )


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"resolution": 15}, "16 to 1000"),
        ({"resolution": 37.5}, "whole number"),
        ({"encoding": -1}, "encoding"),
        ({"encoding": True}, "encoding"),
        ({"normaliser": "minmax"}, "l2, mean-var"),
        ({"identity_share": 1.0}, "between 0 and 1"),
    ],
)
def test_settings_out_of_range_are_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        FeatureSettings(**settings)


def test_positions_that_are_no_numbers_are_refused(hall):
    with pytest.raises(ValueError, match="finite"):
        Features(hall, FeatureSettings()).phi(0, 1, [[math.nan, 0.0]])
    with pytest.raises(ValueError, match="0 to 1"):
        Features(hall, FeatureSettings()).phi(2, 2, [[5.0, 0.0]])
