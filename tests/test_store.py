"""The memory of a home: exact, append-only, shared by processes, whole after a kill."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from math import inf, nan
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sightline as sl
from sightline.records import Belief, Episode, Outcome, Query, Route, Visit

SITE = "flat-0123456789ab"
number = st.floats(allow_nan=True, allow_infinity=True)
position = st.tuples(number, number)
name = st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1)


@st.composite
def routes(draw: st.DrawFn) -> Route:
    order = np.array(draw(st.permutations(range(1, draw(st.integers(1, 6))))), dtype=np.int64)
    bound = draw(st.none() | number)
    unreachable = tuple(draw(st.lists(st.integers(0, 9), max_size=3)))
    return Route(order, draw(number), bound, draw(st.booleans()), draw(number), unreachable, "word")


@st.composite
def episodes(draw: st.DrawFn) -> Episode:
    points = np.array(draw(st.lists(position, max_size=4)), dtype=np.float64).reshape(-1, 2)
    visit = st.builds(Visit, st.integers(-1, 50), position, number, st.booleans())
    outcome = draw(st.sampled_from(Outcome))
    at = draw(position if outcome is Outcome.FOUND else st.none() | position)
    query = Query(draw(name), draw(position), draw(st.none() | number))
    route = draw(st.none() | routes())
    return Episode(
        query, points, tuple(draw(st.lists(visit, max_size=4))), outcome, at, None, route
    )


def bits(episode: Episode) -> str:
    """Everything in an episode but the belief; -0.0, inf and nan have texts of their own."""
    route = episode.route
    parts = [
        episode.query,
        episode.points.tolist(),
        episode.visits,
        episode.outcome,
        episode.position,
    ]
    if route is not None:
        parts += [route.order.tolist(), route.cost, route.bound, route.optimal, route.seconds]
        parts += [route.unreachable, route.status]
    return repr(parts)


def opened(path: str = "home.db", **words: object) -> sl.Experience:
    return sl.Experience.open(path, site=SITE, **words)


class Listener:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.heard: list[Episode] = []

    def update(self, episode: Episode) -> None:
        self.heard.append(episode)


@settings(max_examples=15)
@given(told=st.lists(episodes(), min_size=1, max_size=3))
def test_episodes_come_back_to_the_last_bit(told: list[Episode]) -> None:
    before = sum(1 for _ in opened().episodes())
    with opened() as memory:
        numbers = [memory.append(episode) for episode in told]
    with sl.Experience.open("home.db") as memory:
        back = list(memory.episodes())[before:]
        assert len(memory) == before + len(told)
    assert numbers == sorted(set(numbers))
    assert [bits(episode) for episode in back] == [bits(episode) for episode in told]
    assert all(episode.points.dtype == np.float64 for episode in back)
    assert not any(episode.points.flags.writeable for episode in back)


def test_extreme_numbers_come_back_too() -> None:
    odd = [0.1 + 0.2, -0.0, 5e-324, 1.7976931348623157e308, inf, -inf, nan, 1 / 3]
    visits = tuple(Visit(np.int64(i), (x, -x), x, np.bool_(i % 2)) for i, x in enumerate(odd))
    points = np.array([odd, odd[::-1]]).T
    with opened() as memory:
        memory.append(Episode(Query("cup", (-0.0, nan)), points, visits, Outcome.NOT_FOUND))
        (back,) = memory.episodes()
    assert back.points.tobytes() == points.tobytes()
    plain = tuple(Visit(i, (x, -x), x, bool(i % 2)) for i, x in enumerate(odd))
    assert repr(back.visits) == repr(plain)
    assert repr(back.query.start) == "(-0.0, nan)"


def test_a_belief_is_not_kept_and_points_are_kept_once() -> None:
    chance = np.array([0.2, 0.4])
    belief = Belief(chance, chance, chance, np.full(5000, 2e-4))
    episode = Episode(
        Query("cup", (0.0, 0.0)), np.random.default_rng(0).random((2000, 2)), (), Outcome.CANCELLED,
        belief=belief,
    )  # fmt: skip
    with opened() as memory:
        for _ in range(10):
            memory.append(episode)
        assert {back.belief for back in memory.episodes()} == {None}
    assert Path("home.db").stat().st_size < 100_000  # ten times the points are 320 kB


def test_a_memory_filters_by_object_and_by_time_and_lists_its_objects() -> None:
    with opened() as memory:
        for thing in ("cup", "keys", "cup"):
            memory.append(Episode.taught(thing, (1.0, 2.0)))
        moment = datetime.now(UTC)
        time.sleep(0.01)
        memory.append(Episode.taught("bowl", (1.0, 2.0)))
        assert memory.things() == ("cup", "keys", "bowl")
        assert len(list(memory.episodes(thing="cup"))) == 2
        assert [e.query.thing for e in memory.episodes(since=moment)] == ["bowl"]
        assert [e.query.thing for e in memory.episodes(since=moment - timedelta(hours=1))] == [
            "cup", "keys", "cup", "bowl",
        ]  # fmt: skip
        assert list(memory.episodes(thing="cup", since=moment)) == []
        with pytest.raises(sl.StoreError, match="time zone"):
            list(memory.episodes(since=datetime(2026, 1, 1)))


def test_more_episodes_than_are_read_at_once_come_in_order_while_others_are_added(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sightline.store.AT_ONCE", 4)
    with opened() as memory:
        for i in range(14):
            memory.append(Episode.taught("cup", (float(i), 0.0)))
        reading = memory.episodes()
        first = next(reading)
        memory.append(Episode.taught("cup", (14.0, 0.0)))
        rest = list(reading)
    assert [e.position[0] for e in [first, *rest]] == list(range(15))


def test_replay_rebuilds_a_learner_exactly() -> None:
    home = sl.Scenario.load("wrs2020")
    site = sl.Site.of(home, robot_radius_m=0.2)
    thing = home.objects[0]
    searcher = sl.Searcher(
        site, learner=sl.Frequency(), planner=sl.Coverage(), points=20, things=["keys"]
    )
    world = sl.GridWorld(site, rng=np.random.default_rng(1))
    with sl.Experience.open("home.db", site=site.name) as memory:
        for i in range(4):
            world.reset()
            rng = np.random.default_rng(i)
            memory.append(searcher.search(thing, world=world, rng=rng))
        memory.append(searcher.teach("keys", (0.0, 0.0)))
    with sl.Experience.open("home.db") as memory:
        again = sl.Frequency()
        again.meet(site, memory.things())
        assert memory.replay(again) == 5
        listener = Listener()
        memory.replay(listener)
    assert [e.query.thing for e in listener.heard] == [thing] * 4 + ["keys"]
    for asked in (thing, "keys"):
        query = Query(asked, tuple(site.standing[0]))
        old, new = (one.predict(query, searcher.points) for one in (searcher.learner, again))
        assert old.mass.tobytes() == new.mass.tobytes()


def test_what_a_memory_says_of_its_home_is_that_of_its_beginning() -> None:
    opened(about={"home": "flat.yaml", "robot_radius_m": 0.3}).close()
    opened(about={"home": "elsewhere.yaml"}).close()
    memory = sl.Experience.open("home.db")
    assert memory.site == SITE
    assert memory.about == {"home": "flat.yaml", "robot_radius_m": 0.3}
    assert len(memory) == 0
    with pytest.raises(sl.StoreError, match="not for JSON"):
        opened("other.db", about={"home": object()})


def test_every_record_has_the_site_and_the_time_and_nothing_else_lies_about() -> None:
    with opened() as memory:
        memory.append(Episode.taught("cup", (1.0, 2.0)))
    assert os.listdir() == ["home.db"]
    with sqlite3.connect("home.db") as file:
        rows = file.execute("SELECT site, appended_utc FROM episodes").fetchall()
        assert file.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    file.close()
    assert [site for site, _ in rows] == [SITE]
    appended = datetime.fromisoformat(rows[0][1])
    assert appended.utcoffset() == timedelta(0)
    assert abs(datetime.now(UTC) - appended) < timedelta(minutes=1)


def _other_version() -> str:
    opened().close()
    with sqlite3.connect("home.db") as file:
        file.execute("PRAGMA user_version = 99")
    file.close()
    return "home.db"


def _other_program() -> str:
    with sqlite3.connect("foreign.db") as file:
        file.execute("CREATE TABLE songs (title TEXT)")
    file.close()
    return "foreign.db"


def _no_database() -> str:
    Path("notes.txt").write_text("a shopping list, longer than the header of a database " * 30)
    return "notes.txt"


def _folder() -> str:
    Path("folder").mkdir()
    return "folder"


def _cut_off() -> str:
    with opened() as memory:
        for i in range(50):
            memory.append(Episode.taught("cup", (float(i), 0.0)))
    content = Path("home.db").read_bytes()
    Path("home.db").write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    return "home.db"


def _below_a_file() -> str:
    Path("file").write_text("")
    return "file/home.db"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (_other_version, "version 99; this release reads 1"),
        (_other_program, "not a memory of Sightline"),
        (_no_database, "no SQLite file"),
        (_folder, "is a folder"),
        (_cut_off, "damaged"),
        (_below_a_file, "cannot be made"),
    ],
)
def test_a_file_that_is_no_memory_is_refused_in_one_sentence(make, said: str) -> None:
    path = make()
    with pytest.raises(sl.StoreError, match=said) as caught:
        list(opened(path).episodes())
    assert path.split("/")[0] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_foreign_file_stays_as_it_is() -> None:
    for make in (_other_program, _no_database):
        path = Path(make())
        before = path.read_bytes()
        with pytest.raises(sl.StoreError):
            opened(str(path))
        assert path.read_bytes() == before


def test_the_memory_of_another_site_is_refused() -> None:
    opened().close()
    with pytest.raises(sl.StoreError, match=f"memory of {SITE}, not of attic-1"):
        sl.Experience.open("home.db", site="attic-1")


def test_without_a_site_no_memory_begins() -> None:
    with pytest.raises(sl.StoreError, match=r"no memory home\.db"):
        sl.Experience.open("home.db")
    assert not Path("home.db").exists()


def test_a_file_that_cannot_be_written_says_so() -> None:
    """The file system's own refusal cannot be had as root, so SQLite is told to refuse."""
    from sqlalchemy import event

    memory = opened()
    memory.append(Episode.taught("cup", (0.0, 0.0)))
    event.listen(memory._engine, "connect", lambda raw, _: raw.execute("PRAGMA query_only = 1"))
    with pytest.raises(sl.StoreError, match=r"home\.db cannot be used: attempt to write"):
        memory.append(Episode.taught("cup", (1.0, 0.0)))
    assert len(memory) == 1


@pytest.mark.parametrize("thing", ["", 3, None, "two\nlines", "\ud800"])
def test_a_name_that_no_file_can_hold_is_refused(thing) -> None:
    memory = opened()
    with pytest.raises(sl.StoreError, match="printable"):
        memory.append(Episode(Query(thing, (0.0, 0.0)), np.empty((0, 2)), (), Outcome.CANCELLED))
    assert len(memory) == 0


def test_a_record_that_was_tampered_with_is_named() -> None:
    with opened() as memory:
        memory.append(Episode.taught("cup", (1.0, 2.0)))
    with sqlite3.connect("home.db") as file:
        file.execute("""UPDATE episodes SET details = '{"start": [1]}'""")
    file.close()
    with pytest.raises(sl.StoreError, match="episode 1 cannot be read"):
        list(opened().episodes())


APPENDING = """
import sys
import sightline as sl
with sl.Experience.open("home.db", site={site!r}) as memory:
    for i in range({count}):
        memory.append(sl.Episode.taught(sys.argv[1], (float(i), 0.5)))
        print(i + 1, flush=True)
"""


def _append(thing: str, count: int) -> subprocess.Popen[str]:
    script = APPENDING.format(site=SITE, count=count)
    return subprocess.Popen(
        [sys.executable, "-c", script, thing],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_processes_that_append_at_once_lose_nothing() -> None:
    things, count = ("cup", "keys", "bowl"), 8
    writers = [_append(thing, count) for thing in things]
    for writer in writers:
        _, complaint = writer.communicate(timeout=60)
        assert (writer.returncode, complaint) == (0, "")
    with sl.Experience.open("home.db") as memory:
        assert len(memory) == len(things) * count
        for thing in things:
            told = [episode.position[0] for episode in memory.episodes(thing=thing)]
            assert told == list(range(count))  # each in its own order


@pytest.mark.parametrize("after", [0, 7])
def test_a_kill_while_appending_leaves_a_whole_memory(after: int) -> None:
    writer = _append("cup", 1_000_000)
    promised = 0
    while promised <= after:
        promised = int(writer.stdout.readline())
    time.sleep(0.003 * after)  # not always at the same place of an append
    writer.send_signal(signal.SIGKILL)
    rest, _ = writer.communicate(timeout=60)
    promised = int(([str(promised), *rest.split()])[-1])
    with sl.Experience.open("home.db") as memory:
        told = [episode.position[0] for episode in memory.episodes()]
        assert told == list(range(len(told)))
        assert promised <= len(told) <= promised + 1
        memory.append(Episode.taught("cup", (-1.0, 0.0)))
        assert len(memory) == len(told) + 1
    with sqlite3.connect("home.db") as file:
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    file.close()


def test_a_kill_while_a_memory_begins_leaves_nothing_or_a_memory() -> None:
    script = f"""
import sightline as sl
sl.Experience
print(flush=True)
sl.Experience.open("home.db", site={SITE!r})
"""
    for wait in (0.004, 0.02):
        writer = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
        writer.stdout.readline()
        time.sleep(wait)
        writer.kill()
        writer.communicate(timeout=60)
        with opened() as memory:
            memory.append(Episode.taught("cup", (0.0, 0.0)))
            assert len(memory) == 1
        Path("home.db").unlink()


def test_the_package_imports_without_the_database_library() -> None:
    script = (
        "import sys; sys.modules['sqlalchemy'] = None\n"
        "import sightline as sl, sightline.search, sightline.cli; sl.Site"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
