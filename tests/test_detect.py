import math
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenes import board, camera, cylinder, frame, level
from sightline.detect import Camera, Detection, SimulatedDetector, locate
from sightline.errors import DetectError

SIZES = {
    "bottle": (0.07, 0.25),
    "bowl": (0.16, 0.08),
    "can": (0.066, 0.12),
    "chips-bag": (0.16, 0.22),
    "cup": (0.08, 0.10),
}
FOCAL_PX = 160 / math.tan(1.2043 / 2)


def detector(seed=0, **settings):
    """A simulated detector without false alarms and confusion, unless they are asked for."""
    settings = {"false_alarm_rate": 0.0, "confusion_rate": 0.0, **settings}
    return SimulatedDetector(rng=np.random.default_rng(seed), sizes=SIZES, **settings)


def standing(thing, view, at, *others):
    """A frame with one thing, drawn as an upright rectangle of its size."""
    return frame(view, [(thing, board(view, at, *SIZES[thing]))], others)


# --- cameras


@settings(deadline=None)
@given(
    st.tuples(*[st.floats(-20, 20)] * 3),
    st.floats(-7, 7),
    st.floats(-1.5, 1.5),
    st.floats(0.2, 2.5),
    st.integers(0, 2**32 - 1),
)
def test_a_pixel_and_its_depth_come_back_from_the_point(position, yaw, pitch, field, seed):
    view = Camera(320, 240, field, position, yaw, pitch)
    rng = np.random.default_rng(seed)
    pixels, depth = rng.uniform(-50, 400, (20, 2)), rng.uniform(0.05, 10, 20)
    again, far = view.project(view.unproject(pixels, depth))
    np.testing.assert_allclose(again, pixels, atol=1e-6)
    np.testing.assert_allclose(far, depth, atol=1e-9)


@given(st.floats(-7, 7), st.floats(-1.5, 1.5))
def test_the_axes_are_a_right_handed_frame_whose_x_is_level(yaw, pitch):
    axes = camera(yaw=yaw, pitch=pitch).axes
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(axes) == pytest.approx(1)
    assert axes[0, 2] == 0


@pytest.mark.parametrize(
    ("view", "point", "pixel"),
    [
        (camera(), (2, 0, 1), (160, 120)),
        (camera(yaw=math.pi / 2), (0, 2, 1), (160, 120)),
        (camera(pitch=math.pi / 4), (1, 0, 0), (160, 120)),
        (camera(), (1, 0.5, 1), (160 - FOCAL_PX / 2, 120)),
        (camera(), (1, 0, 0.5), (160, 120 + FOCAL_PX / 2)),
        (camera(), (1, math.tan(1.2043 / 2), 1), (0, 120)),
    ],
    ids=[
        "ahead",
        "turned left",
        "looking down",
        "left",
        "below",
        "at the rim of the field of view",
    ],
)
def test_points_are_where_a_camera_sees_them(view, point, pixel):
    np.testing.assert_allclose(view.project(point)[0][0], pixel, atol=1e-9)


def test_what_is_behind_has_no_pixel():
    pixels, depth = camera().project([[-1, 0, 1], [0, 1, 1], [1, 0, 1]])
    assert np.isnan(pixels).all(axis=1).tolist() == [True, True, False]
    assert depth.tolist() == pytest.approx([-1, 0, 1])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("width", 0),
        ("height", 2.5),
        ("field_of_view_rad", math.pi),
        ("yaw_rad", math.nan),
        ("position", (0, math.inf, 1)),
    ],
)
def test_a_camera_refuses_what_cannot_be(field, value):
    with pytest.raises(ValueError, match=field):
        replace(camera(), **{field: value})


# --- frames


def test_a_frame_keeps_copies_that_nobody_changes():
    shot = standing("cup", camera(), (1, 0, 1))
    depth = np.ones((240, 320), dtype=np.float32)
    kept = replace(shot, depth_m=depth)
    depth[:] = 5
    assert (kept.depth_m == 1).all()
    with pytest.raises(ValueError, match="read-only"):
        kept.depth_m[0, 0] = 2


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("rgb", np.zeros((240, 320), np.uint8), r"rgb must be uint8 of shape \(240, 320, 3\)"),
        ("rgb", np.zeros((240, 320, 3)), "rgb must be uint8"),
        ("depth_m", np.zeros((320, 240)), "depth_m must be float32 of shape"),
        ("segments", np.full((240, 320), 1), "segments must lie in -1 to 0"),
        ("segments", np.full((240, 320), -2), "segments must lie in -1 to 0"),
    ],
)
def test_a_frame_refuses_what_does_not_fit_its_camera(field, value, words):
    with pytest.raises(ValueError, match=words):
        replace(standing("cup", camera(), (1, 0, 1)), **{field: value})


# --- where a thing is


def regions(shot):
    """The mask of the only thing in a frame, and its box."""
    mask = shot.segments == 0
    rows, columns = np.nonzero(mask)
    box = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
    return {"mask": mask, "box": tuple(map(float, box))}


@pytest.mark.parametrize("kind", ["mask", "box"])
@pytest.mark.parametrize("distance_m", [0.7, 1.5, 2.5, 4.0])
@pytest.mark.parametrize(
    ("radius_m", "height_m"),
    [(0.033, 0.12), (0.035, 0.25), (0.08, 0.08)],
    ids=["can", "bottle", "bowl"],
)
def test_things_on_a_table_are_located_within_3_cm(radius_m, height_m, distance_m, kind):
    for side_m in (-0.5, 0.0, 0.3):
        view = camera(z=1.2, pitch=0.35)
        at = (distance_m, side_m * distance_m, 0.75 + height_m / 2)
        table = level(view, 0.75, (distance_m - 0.3, distance_m + 0.4), (-3, 3))
        shot = frame(view, [("thing", cylinder(view, at, radius_m, height_m))], [table])
        found = locate(shot, regions(shot)[kind])
        assert math.dist(found[:2], at[:2]) < 0.03
        assert abs(found[2] - at[2]) < 0.06


def test_a_box_that_is_too_large_still_gives_the_thing_and_not_the_wall():
    view = camera()
    shot = standing("bottle", view, (1.5, 0.2, 1.0))
    left, top, right, bottom = regions(shot)["box"]
    wide = (left - 4, top - 4, right + 4, bottom + 4)
    assert math.dist(locate(shot, wide), (1.5, 0.2, 1.0)) < 0.05


def test_a_thin_pole_in_front_is_not_taken_for_the_thing():
    view = camera()
    pole = board(view, (0.8, 0.0, 1.0), 0.008, 2.0)
    shot = standing("chips-bag", view, (1.5, 0.0, 1.0), pole)
    assert math.dist(locate(shot, regions(shot)["box"]), (1.5, 0.0, 1.0)) < 0.06


@pytest.mark.parametrize("hole", [0.0, math.inf, math.nan, -1.0])
@pytest.mark.parametrize("kind", ["mask", "box"])
def test_holes_in_the_depth_do_no_harm(kind, hole):
    shot = standing("bottle", camera(), (1.5, 0.2, 1.0))
    depth = np.where(np.random.default_rng(0).random((240, 320)) < 0.7, hole, shot.depth_m)
    assert (
        math.dist(locate(replace(shot, depth_m=depth), regions(shot)[kind]), (1.5, 0.2, 1.0)) < 0.05
    )
    nothing = replace(shot, depth_m=np.full((240, 320), hole))
    assert locate(nothing, regions(shot)[kind]) is None


def test_noise_of_a_depth_camera_does_little():
    shot = standing("can", camera(), (1.5, 0.2, 1.0))
    noisy = shot.depth_m + np.random.default_rng(0).normal(0, 0.02, (240, 320))
    for region in regions(shot).values():
        assert math.dist(locate(replace(shot, depth_m=noisy), region), (1.5, 0.2, 1.0)) < 0.05


@pytest.mark.parametrize(
    "region",
    [(10, 10, 5, 20), (0, 0, math.nan, 1), np.zeros((3, 3), bool), np.zeros((240, 320))],
    ids=["turned round", "nan", "small mask", "mask of floats"],
)
def test_a_region_that_is_none_is_refused(region):
    with pytest.raises(ValueError, match=r"A (box|mask) must be"):
        locate(standing("cup", camera(), (1, 0, 1)), region)


def test_a_box_outside_the_image_holds_nothing():
    assert locate(standing("cup", camera(), (1, 0, 1)), (-20, -20, -10, -10)) is None


# --- the simulated detector: what it finds


def share_found(shot, draws=800, **settings):
    """The share of episodes in which the only thing of a frame is reported under its name."""
    finder, rng = detector(**settings), np.random.default_rng(5)
    found = 0
    for _ in range(draws):
        finder.reset(rng=rng)
        found += any(one.thing == shot.things[0] for one in finder.detect(shot))
    return found / draws


def written_out(thing, depth_m, shown=1.0, rate=0.846):
    """The formula of the documentation."""
    width_m, height_m = SIZES[thing]
    pixels = width_m * height_m * FOCAL_PX**2 / depth_m**2
    seen = min(1, max(0, (shown - 0.15) / 0.55))
    return rate / (1 + (25 / pixels) ** 2) * seen


@pytest.mark.parametrize("confusion_rate", [0.0, 0.1])
@pytest.mark.parametrize(("thing", "depth_m"), [("bottle", 0.8), ("cup", 2.5), ("can", 4.5)])
def test_the_rate_follows_the_formula(thing, depth_m, confusion_rate):
    """800 draws: a standard deviation is at most 0.017, the tolerance three of them."""
    shot = standing(thing, camera(), (depth_m, 0, 1))
    expected = detector().chance(thing, distance_m=depth_m, focal_px=FOCAL_PX)
    assert expected == pytest.approx(written_out(thing, depth_m))
    assert share_found(shot, confusion_rate=confusion_rate) == pytest.approx(expected, abs=0.05)


def test_at_close_range_and_in_full_view_the_rate_is_that_of_the_paper():
    assert detector().chance("cup", distance_m=0.5, focal_px=FOCAL_PX) == pytest.approx(
        0.846, abs=1e-3
    )


@pytest.mark.parametrize("covered_m", [0.05, 0.10, 0.15])
def test_the_rate_falls_with_what_hides_the_thing(covered_m):
    view = camera()
    screen = board(view, (1.0, 0.0, 1.0 - 0.125 + covered_m / 2), 1.0, covered_m)
    shot = standing("bottle", view, (1.05, 0, 1), screen)
    shown = (shot.segments == 0).sum() / (0.07 * 0.25 * FOCAL_PX**2 / 1.05**2)
    assert share_found(shot) == pytest.approx(written_out("bottle", 1.05, shown), abs=0.05)


def test_what_has_no_pixel_is_never_reported():
    view = camera()
    wall = board(view, (0.9, 0, 1), 0.4, 0.4)
    hidden = standing("cup", view, (1, 0, 1), wall)
    assert share_found(hidden, draws=50, true_positive_rate=1.0) == 0


def test_what_shows_less_than_15_percent_is_never_reported():
    view = camera()
    screen = board(view, (1.0, 0.0, 0.98), 1.0, 0.25)
    peeping = standing("bottle", view, (1.05, 0, 1), screen)
    assert (peeping.segments == 0).sum() > 10
    assert share_found(peeping, draws=50, true_positive_rate=1.0) == 0


def test_beyond_the_range_nothing_is_reported():
    shot = standing("bottle", camera(), (3, 0, 1))
    assert share_found(shot, draws=20, true_positive_rate=1.0, max_range_m=3.1) > 0.9
    assert share_found(shot, draws=20, true_positive_rate=1.0, max_range_m=2.9) == 0


def test_a_report_has_a_tight_box_and_the_place():
    shot = standing("bottle", camera(), (1.5, 0.2, 1.0))
    (report,) = detector(true_positive_rate=1.0).detect(shot)
    assert isinstance(report, Detection)
    assert report.thing == "bottle"
    assert report.box == regions(shot)["box"]
    assert 0 < report.score <= 1
    assert math.dist(report.position, (1.5, 0.2, 1.0)) < 0.05


# --- the simulated detector: nearly the same view


def found_in(finder, *shots):
    return [bool(finder.detect(shot)) for shot in shots]


@pytest.mark.parametrize("seed", range(30))
def test_a_better_look_from_the_same_view_never_loses_what_a_worse_one_found(seed):
    looks = [standing("cup", camera(x), (4, 0, 1)) for x in (0.0, 0.3, 0.6, 0.9)]
    found = found_in(detector(seed), *looks)
    assert found == sorted(found)


def test_turning_the_head_and_looking_again_renew_nothing():
    turns = [standing("cup", camera(yaw=yaw), (2, 0, 1)) for yaw in (-0.4, -0.1, 0.0, 0.2, 0.4)]
    outcomes = [found_in(detector(seed), *turns, *turns) for seed in range(60)]
    assert all(len(set(outcome)) == 1 for outcome in outcomes)
    assert 0 < sum(outcome[0] for outcome in outcomes) < 60


def test_a_new_view_is_a_new_draw_and_an_old_one_is_remembered():
    here, there = (standing("cup", camera(0, y), (1, y, 1)) for y in (0.0, 1.2))
    outcomes = [found_in(detector(seed), here, there, here) for seed in range(300)]
    assert all(first == again for first, _, again in outcomes)
    both = np.mean([first and second for first, second, _ in outcomes])
    assert both == pytest.approx(0.846**2, abs=0.1)


def test_things_of_one_name_have_draws_of_their_own():
    view = camera()
    pair = frame(view, [("cup", board(view, (1, y, 1), 0.08, 0.1)) for y in (-0.3, 0.3)])
    counts = Counter(len(detector(seed).detect(pair)) for seed in range(200))
    assert counts[1] == pytest.approx(200 * 2 * 0.846 * 0.154, abs=25)


# --- the simulated detector: streams


@cache
def walk(things=("cup", "can")):
    """Frames along a walk past two things."""
    at = {"cup": (2, -0.3, 1), "can": (2, 0.3, 1)}
    views = [camera(0, y, yaw=yaw) for y in (-2.5, -1.2, 0, 1.2, 2.5) for yaw in (-0.4, 0, 0.4)]
    return [
        frame(view, [(thing, board(view, at[thing], *SIZES[thing])) for thing in things])
        for view in views
    ]


ERRING = {"false_alarm_rate": 0.5, "confusion_rate": 0.15}


def test_a_seeded_episode_repeats_and_another_differs():
    def episode(finder):
        return [finder.detect(shot) for shot in walk()]

    finder = detector(3, **ERRING)
    first = episode(finder)
    assert episode(detector(3, **ERRING)) == first
    finder.reset(rng=np.random.default_rng(3))
    assert episode(finder) == first
    finder.reset(rng=np.random.default_rng(4))
    assert episode(finder) != first


@pytest.mark.parametrize("seed", range(5))
def test_whether_one_thing_is_in_sight_changes_nothing_for_another(seed):
    def cups(shots):
        finder = detector(seed, confusion_rate=0.15)
        boxes = [regions(shot)["box"] if (shot.segments == 0).any() else None for shot in shots]
        return [
            [one for one in finder.detect(shot) if one.box == box]
            for shot, box in zip(shots, boxes, strict=True)
        ]

    assert cups(walk()) == cups(walk(("cup",)))


# --- the simulated detector: what is not there


def bare_room(view):
    """A table in front of a wall, with nothing on it."""
    floor = level(view, 0.0, (-10, 10), (-10, 10))
    return frame(view, [], [floor, level(view, 0.75, (0.8, 1.8), (-3, 3))], wall_m=3.0)


def look_around(x=0.0, y=0.0):
    return [bare_room(camera(x, y, z=1.2, yaw=yaw)) for yaw in np.arange(6) * math.tau / 6]


def test_false_alarms_come_once_per_look_around_at_their_rate():
    """150 look-arounds: a standard deviation is 0.037."""
    shots, rng = look_around(), np.random.default_rng(1)
    finder = detector(false_alarm_rate=0.3)
    alarms = []
    for _ in range(150):
        finder.reset(rng=rng)
        seen = [one for shot in shots for one in finder.detect(shot)]
        assert len({(one.thing, one.position) for one in seen}) <= 1
        alarms += seen[:1]
    assert len(alarms) / 150 == pytest.approx(0.3, abs=0.1)
    assert {one.thing for one in alarms} == set(SIZES)
    assert all(0.4 <= one.position[2] <= 1.6 for one in alarms)


def first_alarm(shot, **settings):
    """A detector that has raised a false alarm in a frame, and the alarm."""
    for seed in range(100):
        finder = detector(seed, false_alarm_rate=1.0, **settings)
        alarms = finder.detect(shot)
        if alarms:
            return finder, alarms[0]
    raise AssertionError("no false alarm in 100 episodes")


def test_a_false_alarm_stays_where_it_is_while_the_view_stays():
    finder, alarm = first_alarm(bare_room(camera(z=1.2)))
    for x, yaw in [(0.1, 0.1), (0.3, -0.2), (0.5, 0.0)]:
        view = camera(x, z=1.2, yaw=yaw)
        again = finder.detect(bare_room(view))
        (column, row), depth = view.project(alarm.position)[0][0], view.project(alarm.position)[1]
        if not (depth[0] > 0 and 0 <= column < 320 and 0 <= row < 240):
            continue
        (same,) = again
        assert (same.thing, same.score, same.position) == (alarm.thing, alarm.score, alarm.position)
        left, top, right, bottom = same.box
        assert left <= column <= right
        assert top <= row <= bottom


def test_a_false_alarm_is_not_in_frames_that_look_elsewhere_or_have_something_before_it():
    shot = bare_room(camera(z=1.2))
    finder, _ = first_alarm(shot)
    assert not finder.detect(bare_room(camera(z=1.2, yaw=math.pi)))
    assert not finder.detect(replace(shot, depth_m=np.full((240, 320), 0.3)))
    assert finder.detect(shot)


def test_no_false_alarm_where_nothing_of_fitting_height_is_in_sight():
    view = camera(z=1.2, pitch=1.0)
    floor = frame(view, [], [level(view, 0.0, (-9, 9), (-9, 9))])
    assert not any(detector(seed, false_alarm_rate=1.0).detect(floor) for seed in range(30))


def test_some_are_taken_for_others_and_most_often_for_what_resembles_them():
    """Of 1500 that are noticed, 0.3 bear another name: a standard deviation is 0.012."""
    shot = standing("can", camera(), (0.7, 0, 1))
    finder, rng = detector(true_positive_rate=0.7, confusion_rate=0.3), np.random.default_rng(2)
    names = Counter()
    for _ in range(1500):
        finder.reset(rng=rng)
        names.update(one.thing for one in finder.detect(shot))
    assert 1 - names["can"] / names.total() == pytest.approx(0.3, abs=0.04)
    expected = {"bottle": 0.4, "cup": 0.4, "bowl": 0.1, "chips-bag": 0.1}
    for thing, share in expected.items():
        assert names[thing] / (names.total() - names["can"]) == pytest.approx(share, abs=0.07)


def test_a_thing_keeps_its_wrong_name_while_the_view_stays():
    shots = [standing("can", camera(x, yaw=yaw), (1.5, 0, 1)) for x in (0, 0.4) for yaw in (0, 0.3)]
    for seed in range(30):
        finder = detector(seed, true_positive_rate=0.5, confusion_rate=0.5)
        assert len({one.thing for shot in shots for one in finder.detect(shot)}) <= 1


def test_true_reports_score_higher_on_average_than_false_ones():
    things = walk()[7]
    true = [one.score for seed in range(100) for one in detector(seed).detect(things)]
    shot = bare_room(camera(z=1.2))
    false = [
        one.score
        for seed in range(300)
        for one in detector(seed, false_alarm_rate=1.0).detect(shot)
    ]
    assert len(false) > 20
    assert np.mean(true) > np.mean(false) + 0.2


# --- the simulated detector: what it refuses


def test_a_frame_without_segments_is_refused():
    shot = standing("cup", camera(), (1, 0, 1))
    with pytest.raises(DetectError, match=r"needs Frame\.segments.*OnnxDetector"):
        detector().detect(replace(shot, segments=None))


def test_a_thing_without_a_size_is_refused():
    view = camera()
    spoon = frame(view, [("spoon", board(view, (1, 0, 1), 0.1, 0.1))])
    with pytest.raises(DetectError, match="no size of 'spoon'; known are bottle, bowl"):
        detector().detect(spoon)


def test_a_thing_without_depth_is_not_reported():
    shot = standing("cup", camera(), (1, 0, 1))
    blind = replace(shot, depth_m=np.zeros((240, 320)))
    assert not detector(true_positive_rate=1.0).detect(blind)


def test_an_empty_frame_gives_no_report():
    assert detector().detect(bare_room(camera(z=1.2))) == ()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("true_positive_rate", 1.1),
        ("false_alarm_rate", -0.1),
        ("confusion_rate", 0.2),
        ("max_range_m", math.nan),
        ("fresh_m", -1.0),
        ("half_pixels", -1.0),
    ],
)
def test_settings_that_cannot_be_are_refused(field, value):
    with pytest.raises(ValueError, match=f"{field} must lie in"):
        detector(**{field: value})


@pytest.mark.parametrize("sizes", [{}, {"cup": (0.1, 0.0)}, {"cup": (0.1,)}])
def test_sizes_that_cannot_be_are_refused(sizes):
    with pytest.raises(ValueError, match="sizes"):
        SimulatedDetector(rng=np.random.default_rng(0), sizes=sizes)
