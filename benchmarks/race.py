"""Time several ways of doing the same work, in turns, so that a noisy machine is noisy for all."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Result:
    """Seconds of one contender: the median over the rounds, and how it compares with the first."""

    name: str
    median_s: float
    ratio: float  # median over the rounds of (its time / the first contender's time)


def race(contenders: Mapping[str, Callable[[], object]], *, rounds: int = 7) -> list[Result]:
    """Run each contender once to warm up, then ``rounds`` times in turns; the first is ours."""
    for run in contenders.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    ours = next(iter(seconds.values()))
    return [
        Result(
            name,
            statistics.median(times),
            statistics.median(t / o for t, o in zip(times, ours, strict=True)),
        )
        for name, times in seconds.items()
    ]


def table(columns: list[str], rows: list[list[str]]) -> str:
    """A Markdown table, padded so that it reads well in a terminal, too."""
    cells = [columns, *rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    lines = [
        "| " + " | ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)) + " |"
        for row in cells
    ]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return "\n".join(lines)


def in_ms(seconds: float) -> str:
    """Milliseconds with three significant digits."""
    return f"{1000 * seconds:#.3g} ms".replace(". ", " ")
