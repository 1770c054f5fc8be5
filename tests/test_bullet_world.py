"""The physical world: episodes repeat exactly, walls hide, sightings are checked, nothing is run into."""

from collections.abc import Iterator
from math import hypot, inf, nan, pi

import numpy as np
import pytest

import sightline as sl
from detectors import Deluded, Perfect
from rooms import two_rooms
from sightline import polygon as poly
from sightline.detect import SimulatedDetector
from sightline.errors import WorldError
from sightline.records import Belief, Outcome, Route
from sightline.worlds.bullet import IN_VIEW_PX, BulletWorld, Moment, physical_site
from sightline.worlds.localise import wrapped
from sightline.worlds.protocol import DriveStatus
from sightline.worlds.robot import Build

pytest.importorskip("pybullet")

WEST, EAST, NEXT_DOOR = (1.05, 0.65), (3.25, 2.45), (5.05, 0.75)
DRIVES = 200  # through each kitchen, about half a second each


@pytest.fixture(scope="module")
def site() -> sl.Site:
    return physical_site(two_rooms())


@pytest.fixture(scope="module")
def sharp(site: sl.Site) -> Iterator[BulletWorld]:
    """A world whose detector never errs; every test resets it."""
    world = BulletWorld(site, rng=np.random.default_rng(0), detector=Perfect(), build=SMALL)
    yield world
    world.close()


def apart(here, there) -> float:
    return hypot(here[0] - there[0], here[1] - there[1])


SMALL = Build(width_px=160, height_px=120)  # pictures cost most of the time


class Nearest:
    """Believes nothing, and visits points as they come."""

    def meet(self, site, things=()) -> None:
        pass

    def predict(self, query, points):
        chance = np.full(len(points), 0.5)
        return Belief(chance, chance, chance)

    def update(self, episode) -> None:
        pass

    def __call__(self, problem, *, rng):
        return Route(1 + np.arange(len(problem.travel) - 1), 0.0)


def course(world: BulletWorld) -> list[object]:
    """An episode with a drive and looks in it, number by number."""
    out: list[object] = [world.position, world.robot.pose, world.look("bottle")]
    out += [world.drive_to(EAST, "bowl"), world.look("cup"), world.robot.pose]
    out += [world.lying(one).tolist() for one in world.site.home.objects]
    return [*out, world.time_s, world.truth.error_m, world.truth.in_view]


def test_an_episode_repeats_exactly_whatever_was_done_before_it(site: sl.Site):
    """In two equal worlds; of the second of three episodes one breaks off a search, one does nothing."""
    busy, calm = (
        BulletWorld(site, rng=np.random.default_rng(3), boxes=1, build=SMALL) for _ in range(2)
    )
    assert course(busy) == course(calm)
    for world in (busy, calm):
        world.reset(start=WEST, positions={"bowl": (6.0, 2.2)}, boxes=[])
    both, asked = Nearest(), iter([False, False, True])
    search = sl.Searcher(site, learner=both, planner=both, points=6)
    rng = np.random.default_rng(0)
    episode = search.search("bowl", world=busy, rng=rng, cancelled=lambda: next(asked))
    assert episode.outcome is Outcome.CANCELLED
    assert busy.truth.collisions == 0
    busy.reset()
    calm.reset()
    assert course(busy) == course(calm)
    busy.close()
    calm.close()


def test_other_generators_and_other_episodes_differ(site: sl.Site):
    def lying(world: BulletWorld) -> list[object]:
        return [world.position, *(world.lying(one).tolist() for one in site.home.objects)]

    one, other = (BulletWorld(site, rng=np.random.default_rng(seed)) for seed in (1, 2))
    before = lying(one)
    assert before != lying(other)
    one.reset()
    assert before != lying(one)


def test_an_episode_begins_as_asked(sharp: BulletWorld):
    where = {"cup": (2.0, 1.5), "can": (0.3, 1.2), "chips-bag": (6.0, 2.2)}
    sharp.reset(start=WEST, yaw=1.0, positions=where, boxes=[EAST])
    assert sharp.robot.pose == pytest.approx((*WEST, 1.0), abs=0.005)
    assert apart(sharp.position, WEST) < 0.05
    assert sharp.truth.start == WEST
    for thing, at in where.items():
        assert apart(sharp.lying(thing)[0], at) < 0.02
    assert sharp._drive(EAST, lambda: False, []).status is DriveStatus.BLOCKED  # the box


RIMS = {"cup": (1.601, 1.201), "can": (0.001, 2.399), "bowl": (0.499, 1.0)}


def test_a_thing_asked_for_at_a_rim_lies_inside_its_surface(sharp: BulletWorld):
    sharp.reset(start=WEST, positions=RIMS)
    for thing, surface in (("cup", "table"), ("can", "counter"), ("bowl", "counter")):
        at, polygon = sharp.lying(thing)[0], sharp.site.home.places.surfaces[surface].polygon
        assert poly.holds(polygon, at[None])[0]
        assert 0.04 < apart(at, RIMS[thing]) < 0.2
        assert sharp._engine.where(sharp._engine.things[thing])[2] > 0.7


def test_what_is_drawn_lies_on_its_surfaces_and_apart(sharp: BulletWorld):
    home = sharp.site.home
    for _ in range(8):
        sharp.reset()
        spots = {thing: sharp.lying(thing)[0] for thing in home.objects}
        for thing, at in spots.items():
            on = [
                name
                for name, chance in home.probabilities(thing).items()
                if chance > 0 and poly.holds(home.places.surfaces[name].polygon, at[None])[0]
            ]
            assert on
            z = sharp._engine.where(sharp._engine.things[thing])[2]
            assert z == pytest.approx(sharp._scene.rest_m[on[0]], abs=0.1)
        gaps = [apart(a, b) for a in spots.values() for b in spots.values() if a is not b]
        assert min(gaps) > 0.15


def test_boxes_stand_in_the_free_space_away_from_the_start(site: sl.Site):
    world = BulletWorld(site, rng=np.random.default_rng(1), boxes=3)
    for _ in range(5):
        world.reset()
        assert not world._engine.touched(world.robot.body)
        hits = world.robot.scan().hits
        assert np.hypot(*hits.T).min() > 0.25
    assert world.boxes == 3
    world.close()


def test_a_look_finds_what_is_in_plain_view_and_turns_back(sharp: BulletWorld):
    for yaw in (0.0, 2.0, -2.0):
        sharp.reset(start=WEST, yaw=yaw, positions={"cup": (2.0, 1.5)})
        before = sharp.time_s
        assert apart(sharp.look("cup"), (2.0, 1.5)) < 0.1
        assert wrapped(sharp.robot.head_rad) == pytest.approx(0.0, abs=0.03)
        assert 2.0 < sharp.time_s - before < 10.0
        assert sharp.truth.driven_m < 0.01
        assert sharp.truth.in_view["cup"] >= 1


def test_a_detection_behind_a_wall_is_impossible(sharp: BulletWorld):
    """The bowl lies in the other room, and no line to it leads through the doorway."""
    for start in (EAST, (3.55, 2.35), (2.45, 2.35)):
        sharp.reset(start=start, yaw=0.4, positions={"bowl": (6.0, 2.2)})
        assert sharp.look("bowl") is None
        assert sharp.truth.in_view["bowl"] == 0
    sharp.reset(start=(3.55, 1.45), positions={"bowl": (6.0, 2.2)})  # in front of the doorway
    assert sharp.look("bowl") is not None


@pytest.mark.parametrize(
    ("thing", "lies", "start"),
    [
        ("cup", (2.0, 1.5), EAST),  # from all sides
        ("can", (0.25, 1.5), WEST),  # from one side only, and begun near it
        ("chips-bag", (2.9, 0.15), (2.95, 2.45)),  # in the shelf
    ],
)
def test_a_check_confirms_what_is_there_from_another_side(sharp: BulletWorld, thing, lies, start):
    sharp.reset(start=start, positions={thing: lies})
    drive, genuine = sharp.check(thing, lies)
    assert genuine
    assert drive.status is DriveStatus.ARRIVED
    assert drive.position == sharp.position
    assert drive.driven_m == pytest.approx(sharp.truth.driven_m)
    assert sharp.in_grasp(thing)
    assert sharp.is_at(thing, lies)
    assert sharp.truth.collisions == 0


def test_a_check_refuses_what_is_not_there_and_it_is_not_reported_again(site: sl.Site):
    eyes = Deluded("cup", (2.9, 2.9), seen_from=WEST)
    world = BulletWorld(site, rng=np.random.default_rng(0), detector=eyes, build=SMALL)
    world.reset(start=WEST, positions={"cup": (6.0, 2.2)})
    sighting = world.look("cup")
    assert sighting == (2.9, 2.9)
    drive, genuine = world.check("cup", sighting)
    assert not genuine
    assert drive.status is DriveStatus.ARRIVED
    back = world.drive_to(WEST, "cup")
    assert (back.status, back.sighting) == (DriveStatus.ARRIVED, None)
    assert world.look("cup") is None
    eyes.at = (2.0, 2.9)  # another place is another sighting
    assert world.look("cup") == (2.0, 2.9)
    eyes.at = (2.9, 2.9)
    world.reset(start=WEST, positions={"cup": (6.0, 2.2)})
    assert world.look("cup") == (2.9, 2.9)  # a new episode
    world.close()


def world_sees(world: BulletWorld) -> list[str]:
    """What the detector names in one picture, taken straight ahead."""
    return [one.thing for one in world._detector.detect(world._frame())]


def test_a_given_simulated_detector_begins_every_episode_anew(site: sl.Site):
    """Its luck with the cup, seen from one place, is drawn for each episode and repeats with it."""

    def luck() -> list[bool]:
        sizes = dict.fromkeys(site.home.objects, (0.08, 0.1))
        eyes = SimulatedDetector(
            rng=np.random.default_rng(0), sizes=sizes, true_positive_rate=0.5, false_alarm_rate=0.0
        )
        world = BulletWorld(site, rng=np.random.default_rng(0), detector=eyes, build=SMALL)
        seen = []
        for _ in range(8):
            world.reset(start=WEST, yaw=0.5, positions={"cup": (1.7, 1.3)})
            seen.append(any(thing == "cup" for thing in world_sees(world)))
        world.close()
        return seen

    assert set(luck()) == {True, False}
    assert luck() == luck()


def test_a_check_behind_a_closed_doorway_is_blocked(sharp: BulletWorld):
    sharp.reset(start=WEST, positions={"bowl": (6.0, 2.2)}, boxes=[(4.05, 1.45)])
    drive, genuine = sharp.check("bowl", (6.0, 2.2))
    assert (drive.status, genuine) == (DriveStatus.BLOCKED, False)
    assert sharp.truth.collisions == 0


def test_what_comes_into_view_stops_a_drive(sharp: BulletWorld):
    """The bowl beyond the doorway, on the way to the other room."""
    sharp.reset(start=(2.05, 2.45), yaw=0.0, positions={"bowl": (6.0, 2.2)})
    drive = sharp.drive_to(NEXT_DOOR, "bowl")
    assert drive.status is DriveStatus.SIGHTED
    assert apart(drive.sighting, (6.0, 2.2)) < 0.15
    assert apart(drive.position, NEXT_DOOR) > 0.3
    assert np.abs(sharp.robot.speeds).max() < 0.05


def test_every_picture_is_shown(site: sl.Site):
    moments: list[Moment] = []
    world = BulletWorld(site, rng=np.random.default_rng(4), on_moment=moments.append)
    world.reset(start=WEST, yaw=0.0, positions={"cup": (2.0, 1.5)})
    world.look("cup")
    bearings = [moment.frame.camera.yaw_rad for moment in moments]
    assert len(moments) == 6  # 69 degrees each, overlapping
    np.testing.assert_allclose(np.diff(np.unwrap(bearings)), 2 * pi / 6, atol=0.06)
    shown = sum(
        (m.frame.segments == m.frame.things.index("cup")).sum() >= IN_VIEW_PX for m in moments
    )
    assert world.truth.in_view["cup"] == shown >= 1
    world.drive_to(EAST, "bowl")
    assert len(moments) > 6
    assert moments[-1].driven_m > 0
    assert len(moments[-1].way) >= 2
    assert apart(moments[-1].estimate, moments[-1].robot) < 0.06
    world.close()


def test_localisation_by_noisy_truth_has_its_noise_and_drives_as_well(site: sl.Site):
    world = BulletWorld(site, rng=np.random.default_rng(5), localisation="noisy truth")
    world.reset(start=WEST)
    drive = world._drive(EAST, lambda: False, [])
    assert drive.status is DriveStatus.ARRIVED
    assert apart(world.robot.pose, EAST) < 0.12
    squares = np.square(world.truth.error_m).mean()
    assert squares**0.5 == pytest.approx(0.02 * 2**0.5, rel=0.25)
    assert world.truth.collisions == 0
    world.close()


def test_the_least_way_and_the_grasp_are_those_of_the_truth(sharp: BulletWorld):
    sharp.reset(start=WEST, positions={"bowl": (6.0, 2.2), "can": (0.25, 1.0)})
    assert sharp.least_way_m("bowl") == sharp.site.least_way_m(WEST, sharp.lying("bowl")[0])
    assert sharp.least_way_m("can") == 0
    assert sharp.in_grasp("can")
    assert not sharp.in_grasp("bowl")


def test_a_world_survives_its_end_and_what_is_refused(site: sl.Site):
    world = BulletWorld(site, rng=np.random.default_rng(7))
    world.close()
    world.close()
    with pytest.raises(WorldError, match="closed"):
        world.look("cup")
    world.reset(start=WEST)
    assert world.drive_to(WEST, "cup").driven_m < 0.1
    with pytest.raises(sl.UnreachableError, match="nearest free point"):
        world.reset(start=(2.0, 1.5))
    for wrong in ({"boxes": [1, 2, 3]}, {"boxes": [(nan, 1.0)]}, {"positions": {"cup": (1, 2, 3)}}):
        with pytest.raises(ValueError, match="Positions must"):
            world.reset(**wrong)
    with pytest.raises(ValueError, match="yaw must be finite, not inf"):
        world.reset(yaw=inf)
    with pytest.raises(sl.UnknownObjectError, match="'unicorn'; valid are bottle, can"):
        world.reset(positions={"unicorn": (2.0, 1.5)})
    world.reset()
    for call in (
        lambda: world.look("unicorn"),
        lambda: world.drive_to(WEST, "unicorn"),
        lambda: world.check("unicorn", WEST),
        lambda: world.lying("unicorn"),
    ):
        with pytest.raises(sl.UnknownObjectError, match="valid are bottle"):
            call()
    world.close()


def test_worlds_that_cannot_be_are_refused(site: sl.Site):
    rng = np.random.default_rng(0)
    for boxes in (-1, 21):
        with pytest.raises(ValueError, match=f"boxes must lie in 0 to 20, not {boxes}"):
            BulletWorld(site, rng=rng, boxes=boxes)
    with pytest.raises(ValueError, match="'gps' is unknown; valid are particles, noisy truth"):
        BulletWorld(site, rng=rng, localisation="gps")
    with pytest.raises(ValueError, match="one or the other"):
        BulletWorld(site, rng=rng, sensor=sl.Sensor())
    with pytest.raises(WorldError, match=r"0\.25 m radius; .* at least 0\.3 m"):
        BulletWorld(sl.Site.of(site.home), rng=rng)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kitchen1", "kitchen2"])
def test_drives_through_a_kitchen_arrive_and_touch_nothing(name):
    """Between random places; contact is looked for at every step, not at every period only."""
    world = BulletWorld(sl.Scenario.load(name), rng=np.random.default_rng(1))
    engine, robot, touches = world._engine, world.robot, []
    step = engine.step

    def felt(seconds: float) -> None:
        step(seconds)
        touches.append(engine.touched(robot.body))

    engine.step = felt
    draws = np.random.default_rng(7).integers(len(world.site.standing), size=DRIVES)
    for goal in world.site.standing[draws].tolist():
        assert world._drive(tuple(goal), lambda: False, []).status is DriveStatus.ARRIVED
        assert apart(robot.pose, goal) < 0.1
    assert sum(touches) == world.truth.collisions == 0
    assert np.percentile(world.truth.error_m, 95) < 0.03
    assert max(world.truth.error_m) < 0.1
    world.close()


@pytest.mark.slow
def test_where_things_are_found_is_where_they_lie():
    """By the depth of what is seen and the robot's own idea of where it is, within 0.15 m."""
    world = BulletWorld(
        sl.Scenario.load("kitchen1"), rng=np.random.default_rng(2), detector=Perfect()
    )
    off = []
    for _ in range(20):
        world.reset()
        for thing in world.site.home.objects:
            sighting = world.look(thing)
            if sighting is not None:
                off.append(apart(sighting, world.lying(thing)[0]))
    assert len(off) >= 30
    assert np.mean(off) < 0.05
    assert np.percentile(off, 95) < 0.1
    assert max(off) < 0.15
    world.close()


@pytest.mark.slow
def test_a_learned_search_in_a_kitchen_with_boxes_finds_things():
    home = sl.Scenario.load("kitchen1")
    site = physical_site(home)
    search = sl.Searcher(site, learner=sl.PlaceBelief(), planner=sl.Coverage(), points=25)
    rng = np.random.default_rng(0)
    flat = sl.GridWorld(site, rng=np.random.default_rng(1))
    for number in range(30):
        flat.reset()
        search.search(home.objects[number % 5], world=flat, rng=rng)
    world = BulletWorld(site, rng=np.random.default_rng(2), boxes=2)
    found = 0
    for thing in home.objects:
        world.reset()
        episode = search.search(thing, world=world, rng=rng, budget_m=60.0)
        if episode.outcome is Outcome.FOUND:
            found += 1
            assert apart(episode.position, world.lying(thing)[0]) < 0.5
        assert episode.outcome is not Outcome.CANCELLED
        assert world.truth.collisions == 0
    assert found >= 3
    world.close()


def test_a_world_builds_its_scene_once(site: sl.Site):
    """PyBullet never frees shapes, so memory grows with every scene that is built."""
    with BulletWorld(site, rng=np.random.default_rng(0), boxes=1, build=SMALL) as world:
        engine, bodies = world._engine, world._engine.call("getNumBodies")
        for _ in range(3):
            world.reset()
            assert world._engine is engine
            assert engine.call("getNumBodies") == bodies
    world.reset()  # a closed world begins anew
    assert world._engine is not engine
    world.close()
