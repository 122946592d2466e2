"""Linear mixing: least squares on one private sketch of features and target together.

Algorithm 4 of Lev et al., "Near-optimal private linear regression via iterative Hessian mixing" (after Lev et al.,
"The Gaussian mixing mechanism", 2025). With rows [x, y], whose squared norm is at most 2, and k rows
[X~, Y~] of law N(0, [X, y]'[X, y] + shift I),

    theta = (X~'X~)^-1 X~'Y~.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from scipy.special import ndtr, ndtri

from ..data.rows import BoundedRows
from ..errors import ParameterError
from ..mechanisms import Channel
from ..privacy import paper
from ..privacy.budget import PrivacyBudget
from ..privacy.calibration import least_noise
from ..privacy.releases import FailureAllowance, GaussianRelease, MixingRelease, Release
from ..randomness import Bits
from ..statistics import gram_with_target
from .base import Accounting, Evidence, Fit
from .options import one_of, plan_inputs, share, sketch_rows
from .sketched import sketch_evidence, solve_sketch

EigenvalueRelease = Literal["auto", "on", "off"]


@dataclass(frozen=True)
class LinMixPlan:
    """Every public number of a run of LinMix."""

    budget: PrivacyBudget
    accounting: Accounting
    n_rows: int
    n_features: int
    sketch_size: int
    floor: float  # in units of the squared norm of a row [x, y]
    eigenvalue_multiplier: float | None  # None: the smallest eigenvalue is not released
    eigenvalue_margin: float

    @property
    def releases(self) -> tuple[Release, ...]:
        """The eigenvalue test, where there is one, then the sketch."""
        test: tuple[Release, ...] = ()
        if self.eigenvalue_multiplier is not None:
            failure = FailureAllowance(float(ndtr(-self.eigenvalue_margin)))
            test = (GaussianRelease(self.eigenvalue_multiplier), failure)
        return (*test, MixingRelease(self.sketch_size, self.floor))

    @property
    def release_names(self) -> tuple[str, ...]:
        """What each release is of, in the same order."""
        test = () if self.eigenvalue_multiplier is None else ("smallest eigenvalue of [X, y]'[X, y]", "its lower bound")
        return (*test, "sketch of [X, y]")


def plan(
    budget: PrivacyBudget,
    *,
    n_rows: int,
    n_features: int,
    accounting: Accounting = "exact",
    sketch_size: int | None = None,
    eigenvalue: EigenvalueRelease | None = None,
    failure_probability: float | None = None,
) -> LinMixPlan:
    """Choose every number of a run from public ones.

    Parameters
    ----------
    budget : PrivacyBudget
        What the run may cost (zero-out neighbours).
    n_rows, n_features : int
        The public size of the data; the intercept counts as a feature.
    accounting : "exact" or "paper"
        Joint, exact calibration, or the paper's own: Renyi bound for the sketch, classical bound for the eigenvalue.
    sketch_size : int, optional
        Rows k of the sketch, more than ``n_features``; by default 2.5 max(d, log(2 / failure_probability)). A small
        sketch needs little noise but costs accuracy of its own, about d / k of the residual sum of squares.
    eigenvalue : "auto", "on" or "off", optional
        Whether to release the smallest eigenvalue in order to lower the shift. "auto", the default of exact
        accounting, releases it where the largest value that n rows allow, n / (d + 1), would remove the shift.
    failure_probability : float, optional
        the paper's failure probability, by default delta / 10.
    """
    n_rows, n_features = plan_inputs(budget, n_rows, n_features)
    one_of("accounting", accounting, ("exact", "paper"))
    one_of("eigenvalue", eigenvalue, (None, "auto", "on", "off"))
    failure = default_failure(budget, failure_probability)
    size = checked_sketch_size(sketch_size, n_features, failure)

    def with_noise(floor: float, eigenvalue: float | None, margin: float) -> LinMixPlan:
        return LinMixPlan(budget, accounting, n_rows, n_features, size, floor, eigenvalue, margin)

    if accounting == "paper":
        if eigenvalue not in (None, "on"):
            raise ParameterError(f"eigenvalue={eigenvalue!r}: the paper's accounting always releases it; leave it out.")
        floor = paper.mixing_floor(budget, sketch_size=size)
        margin = math.sqrt(2.0 * math.log(max(3.0 / budget.delta, 2.0 / failure)))
        return with_noise(floor, floor / math.sqrt(size), margin)

    margin = -float(ndtri(min(failure, 0.1 * budget.delta)))

    def at(noise: float, test: bool) -> LinMixPlan:
        # sqrt(rows / 2) / floor acts like the sketch's own mu.
        floor = math.sqrt(1.0 + 0.5 * size * noise**2)
        return with_noise(floor, floor / math.sqrt(size) if test else None, margin)

    def calibrated(test: bool) -> LinMixPlan:
        start = 3.0 / min(budget.epsilon, 1e4)  # where a search begins; a floor must not round to 1 there
        return at(least_noise(lambda noise: at(noise, test).releases, budget, start=start), test)

    if eigenvalue in ("on", "off"):
        return calibrated(eigenvalue == "on")
    tested = calibrated(True)
    assert tested.eigenvalue_multiplier is not None
    removes_shift = tested.floor + margin * tested.eigenvalue_multiplier <= n_rows / (n_features + 1)
    return tested if removes_shift else calibrated(False)


def run(rows: BoundedRows, plan: LinMixPlan, bits: Sequence[Bits]) -> Fit:
    """Follow the plan, once for each stream of bits."""
    channel = Channel(bits)
    joint = gram_with_target(rows)
    certain = None
    if plan.eigenvalue_multiplier is not None:
        certain = channel.certain_smallest_eigenvalue(
            joint, multiplier=plan.eigenvalue_multiplier, margin=plan.eigenvalue_margin
        )
    mixed = channel.mix_gram(joint, rows=plan.sketch_size, floor=plan.floor, certain=certain)
    transcript = {"sketch": mixed.gram, "shift": mixed.shift}
    if certain is not None:
        transcript["certain_smallest_eigenvalue"] = certain
    return Fit(solve_sketch(mixed.gram), channel.releases, transcript)


def evidence(plan: LinMixPlan, fit: Fit, trial: int, constant: float | None) -> Evidence:
    """Judge one trial's fit by its own releases; ``constant`` is the intercept's coordinate, None without one."""
    return sketch_evidence(
        fit.transcript["sketch"][trial],
        float(fit.transcript["shift"][trial]),
        sketch_size=plan.sketch_size,
        n_rows=plan.n_rows,
        theta=fit.theta[trial],
        constant=constant,
    )


def default_failure(budget: PrivacyBudget, failure_probability: float | None) -> float:
    """Return the paper's failure probability, delta / 10 unless it is given."""
    return budget.delta / 10.0 if failure_probability is None else share("failure_probability", failure_probability)


def checked_sketch_size(sketch_size: int | None, n_features: int, failure: float) -> int:
    """Return the given number of sketch rows, or the paper's for the whole of [X, y]."""
    if sketch_size is None:
        return max(int(2.5 * max(n_features, math.log(2.0 / failure))), n_features + 1)
    return sketch_rows("sketch_size", sketch_size, least=n_features + 1)
