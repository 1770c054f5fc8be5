"""Films of searches: the belief that fades, what is recorded, what is drawn, and the files."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import sightline as sl
from sightline import plot
from sightline.errors import FilmError
from sightline.film import HOLD_S, RATE, Recorder, check_file, timeline, write_film
from sightline.search import Trip, ruled_out
from tiny import EAST, START, write_tiny

GREEN = np.array([0x35, 0xC0, 0x4A])  # of the star


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> sl.Scenario:
    folder = tmp_path_factory.mktemp("film") / "tiny"
    return sl.Scenario.load(write_tiny(str(folder)))


@pytest.fixture(scope="module")
def physical(home):
    """A search in physics as it was recorded, and the world after it."""
    pytest.importorskip("pybullet")
    return search_in_physics(home, recorded=True)


def search_in_physics(home, *, recorded):
    from sightline.worlds.bullet import BulletWorld, physical_site

    world = BulletWorld(physical_site(home), rng=np.random.default_rng(1))
    world.reset(start=START, yaw=1.0, positions={"cup": EAST, "bowl": (0.6, 0.5)})
    planner = sl.Coverage(time_limit_s=30)
    searcher = sl.Searcher(world.site, learner=sl.Oracle(), planner=planner, points=5)
    recorder = Recorder(world) if recorded else None
    episode = searcher.search("cup", world=recorder or world, rng=np.random.default_rng(2))
    film = recorder.film(episode) if recorder else None
    seconds = world.time_s
    world.close()
    return episode, film, seconds


@pytest.mark.parametrize("rate", [1.0, 0.8, 0.3])
def test_looks_without_success_rule_places_out_by_bayes_rule(home, rate):
    """The slow twin goes through looks and cells one by one."""
    site = sl.Site.of(home, sensor=sl.Sensor(range_m=1.5, detection_rate=rate))
    rng = np.random.default_rng(3)
    mass = rng.dirichlet(np.ones(len(site.cells))) * 0.9
    looks = site.standing[rng.integers(len(site.standing), size=4)]
    sees = site.sees(looks).toarray()
    slow, absent = list(mass), 0.1
    for look in range(4):
        slow = [m * (1 - rate) if sees[look, i] else m for i, m in enumerate(slow)]
        whole = sum(slow) + absent
        slow, absent = [m / whole for m in slow], absent / whole
    faded, left = ruled_out(site, mass, looks, absent=0.1)
    np.testing.assert_allclose(faded, slow, atol=1e-12)
    assert left == pytest.approx(absent)
    assert faded.sum() + left == pytest.approx(1)
    seen = sees.any(axis=0)
    assert faded[seen].sum() < mass[seen].sum()
    assert (faded[~seen] > mass[~seen]).all()


def test_nothing_is_left_where_everything_was_seen_and_nothing_fades_without_a_look(home):
    site = sl.Site.of(home, sensor=sl.Sensor(range_m=9.0, kind="disc"))
    mass = np.full(len(site.cells), 1 / len(site.cells))
    gone, absent = ruled_out(site, mass, [START])
    assert (gone == 0).all()
    assert absent == 0
    same, absent = ruled_out(site, mass, [], absent=0.0)
    np.testing.assert_allclose(same, mass)


class Filmed(sl.GridWorld):
    """The grid world, with the one thing that a recorder asks of a world beyond searching."""

    on_moment = None


@pytest.mark.parametrize("seed", range(12))
def test_the_film_counts_those_looks_that_the_searcher_counts(home, seed):
    """With false alarms, misses and blocked ways; the belief is the one that the planner gets."""
    sensor = sl.Sensor(range_m=1.2, detection_rate=0.6, false_alarm_rate=0.4)
    site = sl.Site.of(home, sensor=sensor)
    troubles = sl.Troubles(blocked_rate=0.3, sees_while_driving=True)
    world = Filmed(site, rng=np.random.default_rng(seed), troubles=troubles)
    planner = sl.Coverage(time_limit_s=30)
    searcher = sl.Searcher(site, learner=sl.Oracle(), planner=planner, points=8)
    recorder = Recorder(world)
    episode = searcher.search("cup", world=recorder, rng=np.random.default_rng(seed))
    film = recorder.film(episode)
    missed = [visit.position for visit in episode.visits if not visit.seen]
    np.testing.assert_array_equal(film.looks, np.reshape(missed, (-1, 2)))
    points = [episode.points[visit.point] for visit in episode.visits if visit.point >= 0]
    np.testing.assert_allclose(film.stops, np.reshape(points, (-1, 2)))
    trip = Trip(episode.query, episode.belief, lambda visit: None)
    trip.visits = list(episode.visits)
    before = len(missed) - (not episode.visits[-1].seen)  # the last look is the planner's to count
    belief = searcher._after_looks(trip)
    np.testing.assert_allclose(film.mass_after(before), belief.mass, atol=1e-15)


@given(st.lists(st.floats(0.05, 8.0), max_size=30), st.floats(0, 100))
def test_every_shot_is_shown_in_order_and_time_passes_evenly(gaps, begin):
    times = begin + np.cumsum([0.0, *gaps])
    shown = timeline(times, rate=10, speed=4)
    assert shown == sorted(shown)
    assert set(shown) == set(range(len(times)))
    # a shot is never early, and late only as long as shots come faster than pictures
    first = [shown.index(i) for i in range(len(times))]
    due = (times - times[0]) * 10 / 4
    assert all(frame >= at - 0.5 for frame, at in zip(first, due, strict=True))
    if all(gap >= 0.4 + 1e-9 for gap in gaps):
        assert all(abs(frame - at) <= 1 for frame, at in zip(first, due, strict=True))


def test_a_film_of_nothing_has_no_pictures():
    assert timeline([]) == []


def test_a_recorded_search_is_the_search_that_would_have_been(home, physical):
    episode, _, seconds = physical
    plain, _, plain_seconds = search_in_physics(home, recorded=False)
    assert plain.visits == episode.visits
    assert (plain.outcome, plain.position) == (episode.outcome, episode.position)
    assert plain_seconds == seconds


def test_a_film_tells_what_the_robot_does(physical):
    episode, film, seconds = physical
    assert episode.outcome is sl.Outcome.FOUND
    np.testing.assert_allclose(film.truth, EAST, atol=0.1)
    doing = list(dict.fromkeys(shot.doing for shot in film.shots))
    assert doing[:2] == ["looking around", "driving to stop 1"]
    assert doing[-1] == "checking a sighting"
    times = [shot.time_s for shot in film.shots]
    assert times == sorted(times)
    assert times[-1] <= seconds
    gaps = np.diff(times)
    moving = [shot.goal is not None for shot in film.shots]
    driving = [gap for gap, a, b in zip(gaps, moving, moving[1:], strict=False) if a and b]
    assert max(driving) < 0.45
    # while a sighting is driven to nobody looks out, but the film goes on
    assert max(gaps) < 3.0
    assert all(len(shot.way) for shot in film.shots if shot.goal is not None)
    assert not any(len(shot.way) for shot in film.shots if shot.doing == "looking around")
    assert film.shots[-1].driven_m > film.shots[0].driven_m
    checking = [shot for shot in film.shots if shot.sighting is not None]
    assert any(one.thing == "cup" for shot in checking for one in shot.detections)
    assert film.shots[0].picture.shape == (240, 320, 3)


def test_pictures_show_the_camera_the_fading_belief_and_at_last_the_object(physical):
    _, film, _ = physical
    pictures = plot.Pictures(film)
    height, width, _ = pictures[0].shape
    assert (height % 2, width % 2) == (0, 0)
    shown = timeline([shot.time_s for shot in film.shots])
    assert len(pictures) == len(shown) + round(HOLD_S * RATE)
    first = pictures[0]
    view = first[50:530, 12:652][::2, ::2].astype(int)
    assert np.abs(view - film.shots[0].picture).mean() < 3  # twice as large, else the same
    stars = [
        (np.abs(pictures[i].astype(int) - GREEN).sum(axis=2) < 6).sum() for i in (0, len(shown), -1)
    ]
    assert stars[0] < 40 < stars[1] == stars[2]
    reds = [heat(pictures[i]) for i in (0, -1)]
    assert reds[1] < reds[0]
    np.testing.assert_array_equal(pictures[0], first)  # going back changes nothing
    np.testing.assert_array_equal(pictures[0:2][0], first)
    with pytest.raises(IndexError):
        _ = pictures[len(pictures)]


def heat(picture) -> int:
    """Warm pixels, red and far from blue, in the western half of the map, where the cup is not."""
    half = (652 + picture.shape[1]) // 2
    red, _, blue = picture[:, 664:half].astype(int).transpose(2, 0, 1)
    return int(((red > 200) & (red - blue > 90)).sum())


def test_a_search_without_a_mass_is_filmed_too(physical):
    episode, film, _ = physical
    bare = replace(film, episode=replace(episode, belief=None))
    assert bare.mass_after(0) is None
    assert heat(plot.Pictures(bare)[0]) < heat(plot.Pictures(film)[0]) / 20


def test_a_strip_shows_first_and_last(physical):
    figure = plot.draw_strip(physical[1], count=3)
    assert len(figure.axes) == 3
    assert plot.save(figure, "strip.png", dpi=40).stat().st_size > 10_000


def moving_square(count: int) -> list[np.ndarray]:
    """Pictures of a dark square that goes right on a light ground."""
    out = []
    for i in range(count):
        picture = np.full((48, 64, 3), 230, np.uint8)
        picture[16:32, 4 * i : 4 * i + 16] = (200, 30, 60)
        out.append(picture)
    return out


def test_an_mp4_can_be_decoded_again():
    av = pytest.importorskip("av")
    pictures, heard = moving_square(9), []
    path = write_film(pictures, Path("films/square.mp4"), rate=5, told=heard.append)
    assert heard == list(range(1, 10))
    with av.open(str(path)) as file:
        stream = file.streams.video[0]
        assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("h264", "yuv420p")
        assert stream.average_rate == 5
        decoded = [frame.to_ndarray(format="rgb24") for frame in file.decode(stream)]
    assert len(decoded) == 9
    for one, other in zip(decoded, pictures, strict=True):
        assert one.shape == (48, 64, 3)
        assert np.abs(one.astype(int) - other).mean() < 6


def test_a_gif_can_be_decoded_again():
    pictures = moving_square(9)
    pictures += [pictures[-1]] * 3  # what stays may be one frame that stays longer
    path = write_film(pictures, Path("square.GIF"), rate=5)
    with Image.open(path) as film:
        lasts, shown = [], []
        for i in range(film.n_frames):
            film.seek(i)
            lasts.append(film.info["duration"])
            shown.append(np.asarray(film.convert("RGB")).astype(int))
    assert sum(lasts) == 12 * 200
    assert len(shown) >= 9
    for one, other in zip(shown[:9], pictures, strict=False):
        assert np.abs(one - other).max() < 8


@pytest.mark.parametrize("name", ["film.avi", "film", "mp4", ".gif"])
def test_other_endings_are_refused_with_the_valid_ones(name):
    with pytest.raises(FilmError, match=rf"ends in \.mp4 or \.gif, not '{name}'"):
        check_file(Path(name))


def test_a_folder_is_no_film():
    Path("some.gif").mkdir()
    with pytest.raises(FilmError, match="is a folder"):
        check_file(Path("some.gif"))


def test_without_pyav_an_mp4_is_refused_and_a_gif_is_not(monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(FilmError, match=r"sightline\[physics\]"):
        check_file(Path("film.mp4"))
    check_file(Path("film.gif"))
