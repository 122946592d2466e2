"""How well accuracy is planned: errors planned from a data set's shape statistics, beside those observed on it.

A data set is prepared as in the paper's evaluation. Its statistics (size, spectrum of X'X, the target's coordinates
along it, fitted values with the residuals at them, and mean rows by residual) give made-up rows, and fits on these the
planned excess risk. Fits on the data set itself, with noise of their own, give the observed one. Each of the two is a
mean of as many fits as it takes for its standard error to be small. `dpols-bench planning` prints both. With halves the
statistics are those of one half of the rows, drawn at random, and what is observed are fits on the other half.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dpols.data import Bounds
from dpols.planning.samples import RepeatedRows, Sample
from dpols.planning.simulation import simulated_errors
from dpols.privacy import PrivacyBudget
from dpols.randomness import standard_normal, streams

from .datasets import REAL, UnavailableError, load
from .paper.preprocessing import prepare
from .profile import profile_of

METHODS = ("whitened", "ihm", "adassp")
EPSILONS = (0.3, 1.0, 3.0)
TRIALS = 100  # fits of each mean at first; then twice as many, until it is certain enough
MOST_TRIALS = 25_600
CERTAIN = 0.03  # standard error over mean at which no more fits are made
CLOSE = 0.2
_DRAWS = 4  # made-up tables for each data set


@dataclass(frozen=True)
class Comparison:
    """Mean excess risks of one method at one epsilon on one data set, in units of the squared target bound."""

    dataset: str
    n_rows: int
    n_features: int
    method: str
    epsilon: float
    planned: float
    planned_stderr: float
    planned_trials: int
    observed: float
    observed_stderr: float
    observed_trials: int

    @property
    def ratio(self) -> float:
        """Planned over observed."""
        return self.planned / self.observed

    @property
    def close(self) -> bool:
        """Whether the planned error is within 20% of the observed one."""
        return abs(self.ratio - 1.0) <= CLOSE

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {**asdict(self), "ratio": self.ratio, "close": self.close}


def compare(
    name: str,
    *,
    methods: Sequence[str] = METHODS,
    epsilons: Sequence[float] = EPSILONS,
    trials: int = TRIALS,
    most_trials: int = MOST_TRIALS,
    halves: bool = False,
    seed: int = 0,
) -> list[Comparison]:
    """Plan and observe one data set."""
    data = prepare(load(name))
    known = observed_on = np.arange(len(data.target))
    if halves:
        known, observed_on, *_ = np.split(_order(seed, len(known)), [len(known) // 2, len(known) // 2 * 2])
    profile = profile_of(data.features[known], data.target[known])
    made_up = [profile.sample(bits) for bits in streams(seed, _DRAWS)]
    n, d = len(observed_on), data.features.shape[1]
    source = RepeatedRows(data.features[observed_on], data.target[observed_on], n)
    real = [Sample(source, Bounds(x_norm=1.0, y_abs=1.0), fit_intercept=False, residual_share=0.0)]
    found = []
    for method in methods:
        for epsilon in epsilons:
            budget = PrivacyBudget(epsilon, 1.0 / n**2)
            planned, observed = (
                mean_error(tables, method, budget, trials=trials, most_trials=most_trials, seed=first)
                for tables, first in ((made_up, seed + 1_000_000), (real, seed + 2_000_000))
            )
            found.append(Comparison(name, n, d, method, epsilon, *planned, *observed))
    return found


def mean_error(
    samples: Sequence[Sample], method: str, budget: PrivacyBudget, *, trials: int, most_trials: int, seed: int
) -> tuple[float, float, int]:
    """Return a mean excess risk, its standard error, and the number of fits that it is the mean of."""
    errors = np.empty(0)
    more = trials
    while True:
        found, _ = simulated_errors(samples, method, budget, trials=more, seed=seed + len(errors))
        errors = np.append(errors, found)
        count, mean = len(errors), float(errors.mean())
        stderr = float(errors.std(ddof=1)) / math.sqrt(count)
        more = min(count, most_trials - count)
        if stderr <= CERTAIN * mean or more < 1:
            return mean, stderr, count


def run(
    *,
    datasets: Sequence[str] | None = None,
    trials: int = TRIALS,
    quick: bool = False,
    halves: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """Compare all data sets that are there, or a few small ones."""
    names = datasets or (("diabetes", "concrete", "wine") if quick else REAL)
    most_trials = trials if quick else max(trials, MOST_TRIALS)
    rows: list[dict[str, Any]] = []
    for name in names:
        progress(name)
        try:
            rows += [row.to_dict() for row in compare(name, trials=trials, most_trials=most_trials, halves=halves)]
        except UnavailableError:
            if datasets:
                raise
    return rows


def render(rows: Sequence[dict[str, Any]]) -> str:
    """Return the comparison as a table for Markdown, with the share that is close."""
    lines = [
        "| data set | n | d | method | epsilon | planned | observed | ratio |",
        "|---|--:|--:|---|--:|--:|--:|--:|",
    ]
    for row in rows:
        mark = "" if row["close"] else " !"
        lines.append(
            f"| {row['dataset']} | {row['n_rows']:,} | {row['n_features']} | {row['method']} | {row['epsilon']:g} "
            f"| {row['planned']:.3g} | {row['observed']:.3g} | {row['ratio']:.2f}{mark} |"
        )
    return "\n".join((*lines, "", *summary(rows)))


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Say how many cells are close, for each method and in all."""
    lines = []
    for method in (*dict.fromkeys(row["method"] for row in rows), "all methods"):
        ratios = [row["ratio"] for row in rows if method in (row["method"], "all methods")]
        close = sum(abs(ratio - 1.0) <= CLOSE for ratio in ratios)
        typical = math.exp(float(np.median(np.log(ratios))))
        lines.append(
            f"{method}: {close} of {len(ratios)} cells within {CLOSE:.0%} ({close / len(ratios):.0%}); median ratio "
            f"{typical:.2f}, from {min(ratios):.2f} to {max(ratios):.2f}"
        )
    return lines


def _order(seed: int, count: int) -> Any:
    """Return the numbers below ``count`` in random order."""
    return np.argsort(standard_normal(streams(seed + 3_000_000, 1)[0], (count,)))
