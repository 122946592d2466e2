"""What bounds are worth: the error of a fit with good, wide and paid bounds, on made-up columns as users have them.

Run ``python -m dpols_bench.bounds``. The data has a fixed seed; the noise of the fits is drawn anew each time.
"""

from typing import Any

import numpy as np

from dpols.data import Bounds
from dpols.estimators import PrivateLinearRegression
from dpols.side_releases.paid_bounds import PaidBounds

Array = np.ndarray[Any, np.dtype[Any]]

GOOD = Bounds(
    features=[(0, 1.2e5), (1950, 2010), (0, 1), (-3, 3), (0, 5e4)],
    target=(-1e4, 7e4),
)


def widened(bounds: Bounds, factor: float) -> Bounds:
    """Return bounds that are so many times wider, with the same middle."""

    def wide(pair: tuple[float, float]) -> tuple[float, float]:
        middle, half = 0.5 * (pair[0] + pair[1]), 0.5 * factor * (pair[1] - pair[0])
        return middle - half, middle + half

    assert bounds.target is not None
    return Bounds(features=[wide(pair) for pair in bounds.in_order(5, None)], target=wide(bounds.target))


WAYS: dict[str, Bounds | PaidBounds] = {
    "good public bounds": GOOD,
    "3 times wider": widened(GOOD, 3.0),
    "10 times wider": widened(GOOD, 10.0),
    "100 times wider": widened(GOOD, 100.0),
    "paid, nothing known": PaidBounds(),
    "paid, outer limits": PaidBounds(features=[(0, 1e9), (1900, 2100), (0, 1), None, (0, 1e9)], target=(-1e9, 1e9)),
}


def skewed_columns(n_rows: int) -> tuple[Array, Array]:
    """Return money, years, a flag, a score and gains that are mostly zero; the target's noise has spread 2000."""
    rng = np.random.default_rng(0)
    income, year = rng.lognormal(9.0, 1.0, n_rows), rng.uniform(1950.0, 2010.0, n_rows)
    flag, score = rng.integers(0, 2, n_rows).astype(float), rng.normal(0.0, 1.0, n_rows)
    gains = np.where(rng.random(n_rows) < 0.9, 0.0, rng.lognormal(8.0, 1.0, n_rows))
    target = 0.5 * income + 150.0 * (year - 1980.0) + 4000.0 * flag + 3000.0 * score
    return np.column_stack((income, year, flag, score, gains)), target + rng.normal(0.0, 2000.0, n_rows)


def unexplained(bounds: Bounds | PaidBounds, n_rows: int, epsilon: float, *, method: str, repeats: int) -> float:
    """Return the median over fits of the share of the target's variance that is left, as far as it need not be."""
    X, y = skewed_columns(n_rows)
    best = np.linalg.lstsq(np.column_stack((X, np.ones(n_rows))), y, rcond=None)[0]
    least = float(np.mean((y - X @ best[:-1] - best[-1]) ** 2))
    left = []
    for _ in range(repeats):
        model = PrivateLinearRegression(epsilon, "1/n^2", bounds, method=method).fit(X, y)
        left.append((float(np.mean((y - model.predict(X, raw=True)) ** 2)) - least) / float(np.var(y)))
    return float(np.median(left))


def main() -> None:
    """Print a Markdown table: ways to bounds by number of rows."""
    sizes = (1_000, 10_000, 100_000)
    print("| epsilon = 1 | " + " | ".join(f"{n:,} rows" for n in sizes) + " |")
    print("|---|" + "---|" * len(sizes))
    for name, bounds in WAYS.items():
        cells = [unexplained(bounds, n, 1.0, method="whitened", repeats=15) for n in sizes]
        print(f"| {name} | " + " | ".join(f"{cell:.2%}" for cell in cells) + " |")


if __name__ == "__main__":
    main()
