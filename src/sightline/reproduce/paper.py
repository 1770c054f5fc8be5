"""The paper's Tables 1 and 2: our figures beside the published ones, and its findings put to the test."""

import tomllib
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sightline.metrics import RULE, Difference, compare, interval
from sightline.study import Method, Run, Study, run_study
from sightline.workers import Progress, silent

K1, K2, PEAKY, PEAKY2 = "kitchen1 spread", "kitchen2 spread", "kitchen1 peaky", "kitchen2 peaky"
SUFFICIENT = 0.05  # a p-value below it counts
CP_SAT_SEEDS, CP_SAT_STARTS = 1, 2  # what CP-SAT with its full time is run on by default
CP_SAT_IN = (K1, K2)
ROWS = {"train_spl": "Train SPL", "eval_success": "Eval. success", "eval_spl": "Eval. SPL"}


class Published(NamedTuple):
    """What the paper prints: train SPL (None where it has none), evaluation success and SPL."""

    train_spl: float | None
    eval_success: float
    eval_spl: float


# the columns "CP-SAT" of the paper stand beside our optimal order, which they approximate, too
PUBLISHED = {
    (K1, "TSP"): Published(None, 0.89, 0.38),
    (K1, "Gen-Lin, greedy"): Published(0.32, 0.88, 0.42),
    (K1, "Gen-Lin, CP-SAT"): Published(0.31, 0.89, 0.47),
    (K1, "Neural, greedy"): Published(0.30, 0.90, 0.40),
    (K1, "Neural, CP-SAT"): Published(0.27, 0.90, 0.39),
    (K1, "GT scores, greedy"): Published(None, 0.90, 0.43),
    (K1, "GT scores, CP-SAT"): Published(None, 0.90, 0.51),
    (K2, "TSP"): Published(None, 0.56, 0.22),
    (K2, "Gen-Lin, greedy"): Published(0.26, 0.80, 0.26),
    (K2, "Gen-Lin, CP-SAT"): Published(0.27, 0.78, 0.29),
    (K2, "Neural, greedy"): Published(0.23, 0.74, 0.25),
    (K2, "Neural, CP-SAT"): Published(0.13, 0.67, 0.20),
    (K2, "GT scores, greedy"): Published(None, 0.82, 0.33),
    (K2, "GT scores, CP-SAT"): Published(None, 0.80, 0.34),
    (PEAKY, "TSP"): Published(None, 0.88, 0.40),
    (PEAKY, "Gen-Lin, greedy"): Published(0.39, 0.90, 0.46),
    (PEAKY, "Gen-Lin, CP-SAT"): Published(0.37, 0.86, 0.55),
    (PEAKY, "Neural, greedy"): Published(0.35, 0.85, 0.41),
    (PEAKY, "Neural, CP-SAT"): Published(0.28, 0.88, 0.45),
    (PEAKY, "GT scores, greedy"): Published(None, 0.88, 0.56),
    (PEAKY, "GT scores, CP-SAT"): Published(None, 0.91, 0.65),
}


class Finding(NamedTuple):
    """A claim that one method has a higher exact SPL than another in a setting."""

    claim: str
    setting: str
    better: str
    worse: str


FINDINGS = tuple(
    finding
    for where in (K1, K2, PEAKY)
    for finding in (
        Finding("GT scores beat TSP", where, "GT scores, optimal order", "TSP"),
        Finding("What is learned beats TSP", where, "Gen-Lin, greedy", "TSP"),
        Finding("What is learned beats TSP", where, "Neural, greedy", "TSP"),
        Finding("Gen-Lin is at least as good as Neural", where, "Gen-Lin, greedy", "Neural, greedy"),
        Finding(
            "Gen-Lin is at least as good as Neural", where,
            "Gen-Lin, optimal order", "Neural, optimal order",
        ),
        Finding(
            "The better order beats greedy", where, "GT scores, optimal order", "GT scores, greedy"
        ),
    )
)  # fmt: skip
OURS, THEIR_BEST = "PlaceBelief, Coverage", "GT scores, optimal order"
CLAIMS = tuple(
    Finding(
        "The learned PlaceBelief with Coverage beats the paper's oracle", where, OURS, THEIR_BEST
    )
    for where in (K1, K2, PEAKY, PEAKY2)
)


def paper_study(*, full: bool = False, seeds: int | None = None) -> Study:
    """The study behind Tables 1 and 2.

    By default CP-SAT with its 30 seconds plans for the true chances only, in the two spread kitchens,
    one seed, two starts for every object; ``full`` gives it all of the protocol, training included, which
    takes weeks.
    """
    text = files("sightline.reproduce").joinpath("paper.toml").read_text(encoding="utf-8")
    study = Study.from_dict(tomllib.loads(text))
    extra = []
    for method in study.methods:
        if not method.name.endswith("optimal order") or method.name.startswith("PlaceBelief"):
            continue
        name = method.name.replace("optimal order", "CP-SAT")
        slow = replace(method, name=name, planner="CpSat", planner_settings={"time_limit_s": 30.0})
        if full:
            extra.append(slow)
        elif method.learner == "Oracle":
            extra.append(
                replace(
                    slow, settings=CP_SAT_IN, seeds=CP_SAT_SEEDS, exact_starts=CP_SAT_STARTS,
                    evaluation_episodes=0,
                )
            )  # fmt: skip
    return replace(study, methods=(*extra, *study.methods), seeds=seeds or study.seeds)


def run(
    folder: str | Path, *, full: bool = False, seeds: int | None = None, jobs: int = 2,
    progress: Progress = silent,
) -> Run:  # fmt: skip
    """Run the study of Tables 1 and 2 in a folder, or what is missing of it, and write its page."""
    done = run_study(paper_study(full=full, seeds=seeds), folder, jobs=jobs, progress=progress)
    (Path(folder) / "paper.md").write_text(page(done), encoding="utf-8")
    return done


def page(done: Run) -> str:
    """The tables, the rule, the findings and the claims as Markdown."""
    protocol = done.study.protocol
    parts = [
        f"{done.study.seeds} seeds from {done.study.first_seed}; {protocol.training_episodes} training "
        f"episodes with a range of {protocol.training_range_m:g} m, {protocol.evaluation_episodes} "
        f"evaluation episodes with {protocol.evaluation_range_m:g} m; P(E) = {protocol.blind_rate:g}, "
        f"budget {protocol.budget_m:g} m. Means over seeds with 95 % bootstrap intervals; the published "
        "figure in brackets, where the paper has one (its CP-SAT beside our optimal order, too)."
    ]
    for setting in (setting.name for setting in done.study.settings):
        parts.append(f"### {setting}\n\n{table(done, setting)}\n\n{RULE}")
    parts.append("### The paper's findings\n\n" + "\n".join(_verdicts(done, FINDINGS)))
    parts.append(_about_cp_sat(done))
    parts.append("### Our claims\n\n" + "\n".join(_verdicts(done, CLAIMS)))
    parts.append(shares(done))
    return "\n\n".join(part for part in parts if part) + "\n"


def table(done: Run, setting: str) -> str:
    """One setting's table: a row per method, with the published figures beside ours."""
    head = [*ROWS.values(), "exact SPL", "exact metres"]
    lines = [
        "| method | " + " | ".join(head) + " |",
        "|---" * (len(head) + 1) + "|",
    ]
    for method in _methods_in(done, setting):
        cells = [_cell(done, setting, method, measure) for measure in ROWS]
        cells += [_interval(done, setting, method, name) for name in ("exact_spl", "exact_metres")]
        lines.append(f"| {method.name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def shares(done: Run) -> str:
    """How much of ``Oracle`` + ``Coverage`` the learned belief with the same planner reaches."""
    lines = [
        "### Share of Oracle + Coverage\n",
        "| setting | after 25 episodes | after all |",
        "|---|---|---|",
    ]
    for setting in (setting.name for setting in done.study.settings):
        best = done.values(setting, "Oracle, Coverage", "exact_spl")
        cells = []
        for measure in ("exact_spl@25", "exact_spl"):
            ours = done.values(setting, OURS, measure)
            if len(ours) and len(ours) == len(best):
                cells.append(str(interval(ours / best, rng=np.random.default_rng(0))))
            else:
                cells.append("-")
        lines.append(f"| {setting} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def put_to_the_test(done: Run, finding: Finding) -> Difference | None:
    """The paired difference in exact SPL, seed by seed; None where the run lacks one of the methods."""
    better = done.values(finding.setting, finding.better, "exact_spl")
    worse = done.values(finding.setting, finding.worse, "exact_spl")
    if not len(better) or len(better) != len(worse):
        return None
    return compare(better, worse, rng=np.random.default_rng(0))


def _verdicts(done: Run, findings: tuple[Finding, ...]) -> Iterator[str]:
    for finding in findings:
        test = put_to_the_test(done, finding)
        if test is None:
            continue
        if test.p_value >= SUFFICIENT:
            verdict = "not decided here"
        else:
            verdict = "confirmed" if test.mean > 0 else "refuted here"
        yield (
            f"- {finding.claim}, {finding.setting} ({finding.better} against {finding.worse}): "
            f"**{verdict}**, {_said(test)}."
        )


def _about_cp_sat(done: Run) -> str:
    """CP-SAT with its full time against greedy and the optimal order, on the plans that all made."""
    lines = []
    for setting in CP_SAT_IN:
        slow = _each(done, setting, "GT scores, CP-SAT")
        for other in ("GT scores, greedy", "GT scores, optimal order"):
            same = _each(done, setting, other)[: len(slow)]
            if not len(slow) or len(same) < len(slow):
                continue
            test = compare(slow, same, rng=np.random.default_rng(0))
            lines.append(
                f"- {setting}, {len(slow)} plans: CP-SAT with 30 s against {other.split(', ')[1]}: "
                f"{_said(test)}."
            )
    return "### CP-SAT with 30 seconds\n\n" + "\n".join(lines) if lines else ""


def _said(test: Difference) -> str:
    return f"{test.mean:+.3f} [{test.low:+.3f}, {test.high:+.3f}] SPL, p = {test.p_value:.3g}"


def _each(done: Run, setting: str, method: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Exact SPL of every plan of the first seed (starts x objects,)."""
    key = f"{setting} | {method} | {done.study.first_seed}"
    rows = [row for row in done.cells.get(key, []) if row["part"] == "exact"]
    return np.array(rows[-1]["each"] if rows else [], dtype=np.float64)


def _methods_in(done: Run, setting: str) -> list[Method]:
    cells = [cell for cell in done.study.cells() if cell.setting.name == setting]
    return list({cell.method.name: cell.method for cell in cells}.values())


def _cell(done: Run, setting: str, method: Method, measure: str) -> str:
    name = method.name.replace("optimal order", "CP-SAT")
    published = PUBLISHED.get((setting, name))
    number = getattr(published, measure) if published else None
    beside = "" if number is None else f" ({number:.2f})"
    return _interval(done, setting, method, measure) + beside


def _interval(done: Run, setting: str, method: Method, measure: str) -> str:
    values = done.values(setting, method.name, measure)
    if not len(values):
        return "-"
    if len(values) == 1:
        return f"{values[0]:.2f} (1 seed)"
    found = interval(values, rng=np.random.default_rng(0))
    return f"{found.mean:.2f} [{found.low:.2f}, {found.high:.2f}]"
