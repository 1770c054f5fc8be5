"""The memory of a home: one SQLite file to which episodes are appended, and learners rebuilt from."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import (
    URL,
    Column,
    Connection,
    Engine,
    Integer,
    LargeBinary,
    MetaData,
    Row,
    Table,
    Text,
    create_engine,
    func,
    select,
)
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from sightline.errors import StoreError
from sightline.records import Episode, Outcome, Position, Query, Route, Visit

VERSION = 1
MARK = 0x51674C54  # SQLite's application_id of a memory
WAIT_S = 30.0  # for other processes that are writing
AT_ONCE = 256  # episodes read in one go

_meta = MetaData()
_home = Table(
    "home",
    _meta,
    Column("site", Text, nullable=False),
    Column("about", Text, nullable=False),
)
_points = Table(
    "points",
    _meta,
    Column("digest", Text, primary_key=True),
    Column("xy", LargeBinary, nullable=False),
)
_episodes = Table(
    "episodes",
    _meta,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("appended_utc", Text, nullable=False),
    Column("site", Text, nullable=False),
    Column("thing", Text, nullable=False, index=True),
    Column("outcome", Text, nullable=False),
    Column("points", Text, nullable=False),
    Column("details", Text, nullable=False),
    sqlite_autoincrement=True,
)


class Pupil(Protocol):
    """Anything that learns from episodes."""

    def update(self, episode: Episode) -> None:
        """Learn from a search, or from what a person told."""


class Experience:
    """Everything that was searched and told in one home, oldest first; nothing is ever changed.

    ``site`` is the name of the site, with its fingerprint; it stands in every record. ``about`` is what
    else should be known when the file is opened again, such as where the map is. Several processes may
    append to one file; an episode is in it whole or not at all, whenever a process ends.

    Numbers come back to the last bit. Beliefs are not kept: a learner that replays the episodes up to one
    believes what was believed then.
    """

    def __init__(self, path: Path, engine: Engine, site: str, about: Mapping[str, Any]) -> None:
        self.path, self.site, self.about = path, site, dict(about)
        self._engine = engine

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        site: str | None = None,
        about: Mapping[str, Any] | None = None,
    ) -> Self:
        """Open the memory of a site; begin it if there is no file and the site is named.

        Without ``site`` the memory of whatever site is opened. ``about`` is kept when a memory begins: a
        mapping that JSON can hold.
        """
        path = _usable(Path(path), new=site is not None)
        url = URL.create("sqlite", database=str(path.absolute()))
        # no pool: each use has a connection of its own, so no thread or fork can share one
        engine = create_engine(
            url,
            poolclass=NullPool,
            isolation_level="AUTOCOMMIT",
            connect_args={"timeout": WAIT_S},
        )
        with _complaints(path), engine.connect() as connection:
            if site is not None and not _tables(connection):
                _begin(connection, path, site, about or {})
            _check_version(connection, path)
            _log_ahead(connection)
            row = connection.execute(select(_home)).first()
        if row is None:
            raise StoreError(f"The memory {path} is damaged: it does not name its site.")
        if site is not None and site != row.site:
            raise StoreError(
                f"{path} is the memory of {row.site}, not of {site}; a map, a robot radius or places "
                "that changed make another site, which needs a memory of its own."
            )
        return cls(path, engine, row.site, json.loads(row.about))

    def append(self, episode: Episode) -> int:
        """Add an episode; returns its number, which grows with each."""
        xy = np.ascontiguousarray(episode.points, dtype="<f8").tobytes()
        digest = hashlib.sha256(xy).hexdigest()
        values = {
            "appended_utc": _moment(datetime.now(UTC)),
            "site": self.site,
            "thing": _name(episode.query.thing),
            "outcome": str(episode.outcome),
            "points": digest,
            "details": json.dumps(_details(episode), ensure_ascii=False),
        }
        with _complaints(self.path), self._engine.connect() as connection, _whole(connection):
            # the points of a home are the same in episode after episode, so they are kept once
            same = insert(_points).values(digest=digest, xy=xy).on_conflict_do_nothing()
            connection.execute(same)
            added = connection.execute(insert(_episodes).values(**values))
            return int(added.lastrowid)

    def episodes(
        self, *, thing: str | None = None, since: datetime | None = None
    ) -> Iterator[Episode]:
        """The episodes in their order: of one object only, or appended since a moment (with its zone)."""
        if since is not None and since.tzinfo is None:
            raise StoreError(f"since must have a time zone, as in datetime.now(UTC), not {since}.")
        wanted = select(_episodes, _points.c.xy).join(
            _points, _points.c.digest == _episodes.c.points
        )
        if thing is not None:
            wanted = wanted.where(_episodes.c.thing == thing)
        if since is not None:
            wanted = wanted.where(_episodes.c.appended_utc >= _moment(since))
        last = 0
        while rows := self._read(
            wanted.where(_episodes.c.number > last).order_by(_episodes.c.number).limit(AT_ONCE)
        ):
            for row in rows:
                yield _episode(row, self.path)
            last = rows[-1].number

    def replay(self, learner: Pupil) -> int:
        """Have a learner learn every episode once, in their order; returns how many there were.

        The learner must have met the site, and all ``things()``.
        """
        count = 0
        for episode in self.episodes():
            learner.update(episode)
            count += 1
        return count

    def things(self) -> tuple[str, ...]:
        """The objects of all episodes, in the order in which they first came."""
        first = func.min(_episodes.c.number)
        rows = self._read(select(_episodes.c.thing).group_by(_episodes.c.thing).order_by(first))
        return tuple(row.thing for row in rows)

    def __len__(self) -> int:
        """How many episodes there are."""
        return int(self._read(select(func.count()).select_from(_episodes))[0][0])

    def close(self) -> None:
        """Let go of the file; nothing is pending at any time, so nothing is lost without it."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self, wanted: Any) -> list[Row[Any]]:
        with _complaints(self.path), self._engine.connect() as connection:
            return list(connection.execute(wanted))


def _usable(path: Path, *, new: bool) -> Path:
    """A path at which a memory is, or can begin."""
    if path.is_dir():
        raise StoreError(f"A memory is a file, and {path} is a folder.")
    if not path.exists():
        if not new:
            raise StoreError(
                f"There is no memory {path}; teaching or searching in a home begins one."
            )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as reason:
            raise StoreError(f"The memory {path} cannot be made: {reason}.") from None
    return path


@contextmanager
def _complaints(path: Path) -> Iterator[None]:
    """Say in one sentence what SQLite complains of."""
    try:
        yield
    except DBAPIError as reason:
        _complain(path, str(reason.orig))


def _complain(path: Path, reason: str) -> NoReturn:
    if "not a database" in reason:
        raise StoreError(f"{path} is not a memory: it is no SQLite file.") from None
    if "malformed" in reason:
        raise StoreError(f"The memory {path} is damaged: {reason}.") from None
    if "locked" in reason:
        raise StoreError(
            f"The memory {path} is still locked by another process after {WAIT_S:g} s."
        ) from None
    raise StoreError(f"The memory {path} cannot be used: {reason}.") from None


@contextmanager
def _whole(connection: Connection) -> Iterator[None]:
    """Do everything inside, or nothing; waits for others that are writing."""
    connection.exec_driver_sql("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.exec_driver_sql("ROLLBACK")
        raise
    connection.exec_driver_sql("COMMIT")


def _number(connection: Connection, pragma: str) -> int:
    return int(connection.exec_driver_sql(f"PRAGMA {pragma}").scalar_one())


def _tables(connection: Connection) -> int:
    count = connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar_one()
    return int(count)


def _begin(connection: Connection, path: Path, site: str, about: Mapping[str, Any]) -> None:
    """Make the tables, unless another process has just made them."""
    try:
        text = json.dumps(dict(about), ensure_ascii=False)
    except TypeError as reason:
        raise StoreError(
            f"What {path} is to say about its home is not for JSON: {reason}."
        ) from None
    with _whole(connection):
        if _tables(connection):
            return
        connection.exec_driver_sql(f"PRAGMA application_id = {MARK}")
        connection.exec_driver_sql(f"PRAGMA user_version = {VERSION}")
        _meta.create_all(connection, checkfirst=False)
        connection.execute(insert(_home).values(site=site, about=text))


def _check_version(connection: Connection, path: Path) -> None:
    if _number(connection, "application_id") != MARK:
        raise StoreError(f"{path} is an SQLite file, but not a memory of Sightline.")
    version = _number(connection, "user_version")
    if version != VERSION:
        raise StoreError(f"{path} is a memory of version {version}; this release reads {VERSION}.")


def _log_ahead(connection: Connection) -> None:
    """Let readers and a writer work at once; if the file is busy now, whoever opens it next does it."""
    if connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() != "wal":
        with suppress(DBAPIError):
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")


def _moment(time: datetime) -> str:
    """A moment as text whose order is that of time."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")


def _name(thing: object) -> str:
    """An object's name, if it is a text that a file can hold."""
    if not isinstance(thing, str) or not thing or not thing.isprintable():
        raise StoreError(f"An object's name must be a text of printable characters, not {thing!r}.")
    return thing


def _details(episode: Episode) -> dict[str, Any]:
    """What is not searched for in the file; JSON as Python writes it gives every number back exactly."""
    query, route = episode.query, episode.route
    return {
        "start": _floats(query.start),
        "time_s": None if query.time_s is None else float(query.time_s),
        "position": None if episode.position is None else _floats(episode.position),
        "visits": [
            [int(visit.point), *_floats(visit.position), float(visit.driven_m), bool(visit.seen)]
            for visit in episode.visits
        ],
        "route": None if route is None else _planned(route),
    }


def _planned(route: Route) -> dict[str, Any]:
    return {
        "order": route.order.tolist(),
        "cost": float(route.cost),
        "bound": None if route.bound is None else float(route.bound),
        "optimal": bool(route.optimal),
        "seconds": float(route.seconds),
        "unreachable": [int(row) for row in route.unreachable],
        "status": route.status,
    }


def _floats(position: Position) -> list[float]:
    return [float(value) for value in position]


def _episode(row: Row[Any], path: Path) -> Episode:
    """The episode of a record."""
    try:
        kept = json.loads(row.details)
        points: NDArray[np.float64] = np.frombuffer(row.xy, dtype="<f8").reshape(-1, 2)
        route, position = kept["route"], kept["position"]
        if route is not None:
            whole = {"unreachable": tuple(route["unreachable"])}
            route = Route(**(route | whole))
        return Episode(
            Query(row.thing, _pair(*kept["start"]), kept["time_s"]),
            points,
            tuple(
                Visit(point, (x, y), driven_m, seen)
                for point, x, y, driven_m, seen in kept["visits"]
            ),
            Outcome(row.outcome),
            None if position is None else _pair(*position),
            route=route,
        )
    except (ValueError, KeyError, TypeError) as reason:
        raise StoreError(
            f"The memory {path} is damaged: episode {row.number} cannot be read ({reason})."
        ) from None


def _pair(x: float, y: float) -> Position:
    return x, y
