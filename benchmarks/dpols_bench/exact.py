"""What exact arithmetic costs over floating point, in one run on one machine."""

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from dpols.data import ArraySource, BoundedRows, Bounds
from dpols.data.rows import Arithmetic
from dpols.data.threads import one_blas_thread, worker_count
from dpols.estimators import PrivateLinearRegression
from dpols.statistics import clipped_gradient, gram

from .speed import make_data

SHAPES = ((5_000, 10), (5_000, 20), (5_000, 77), (500_000, 77))
QUICK_SHAPES = ((5_000, 10), (5_000, 20))


@dataclass(frozen=True)
class ExactRow:
    """Median seconds of whole fits and of their passes over the data, in both arithmetics."""

    rows: int
    features: int
    method: str
    exact_seconds: float
    float_seconds: float
    extra: float
    exact_passes: float
    float_passes: float
    passes_ratio: float


def run(*, quick: bool = False, progress: Callable[[str], None] = lambda _: None) -> list[dict[str, Any]]:
    """Measure every shape; return one row each."""
    rows = []
    for n, d in QUICK_SHAPES if quick else SHAPES:
        progress(f"{n:,} x {d}")
        rows.append(asdict(measure(n, d, method="ihm", repeats=3 if quick or n > 100_000 else 9)))
    return rows


def render(rows: list[dict[str, Any]]) -> str:
    """Return the rows as a table of plain text."""
    lines = [f"{'rows':>8} {'d':>4} {'exact s':>8} {'float s':>8} {'extra ms':>9} {'passes: exact/float':>20}"]
    lines += [
        f"{r['rows']:>8} {r['features']:>4} {r['exact_seconds']:>8.4f} {r['float_seconds']:>8.4f} "
        f"{1e3 * r['extra']:>9.1f} {r['passes_ratio']:>20.2f}"
        for r in rows
    ]
    lines.append(f"IHM with 3 iterations, whole fits; passes: one Gram matrix and 3 gradients. {worker_count()} cores.")
    return "\n".join(lines)


def measure(n: int, d: int, *, method: str, repeats: int) -> ExactRow:
    """Time fits and passes in turn in both arithmetics, and keep medians."""
    features, target = make_data(n, d)
    bounds = Bounds(x_norm=1.0, y_abs=1.0)
    seconds: dict[str, list[float]] = {}
    arithmetics: tuple[Arithmetic, ...] = ("exact", "float")
    for _ in range(repeats):
        for arithmetic in arithmetics:
            model = PrivateLinearRegression(
                1.0, "1/n^2", bounds, fit_intercept=False, method=method, arithmetic=arithmetic
            )
            _timed(seconds, f"fit {arithmetic}", partial(model.fit, features, target))
            row_map = bounds.row_map(n_features=d, columns=None, fit_intercept=False)
            rows = BoundedRows(ArraySource(features, target), row_map, arithmetic=arithmetic)
            _timed(seconds, f"passes {arithmetic}", partial(_passes, rows, d))
    median = {name: statistics.median(times) for name, times in seconds.items()}
    return ExactRow(
        rows=n,
        features=d,
        method=method,
        exact_seconds=median["fit exact"],
        float_seconds=median["fit float"],
        extra=median["fit exact"] - median["fit float"],
        exact_passes=median["passes exact"],
        float_passes=median["passes float"],
        passes_ratio=median["passes exact"] / median["passes float"],
    )


def _passes(rows: BoundedRows, d: int) -> None:
    with one_blas_thread():
        gram(rows)
        for _ in range(3):
            clipped_gradient(rows, np.full((1, d), 0.1), residual_bound=1.0)


def _timed(seconds: dict[str, list[float]], name: str, work: Callable[[], object]) -> None:
    start = time.perf_counter()
    work()
    seconds.setdefault(name, []).append(time.perf_counter() - start)
