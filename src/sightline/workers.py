"""Worker processes: independent pieces of work, a thread each, and an end that comes quickly."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, TypeVar

Piece = TypeVar("Piece")
Progress = Callable[[int, int, str], None]  # pieces done, pieces in all, the last one
AHEAD = 2  # pieces handed out per worker, so that stopping does not wait for all
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def silent(done: int, total: int, what: str) -> None:
    """Show no progress."""


def in_parallel(
    work: Callable[..., Any], pieces: Iterable[Piece], jobs: int, *first: Any
) -> Iterator[tuple[Piece, Any]]:
    """Call ``work(*first, piece)`` for all pieces; gives each with its result as it is finished.

    With one job the work is done here, in order. Workers are spawned; the first error ends them all.
    """
    if jobs == 1:
        for piece in pieces:
            yield piece, work(*first, piece)
        return
    waiting, running = iter(pieces), dict[Future[Any], Piece]()
    with _one_thread_each(), ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        try:
            while True:
                while len(running) < AHEAD * jobs:
                    try:
                        piece = next(waiting)
                    except StopIteration:
                        break
                    running[pool.submit(work, *first, piece)] = piece
                if not running:
                    return
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    yield running.pop(future), future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Workers that begin here compute in one thread: faster side by side, and always the same sums."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
