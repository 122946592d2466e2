"""One cell of the evaluation: a method at a budget on a data set, run for a batch of trials at once."""

import hashlib
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from dpols.algorithms import ALGORITHMS
from dpols.data import ArraySource, BoundedRows, Bounds, Total
from dpols.data.source import Kernel
from dpols.data.threads import map_blocks, one_blas_thread
from dpols.linalg import solve_symmetric
from dpols.privacy import PrivacyBudget
from dpols.randomness import streams

from ..datasets import load
from .methods import method
from .preprocessing import Prepared, prepare
from .risk import Risk, risk_of

Array = np.ndarray[Any, np.dtype[Any]]
Accounting = Literal["paper", "exact"]
Arithmetic = Literal["float", "exact"]

# Clipping is looked for in the first trials only; it needs passes of its own.
CLIPPING_TRIALS = 100
# So are predictions clipped to the target's range, which need products with all rows.
IN_RANGE_TRIALS = 200
_BLOCK = 8192  # rows whose residuals are held at once


@dataclass(frozen=True)
class Cell:
    """What is averaged over trials."""

    dataset: str
    method: str
    accounting: Accounting
    arithmetic: Arithmetic
    epsilon: float

    @property
    def seed(self) -> int:
        """A seed of the cell's own, so that what else is run changes nothing here."""
        text = f"{self.dataset}/{self.method}/{self.accounting}/{self.epsilon!r}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16])


@dataclass(frozen=True)
class Batch:
    """Some trials of a cell."""

    cell: Cell
    first: int
    count: int


@dataclass(frozen=True)
class BatchResult:
    """Moments of the excess risks of a batch: count, mean and sum of squared deviations."""

    batch: Batch
    train_mean: float
    train_deviation: float
    test_mean: float
    test_deviation: float
    in_range_count: int  # of the first trials, for predictions clipped to the range of the target
    in_range_mean: float
    in_range_deviation: float
    clipped_iterations: int  # in which at least one residual was clipped
    watched_iterations: int  # in which clipping was looked for
    seconds: float


@dataclass(frozen=True, repr=False)
class Problem:
    """A prepared data set behind its bounds, with what its risks are computed from."""

    title: str
    data: Prepared
    risk: Risk
    source: "RememberingSource"

    def rows(self, arithmetic: Arithmetic) -> BoundedRows:
        """Return the training rows as methods take them."""
        bounds = Bounds(x_norm=1.0, y_abs=1.0)
        row_map = bounds.row_map(n_features=self.source.n_features, columns=None, fit_intercept=False)
        return BoundedRows(self.source, row_map, arithmetic=arithmetic)


@lru_cache(maxsize=1)
def problem(name: str) -> Problem:
    """Load and prepare a data set; the last one is kept."""
    dataset = load(name)
    data = prepare(dataset)
    return Problem(dataset.title, data, risk_of(data), RememberingSource(ArraySource(data.features, data.target)))


class RememberingSource:
    """Rows that remember sums which all trials share: Gram matrices, and gradients at the common start.

    A benchmark runs a method thousands of times on the same public rows. A fit never does this: there exact sums must
    not outlive the run.
    """

    def __init__(self, rows: ArraySource) -> None:
        self._rows = rows
        self._sums: dict[tuple[Any, ...], Total] = {}
        self.columns = rows.columns
        self.n_features = rows.n_features
        self.n_rows = rows.n_rows

    def block(self, rows: slice) -> tuple[Any, Any]:
        """Return features and target of some rows."""
        return self._rows.block(rows)

    def total(self, kernel: Kernel, *args: Any) -> Total:
        points = [arg for arg in args if isinstance(arg, np.ndarray)]
        trials = len(points[0]) if points else 1
        if points and (trials == 1 or any((point != point[:1]).any() for point in points)):
            return self._rows.total(kernel, *args)
        # All trials ask at the same point, as they do at the start.
        single = tuple(arg[:1] if isinstance(arg, np.ndarray) else arg for arg in args)
        key = (kernel, *(arg.tobytes() if isinstance(arg, np.ndarray) else arg for arg in single))
        if key not in self._sums:
            self._sums[key] = self._rows.total(kernel, *single)
        total = self._sums[key]
        if not points:
            return total
        shared = (np.repeat(v, trials, axis=0) if v.ndim == 2 and len(v) == 1 else v for v in total.values)
        return Total(tuple(shared), total.n_rows)


@lru_cache(maxsize=64)
def plan_of(cell: Cell, n_rows: int, n_features: int) -> Any:
    """Return the plan of a cell: delta is 1 / n^2, everything else as its method's row says."""
    budget = PrivacyBudget(cell.epsilon, 1.0 / n_rows**2)
    row = method(cell.method)
    options = dict(row.options(n_rows, n_features, budget))
    plan = ALGORITHMS[row.algorithm].plan
    with row.in_force():
        return row.change(plan(budget, n_rows=n_rows, n_features=n_features, accounting=cell.accounting, **options))


def run_batch(batch: Batch) -> BatchResult:
    """Run the trials of a batch and measure their risks."""
    cell = batch.cell
    on = problem(cell.dataset)
    start = time.perf_counter()
    rows = on.rows(cell.arithmetic)
    plan = plan_of(cell, rows.n_rows, on.source.n_features)
    bits = streams(cell.seed, batch.first + batch.count)[batch.first :]
    # Stacks of small solves are far slower on several BLAS threads; passes over the rows have threads of their own.
    row = method(cell.method)
    with one_blas_thread(), row.in_force():
        fit = ALGORITHMS[row.algorithm].run(rows, plan, bits)
        watched = max(0, min(CLIPPING_TRIALS - batch.first, batch.count))
        clipped, looked_at = clipped_iterations(on, plan, fit.transcript, watched)
        ranged = fit.theta[: max(0, IN_RANGE_TRIALS - batch.first)]
        in_range = on.risk.in_range_excess(on.data, ranged)
    train, test = on.risk.train_excess(fit.theta), on.risk.test_excess(fit.theta)
    return BatchResult(
        batch,
        *_moments(train),
        *_moments(test),
        len(in_range),
        *_moments(in_range),
        clipped_iterations=clipped,
        watched_iterations=looked_at,
        seconds=time.perf_counter() - start,
    )


def _moments(values: Array) -> tuple[float, float]:
    mean = float(values.mean()) if len(values) else 0.0
    return mean, float(np.square(values - mean).sum())


def clipped_iterations(on: Problem, plan: Any, transcript: dict[str, Array], trials: int) -> tuple[int, int]:
    """Return in how many iterations of the first trials of IHM some residual was clipped, and of how many."""
    if trials == 0 or "sketches" not in transcript or "gradients" not in transcript:
        return 0, 0
    gradients = transcript["gradients"][:trials]
    counts = transcript.get("n_iterations", np.full(trials, gradients.shape[1]))[:trials]  # which each may choose
    theta = np.zeros((trials, plan.n_features))
    clipped = 0
    # The first iterate is 0, where residuals are targets, which lie within the bound.
    for step in range(int(counts.max()) - 1):
        gradient = gradients[:, step]
        if plan.ridge:
            gradient = gradient - transcript["shift"][:trials, None] * theta
        theta = theta + solve_symmetric(transcript["sketches"][:trials, step], gradient)
        clipped += int(((_largest_residual(on.data, theta) > plan.residual_bound) & (step + 1 < counts)).sum())
    return clipped, int(counts.sum())


def _largest_residual(data: Prepared, theta: Array) -> Array:
    def in_block(block: slice) -> Array:
        residuals = data.target[block, None] - data.features[block] @ theta.T
        return np.asarray(np.abs(residuals, out=residuals).max(axis=0))

    blocks = [slice(start, start + _BLOCK) for start in range(0, len(data.target), _BLOCK)]
    return np.asarray(np.max(list(map_blocks(in_block, blocks)), axis=0))
