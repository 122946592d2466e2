"""One number of a plan: fits by a method at a budget, simulated many times on made-up or public rows."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..algorithms import algorithm, one_step
from ..algorithms.alongside import plan_alongside
from ..data.threads import one_blas_thread
from ..errors import CalibrationError
from ..inference import infer
from ..privacy import Neighbours, PrivacyBudget
from ..randomness import Bits, streams
from .rows import Array, Sample

# As many residuals are kept at once as there are distinct rows times trials.
_TRIALS_AT_ONCE = 64


@dataclass(frozen=True)
class PlannedRow:
    """What to expect of a method at an epsilon. Errors are in units of the target's variance, slopes in stds."""

    method: str
    epsilon: float
    delta: float
    n_rows: int
    excess_risk: float  # mean squared error on the fitted rows above that of least squares there
    excess_risk_stderr: float  # by which the simulation may be off
    mean_squared_error: float  # on fresh rows
    r_squared: float  # on fresh rows; below 0 the fit is worse than a constant
    coefficient_error: float  # root mean square over slopes and fits, sampling error included
    interval_width: float | None  # mean width of the 95% intervals of slopes in a fit that pays for them
    no_interval_because: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


def planned_row(
    samples: Sequence[Sample],
    method: str,
    budget: PrivacyBudget,
    *,
    trials: int,
    seed: int,
    relation: Neighbours = Neighbours.ZERO_OUT,
    intervals: bool = True,
) -> PlannedRow:
    """Simulate fits; the same seed gives the same noise, up to its scale, at every epsilon."""
    allowed = budget.for_zero_out(relation)
    excess, squares = simulated_errors(samples, method, allowed, trials=trials, seed=seed)
    sample = samples[0]
    n, width = sample.source.n_rows, len(sample.best)
    excess = excess / np.mean([one.target_variance for one in samples])
    # Least squares on n rows errs by this much on fresh ones; exact for normal features, close for most.
    sampling = sample.residual_share * width / max(n - width - 1, 1)
    error = sample.residual_share + sampling + float(excess.mean())
    by_chance = float(np.mean([one.sampling_variances().mean() for one in samples]))
    interval: float | None = None
    reason: str | None = "not asked for"
    if intervals:
        interval, reason = _interval_width(samples, method, allowed, trials=trials, seed=seed)
    return PlannedRow(
        method=method,
        epsilon=budget.epsilon,
        delta=budget.delta,
        n_rows=n,
        excess_risk=float(excess.mean()),
        excess_risk_stderr=float(excess.std(ddof=1) / math.sqrt(len(excess))) if len(excess) > 1 else 0.0,
        mean_squared_error=error,
        r_squared=1.0 - error,
        coefficient_error=math.sqrt(float(squares.mean()) + by_chance),
        interval_width=interval,
        no_interval_because=None if interval is not None else reason,
    )


def simulated_errors(
    samples: Sequence[Sample], method: str, allowed: PrivacyBudget, *, trials: int, seed: int
) -> tuple[Array, Array]:
    """Return for each simulated fit its excess risk, and the mean square of its slopes' errors in stds."""
    row = algorithm(method)
    excess, squares = [], []
    plan = None
    for sample, bits in _shares(samples, trials, seed):
        rows = sample.bounded()
        if plan is None:
            plan = row.plan(allowed, n_rows=rows.n_rows, n_features=rows.row_map.n_coordinates)
        with one_blas_thread():
            theta = row.run(rows, plan, bits).theta
        matrix, offset = rows.row_map.coefficient_map()
        coefficients = (theta @ matrix.T + offset)[:, : len(sample.best)]
        excess.append(sample.excess(coefficients))
        squares.append(np.mean(sample.slope_errors(coefficients) ** 2, axis=1))
    return np.concatenate(excess), np.concatenate(squares)


def _interval_width(
    samples: Sequence[Sample], method: str, allowed: PrivacyBudget, *, trials: int, seed: int
) -> tuple[float | None, str | None]:
    """Return the mean width of slopes' intervals, or why most fits would have none."""
    row, widths, reasons = algorithm(method), [], Counter[str]()
    plan = step = None
    for sample, bits in _shares(samples, trials, seed + 1):
        rows = sample.bounded()
        sizes = {"n_rows": rows.n_rows, "n_features": rows.row_map.n_coordinates}
        if plan is None or step is None:
            step = one_step.plan(allowed, **sizes, budget_share=one_step.DEFAULT_SHARE)
            try:
                plan = plan_alongside(row, allowed, step.releases, **sizes)
            except CalibrationError as error:
                return None, str(error)
        with one_blas_thread():
            measured = one_step.run(rows, step, row.run(rows, plan, bits).theta, bits)
        names = [f"x{i}" for i in range(rows.row_map.n_coordinates)]
        for trial in range(len(bits)):
            found = infer(step, measured, rows.row_map, names, n_rows=rows.n_rows, trial=trial)
            limits = found.conf_int()[: sample.source.n_features]
            width = float(np.mean((limits[:, 1] - limits[:, 0]) * sample.in_stds))
            if math.isfinite(width):
                widths.append(width)
            else:
                reasons[_kind((*found.why_not(), "the noise hides the variance of some coefficients")[0])] += 1
    if 2 * len(widths) < trials:
        return None, reasons.most_common(1)[0][0]
    return float(np.mean(widths)), None


def _kind(reason: str) -> str:
    """Return a reason without the numbers of one fit, so that fits can be counted by it."""
    return reason.split(":")[0].split(";")[0]


def _shares(samples: Sequence[Sample], trials: int, seed: int) -> "list[tuple[Sample, Sequence[Bits]]]":
    """Divide the trials among the samples, in parts that fit into memory."""
    bits = streams(seed, trials)
    shares = []
    for i, sample in enumerate(samples):
        own = bits[i :: len(samples)]
        shares += [(sample, own[k : k + _TRIALS_AT_ONCE]) for k in range(0, len(own), _TRIALS_AT_ONCE)]
    return shares
