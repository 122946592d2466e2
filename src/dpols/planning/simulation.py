"""One number of a plan: fits by a method at a budget, simulated many times on made-up or public rows."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from ..algorithms import Fit, algorithm, has_intervals, with_intervals
from ..data import BoundedRows
from ..data.threads import one_blas_thread
from ..errors import CalibrationError, ParameterError
from ..inference import Inference, infer
from ..privacy import Neighbours, PrivacyBudget
from ..randomness import Bits, streams
from .samples import Array, Sample

# As many residuals are kept at once as there are distinct rows times trials.
_TRIALS_AT_ONCE = 64
INTERVAL_SHARE = 0.9  # of slopes that are to have an interval, where a width is wanted


@dataclass(frozen=True)
class PlannedRow:
    """What to expect of a method at an epsilon: errors over the target's variance, slopes in standard deviations."""

    method: str
    epsilon: float
    delta: float
    n_rows: int
    excess_risk: float  # mean squared error on the fitted rows above that of least squares there
    excess_risk_stderr: float  # by which the simulation may be off
    mean_squared_error: float  # on fresh rows
    r_squared: float  # on fresh rows; below 0 the fit is worse than a constant
    coefficient_error: float  # root mean square over slopes and fits, sampling error included
    interval_share: float | None  # of slopes that have a 95% interval, in fits that pay for them; None if not asked for
    interval_width: float | None  # median width of those intervals; None where there are none
    no_interval_because: str | None  # what most fits say of slopes that have none; None where all have one

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
    public = relation.rows_are_public
    found = Intervals(None, None, "not asked for")
    fits = _fits(samples, method, allowed, trials=trials, seed=seed, public=public)
    if intervals and has_intervals(method):
        made = list(fits)  # the same fits tell both
        (excess, squares), found = _errors(made), _intervals(made)
    else:
        excess, squares = _errors(fits)
        if intervals:
            found = _simulated_intervals(samples, method, allowed, trials=trials, seed=seed, public=public)
    sample = samples[0]
    n, width = sample.source.n_rows, len(sample.best)
    excess = excess / np.mean([one.target_variance for one in samples])
    # Least squares on n rows errs by this much on fresh ones; exact for normal features, close for most.
    sampling = sample.residual_share * width / max(n - width - 1, 1)
    error = sample.residual_share + sampling + float(excess.mean())
    by_chance = float(np.mean([one.sampling_variances().mean() for one in samples]))
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
        interval_share=found.share,
        interval_width=found.width,
        no_interval_because=found.why_not,
    )


def simulated_errors(
    samples: Sequence[Sample], method: str, allowed: PrivacyBudget, *, trials: int, seed: int, public: bool = True
) -> tuple[Array, Array]:
    """Return each simulated fit's excess risk, and the mean square of its slopes' errors in standard deviations.

    ``public`` says whether fits know how many rows there are.
    """
    return _errors(_fits(samples, method, allowed, trials=trials, seed=seed, public=public))


class _Simulated(NamedTuple):
    """Some fits of one sample."""

    sample: Sample
    rows: BoundedRows
    plan: Any
    fit: Fit
    trials: int


def _fits(
    samples: Sequence[Sample], method: str, allowed: PrivacyBudget, *, trials: int, seed: int, public: bool
) -> Iterator[_Simulated]:
    row, plan = algorithm(method), None
    for sample, bits in _shares(samples, trials, seed):
        rows = sample.bounded()
        if plan is None:
            plan = row.plan(allowed, n_rows=rows.n_rows if public else None, n_features=rows.row_map.n_coordinates)
        with one_blas_thread():
            yield _Simulated(sample, rows, plan, row.run(rows, plan, bits), len(bits))


def _errors(fits: Iterable[_Simulated]) -> tuple[Array, Array]:
    excess, squares = [], []
    for sample, rows, _, fit, _ in fits:
        matrix, offset = rows.row_map.coefficient_map()
        coefficients = (fit.theta @ matrix.T + offset)[:, : len(sample.best)]
        excess.append(sample.excess(coefficients))
        squares.append(np.mean(sample.slope_errors(coefficients) ** 2, axis=1))
    return np.concatenate(excess), np.concatenate(squares)


class Intervals(NamedTuple):
    """Which share of slopes has an interval, the median width of those that have, and why others have none."""

    share: float | None
    width: float | None
    why_not: str | None


def _simulated_intervals(
    samples: Sequence[Sample], method: str, allowed: PrivacyBudget, *, trials: int, seed: int, public: bool
) -> Intervals:
    try:
        return _intervals(_fits(samples, with_intervals(method), allowed, trials=trials, seed=seed + 1, public=public))
    except ParameterError as error:
        return Intervals(0.0, None, str(error).split(":")[0])
    except CalibrationError as error:
        return Intervals(0.0, None, str(error))


def _intervals(fits: Iterable[_Simulated]) -> Intervals:
    """Count intervals as fits print them, slope by slope."""
    widths, reasons = [], Counter[str]()
    for sample, rows, plan, fit, trials in fits:
        names = [f"x{i}" for i in range(rows.row_map.n_coordinates)]
        for trial in range(trials):
            found = infer(plan, fit, rows.row_map, names, n_rows=plan.n_rows, trial=trial)
            limits = found.conf_int()[: sample.source.n_features]
            widths.append((limits[:, 1] - limits[:, 0]) * sample.in_stddevs)
            if np.isnan(widths[-1]).any():
                reasons[_kind(found)] += 1
    found_widths = np.concatenate(widths)
    given = found_widths[np.isfinite(found_widths)]
    return Intervals(
        share=len(given) / len(found_widths),
        width=float(np.median(given)) if len(given) else None,
        why_not=reasons.most_common(1)[0][0] if reasons else None,
    )


def _kind(found: Inference) -> str:
    """Return why slopes have no interval, without the names and numbers of one fit, so that fits can be counted."""
    if found.why_not():
        reason = found.why_not()[0].split(":")[0]
        return re.sub(r"^\d+% of", "too many of", reason.split(";")[0])
    _, reason = found.why_empty()[0].split(": ", 1)
    return reason.split(";")[0]


def _shares(samples: Sequence[Sample], trials: int, seed: int) -> "list[tuple[Sample, Sequence[Bits]]]":
    """Divide the trials among the samples, in parts that fit into memory."""
    bits = streams(seed, trials)
    shares = []
    for i, sample in enumerate(samples):
        own = bits[i :: len(samples)]
        shares += [(sample, own[k : k + _TRIALS_AT_ONCE]) for k in range(0, len(own), _TRIALS_AT_ONCE)]
    return shares
