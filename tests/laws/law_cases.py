"""The settings at which every algorithm is tested: a new algorithm obeys every law by adding its rows here."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpols import Bounds
from dpols.algorithms import ALGORITHMS, Algorithm, algorithm
from dpols.data import ArraySource, BoundedRows
from dpols.privacy import PrivacyBudget


@dataclass(frozen=True)
class Case:
    """One way to run one algorithm."""

    method: str
    accounting: str = "exact"
    options: Mapping[str, Any] = field(default_factory=dict)
    n_rows: int = 400
    n_features: int = 4
    epsilon: float = 1.0
    delta: float = 1e-6

    def __str__(self) -> str:
        return " ".join([self.method, self.accounting, *(f"{name}={value}" for name, value in self.options.items())])

    @property
    def algorithm(self) -> Algorithm:
        return algorithm(self.method)

    def plan(self, **changes: Any) -> Any:
        """The plan at this case's budget and size, or with some of them changed."""
        of = {name: changes.pop(name, getattr(self, name)) for name in ("epsilon", "delta", "n_rows", "n_features")}
        budget = PrivacyBudget(of.pop("epsilon"), of.pop("delta"))
        return self.algorithm.plan(budget, accounting=self.accounting, **of, **{**self.options, **changes})


CASES = (
    Case("whitened", epsilon=8.0),
    Case("whitened", options={"n_iterations": 5}, epsilon=8.0),
    Case("whitened", "paper", epsilon=8.0),
    Case("whitened-inference", epsilon=8.0),
    Case("whitened-inference", options={"n_iterations": 6, "cov_type": "nonrobust", "clip": "tail"}, epsilon=8.0),
    Case("whitened-inference", options={"cov_type": "cluster", "clip": "range"}, epsilon=8.0),
    Case("whitened-inference", options={"residual_plot": True}, epsilon=8.0),
    Case("whitened-inference", "paper", epsilon=8.0),
    Case("ihm"),
    Case("ihm", options={"eigenvalue": "on"}),
    Case("ihm", options={"eigenvalue": "off", "ridge": True, "n_iterations": 2}),
    Case("ihm", options={"sketch_size": 4, "n_iterations": 1, "residual_bound": 0.25}),
    Case("ihm", options={"gradient_share": 0.9, "n_iterations": 5}),
    Case("ihm", "paper"),
    Case("ihm", "paper", {"ridge": True, "n_iterations": 1}),
    Case("ihm-adaptive"),
    Case("ihm-adaptive", "paper", {"eigenvalue_share": 0.3, "min_iterations": 1, "residual_bound": 0.5}),
    Case("ihm-adaptive", options={"sketch_rule": "condition-term"}),
    Case("ihm-adaptive", "paper"),
    Case("linmix"),
    Case("linmix", options={"eigenvalue": "on", "sketch_size": 5}),
    Case("linmix", options={"eigenvalue": "off"}),
    Case("linmix", "paper"),
    Case("linmix-dynamic"),
    Case("linmix-dynamic", options={"eigenvalue_share": 0.6, "sketch_size": 8}),
    Case("linmix-dynamic", "paper"),
    Case("adassp"),
    Case("adassp", options={"eigenvalue_share": 0.1}),
    Case("adassp", "paper"),
    Case("adassp", "paper", {"noise": "classical"}),
    Case("boosted-adassp"),
    Case("boosted-adassp", options={"n_iterations": 3, "shrinkage": "1/sqrt(t)", "residual_bound": 0.5}),
    Case("boosted-adassp", "paper"),
    Case("dp-gd"),
    Case("dp-gd", options={"n_iterations": 7, "norm_bound": 0.4, "learning_rate": 1.0}),
    Case("dp-gd", "paper"),
    Case("sheffet"),
    Case("sheffet", options={"sketch_size": 5}),
    Case("sheffet", "paper"),
    Case("logistic", epsilon=8.0),
    Case("logistic", options={"n_iterations": 5}, epsilon=2.0),
    Case("logistic", "paper", epsilon=8.0),
    Case("poisson", epsilon=8.0),
    Case("poisson", options={"n_iterations": 5}, epsilon=2.0),
    Case("poisson", "paper", epsilon=8.0),
    Case("logistic-inference", epsilon=8.0),
    Case("logistic-inference", options={"n_iterations": 6, "cov_type": "nonrobust", "clip": "tail"}, epsilon=8.0),
    Case("logistic-inference", "paper", epsilon=8.0),
    Case("poisson-inference", epsilon=8.0),
    Case("poisson-inference", options={"cov_type": "cluster", "clip": "range"}, epsilon=8.0),
    Case("poisson-inference", "paper", epsilon=8.0),
)
LINEAR_CASES = tuple(case for case in CASES if case.method in ALGORITHMS)
every_case = pytest.mark.parametrize("case", CASES, ids=str)
every_method = pytest.mark.parametrize("case", [case for case in CASES if not case.options], ids=str)
every_linear_case = pytest.mark.parametrize("case", LINEAR_CASES, ids=str)
every_linear_method = pytest.mark.parametrize("case", [case for case in LINEAR_CASES if not case.options], ids=str)
every_arithmetic = pytest.mark.parametrize("arithmetic", ["float", "exact"])


@dataclass(frozen=True)
class Gaussian:
    """Noise of this standard deviation on so many numbers."""

    size: int
    stddev: float


@dataclass(frozen=True)
class SymmetricGaussian:
    """Noise on a symmetric matrix: this standard deviation on the diagonal, and half its variance beside it."""

    width: int
    stddev: float


@dataclass(frozen=True)
class Sketch:
    """So many rows of so many columns."""

    rows: int
    width: int


Draw = Gaussian | SymmetricGaussian | Sketch
SQUARED_NORM_WITH_TARGET = 2.0


def ihm_draws(plan: Any, fit: Any, trial: int) -> list[Draw]:
    test = [] if plan.eigenvalue_multiplier is None else [Gaussian(1, plan.eigenvalue_multiplier)]
    step = [
        Sketch(plan.sketch_size, plan.n_features),
        Gaussian(plan.n_features, plan.gradient_multiplier * plan.residual_bound),
    ]
    return [*test, *step * plan.n_iterations]


def adaptive_ihm_draws(plan: Any, fit: Any, trial: int) -> list[Draw]:
    chosen = (int(fit.transcript[name][trial]) for name in ("n_iterations", "sketch_size"))
    return [Gaussian(1, plan.eigenvalue_multiplier)] * 2 + ihm_draws(plan.outcome(*chosen), fit, trial)


def whitened_draws(plan: Any, fit: Any, trial: int) -> list[Draw]:
    d, of = plan.n_features, {name: values[trial] for name, values in fit.transcript.items()}
    multipliers = plan.gram_multiplier, plan.second_gram_multiplier
    grams = [SymmetricGaussian(d, m * limit**2) for m, limit in zip(multipliers, of["row_limits"], strict=True)]
    gradients = [Gaussian(d, plan.gradient_multiplier * limit) for limit in of["limits"]]
    warm_up, late = plan.warm_up, plan.late
    return [
        Gaussian(4 + d, plan.totals_multiplier * math.sqrt(8.0)),
        grams[0],
        Gaussian(17, plan.length_multiplier),
        grams[1],
        *gradients[:warm_up],
        Gaussian(24, plan.count_multiplier),
        *gradients[warm_up:late],
        Gaussian(24, plan.rise_multiplier),
        *gradients[late:],
    ]


def generalised_draws(plan: Any, fit: Any, trial: int) -> list[Draw]:
    d, of = plan.n_features, {name: values[trial] for name, values in fit.transcript.items()}
    multipliers = [plan.gram_multiplier, plan.second_gram_multiplier]
    multipliers += [] if plan.sloped_multiplier is None else [plan.sloped_multiplier]
    grams = [SymmetricGaussian(d, m * limit**2) for m, limit in zip(multipliers, of["row_limits"], strict=True)]
    warm_up, turn = plan.warm_up, plan.turn
    early = warm_up if plan.sloped_multiplier is None else turn
    steps = [plan.early_multiplier] * early + [plan.gradient_multiplier] * (plan.n_iterations - early)
    gradients = [Gaussian(d, m * limit) for m, limit in zip(steps, of["limits"], strict=True)]
    return [
        Gaussian(4 + d, plan.totals_multiplier * math.sqrt(8.0)),
        grams[0],
        Gaussian(17, plan.length_multiplier),
        grams[1],
        *gradients[:warm_up],
        Gaussian(24, plan.count_multiplier),
        *gradients[warm_up:turn],
        *grams[2:],
        gradients[turn],
        Gaussian(24, plan.rise_multiplier),
        *gradients[turn + 1 :],
    ]


def whitened_inference_draws(plan: Any, fit: Any, trial: int) -> list[Draw]:
    d, of = plan.n_features, {name: values[trial] for name, values in fit.transcript.items()}
    multipliers = plan.gram_multiplier, plan.second_gram_multiplier, plan.third_gram_multiplier
    grams = [SymmetricGaussian(d, m * limit**2) for m, limit in zip(multipliers, of["row_limits"], strict=True)]
    locating = [Gaussian(d, plan.locating_multiplier * limit) for limit in of["limits"][:-4]]
    closing = [Gaussian(d, plan.closing_multiplier * limit) for limit in of["limits"][-4:]]
    scores = [] if plan.score_multiplier is None else [plan.score_multiplier * of["score_limit"] ** 2]
    residuals = plan.residual_multiplier
    return [
        Gaussian(4 + d, plan.totals_multiplier * math.sqrt(8.0)),
        grams[0],
        Gaussian(17, plan.length_multiplier),
        grams[1],
        grams[2],
        *locating[: plan.warm_up],
        Gaussian(24, plan.count_multiplier),
        *locating[plan.warm_up :],
        Gaussian(27 if residuals is None else 32, plan.late_count_multiplier),
        *closing,
        Gaussian(1, plan.square_multiplier * of["residual_bound"] ** 2),
        *(SymmetricGaussian(d, stddev) for stddev in scores),
        *([] if residuals is None else [Gaussian(20, residuals * math.sqrt(2.0))]),
    ]


def generalised_inference_draws(plan: Any, fit: Any, trial: int) -> list[Draw]:
    linear = whitened_inference_draws(plan, fit, trial)
    closing = 4 + plan.turn + 2  # in a linear fit: totals, Gram matrices, counts of lengths and the first gradients
    deviance = float(fit.transcript["deviance_bound"][trial])
    return [
        *linear[:4],
        *linear[5:closing],
        Gaussian(11, plan.long_multiplier),
        Gaussian(11, plan.long_multiplier),
        linear[4],
        *([] if plan.clip == "range" else [Gaussian(27, plan.late_count_multiplier)]),
        *linear[closing + 1 : closing + 5],
        Gaussian(2, plan.square_multiplier * deviance * math.sqrt(2.0)),
        *linear[closing + 6 :],
    ]


def linmix_draws(plan: Any, fit: Any, trial: int) -> list[Draw]:
    multiplier = plan.eigenvalue_multiplier
    test = [] if multiplier is None else [Gaussian(1, multiplier * SQUARED_NORM_WITH_TARGET)]
    return [*test, Sketch(plan.sketch_size, plan.n_features + 1)]


def dynamic_linmix_draws(plan: Any, fit: Any, trial: int) -> list[Draw]:
    test = Gaussian(1, plan.eigenvalue_multiplier * SQUARED_NORM_WITH_TARGET)
    return [test, Sketch(int(fit.transcript["sketch_size"][trial]), plan.n_features + 1)]


def adassp_draws(plan: Any, fit: Any, trial: int) -> list[Draw]:
    return [
        Gaussian(1, plan.eigenvalue_multiplier),
        SymmetricGaussian(plan.n_features, plan.gram_multiplier),
        Gaussian(plan.n_features, plan.target_multiplier),
    ]


def boosted_adassp_draws(plan: Any, fit: Any, trial: int) -> list[Draw]:
    return [
        Gaussian(1, plan.eigenvalue_multiplier),
        SymmetricGaussian(plan.n_features, plan.gram_multiplier),
        *[Gaussian(plan.n_features, plan.gradient_multiplier * plan.residual_bound)] * plan.n_iterations,
    ]


def dp_gd_draws(plan: Any, fit: Any, trial: int) -> list[Draw]:
    return [Gaussian(plan.n_features, plan.gradient_multiplier * plan.norm_bound)] * plan.n_iterations


def sheffet_draws(plan: Any, fit: Any, trial: int) -> list[Draw]:
    return [Sketch(plan.sketch_size, plan.n_features + 1)]


# What a run must draw, from the plan and, where it has a choice, from what it released; never from its own records.
DRAWS: dict[str, Callable[[Any, Any, int], list[Draw]]] = {
    "whitened": whitened_draws,
    "whitened-inference": whitened_inference_draws,
    "ihm": ihm_draws,
    "ihm-adaptive": adaptive_ihm_draws,
    "linmix": linmix_draws,
    "linmix-dynamic": dynamic_linmix_draws,
    "adassp": adassp_draws,
    "boosted-adassp": boosted_adassp_draws,
    "dp-gd": dp_gd_draws,
    "sheffet": sheffet_draws,
    "logistic": generalised_draws,
    "poisson": generalised_draws,
    "logistic-inference": generalised_inference_draws,
    "poisson-inference": generalised_inference_draws,
}


def problem(n_rows: int = 400, n_features: int = 4, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of norm at most 1 and targets in [-1, 1] with a signal and some noise."""
    rng = np.random.default_rng([seed, n_rows, n_features])
    X = rng.uniform(-1.0, 1.0, (n_rows, n_features)) / np.sqrt(n_features)
    y = np.clip(X @ np.linspace(-0.8, 0.8, n_features) + 0.05 * rng.standard_normal(n_rows), -1.0, 1.0)
    return X, y


def bounded(
    X: Any,
    y: Any,
    bounds: Bounds | None = None,
    *,
    fit_intercept: bool = False,
    columns: Sequence[str] | None = None,
    bad_rows: Any = "raise",
    arithmetic: Any = "float",
) -> BoundedRows:
    """Rows behind their bounds; by default rows of norm 1 and targets in [-1, 1], which map to themselves."""
    X, y = np.asarray(X), np.asarray(y)
    bounds = bounds or Bounds(x_norm=1.0, y_abs=1.0)
    row_map = bounds.row_map(n_features=X.shape[1], columns=columns, fit_intercept=fit_intercept)
    return BoundedRows(ArraySource(X, y), row_map, bad_rows, arithmetic)


_BUT_FOR_NOISE = "a weighted row and repeated ones have the same fit but for noise, which depends on the number of rows"
# Checks of scikit-learn that contradict privacy; the law of weights has what holds in their place.
_CONTRADICTING = {
    **{f"check_sample_weight_equivalence_on_{kind}_data": _BUT_FOR_NOISE for kind in ("dense", "sparse")},
    "check_all_zero_sample_weights_error": "an error would reveal that no row has a weight",
    "check_classifiers_one_label": "that one of the labels 0 and 1 does not occur is hidden by noise",
}


def every_check(estimators: Sequence[Any]) -> pytest.MarkDecorator:
    """Parametrise a test as scikit-learn does, but name each estimator once for all checks, as that takes long."""
    given = parametrize_with_checks(list(estimators))
    return pytest.mark.parametrize(*given.args, ids=cache(given.kwargs["ids"]))


def carry_out(check: Any, estimator: Any) -> None:
    """Carry out a check of scikit-learn, unless it contradicts privacy: to print how it fails takes long."""
    if reason := _CONTRADICTING.get(check.func.__name__):
        pytest.xfail(reason)
    check(estimator)
