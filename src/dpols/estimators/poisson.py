"""The estimator of counts, on the path that all families share."""

import os
from collections.abc import Mapping
from typing import Any, Literal, Self

from sklearn.base import RegressorMixin

from ..data import Bounds
from ..feature_map import FeatureMap
from ..inference.intervals import Target
from ..ledger import BudgetLedger
from ..side_releases.paid_bounds import PaidBounds
from .predicting_counts import PredictingCounts
from .private_regression import PrivateRegression, Progress


class PrivatePoissonRegressor(PredictingCounts, RegressorMixin, PrivateRegression):
    """Poisson regression of a count with a differential privacy guarantee.

    Parameters
    ----------
    epsilon : float
        Privacy loss allowed. Required.
    delta : float or str
        Probability with which the loss may be larger; a number well below 1 / n, or a rule of the public number of
        rows such as ``"1/n^2"``. Required.
    bounds : Bounds or PaidBounds
        Publicly known ranges of the features, and of the count: ``Bounds(features=..., target=(0, 20))``; or how much
        of the budget to spend on finding them. Never read from the data without noise. Required, unless
        ``feature_map`` is given with a range of the target.
    feature_map : FeatureMap, optional
        How raw columns become features by public knowledge alone.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    arithmetic : "auto", "exact" or "float", default="auto"
        Arithmetic of the run, as in PrivateLinearRegression.
    accounting : "exact" or "paper", default="exact"
        How the noise is calibrated: jointly and exactly, or by zero-concentrated differential privacy.
    neighbours : "zero-out", "replace-one" or "add-remove", default="zero-out"
        Which two data sets the guarantee makes hard to distinguish: a row becomes zeros, becomes any other row, or is
        added or removed. With "add-remove" the number of rows is not public, and delta must be a number.
    options : mapping, optional
        ``{"n_iterations": 8}`` takes fewer steps than 16, each with a pass over the data. ``{"calibration": True}``
        pays for predicted against observed outcomes, which ``calibration`` and ``plot_calibration`` show.
    bad_rows : "raise" or "zero", default="raise"
        What to do with rows that are not finite, as with an empty cell: refuse them, or leave them out, so that the
        fit is on complete rows only.
    unit : str or int, optional
        The column that says to whom a row belongs, where someone has several rows.
    max_rows_per_unit : int, optional
        How many rows of each unit are used, chosen by the rows' own values and not by their order.
    max_weight : float, optional
        The largest weight that a row may have, where ``fit`` gets ``sample_weight``; larger ones are clipped to it.
        Public knowledge, never read from the data. The nearer it is to a typical weight, the less noise there is.
    exposure_range : (low, high), optional
        The range of exposure, such as years at risk, where ``fit`` gets ``exposure``; above 0. Exposures outside are
        clipped to it. Public knowledge, never read from the data. The mean count of a row is its exposure times
        exp(intercept + x'coef).
    count_clipped : bool, default=False
        Whether to spend a fiftieth of the squared budget on counting how many values the bounds clip, for the report.
    inference : bool, default=False
        Whether to fit with standard errors and intervals, which ``summary``, ``conf_int`` and ``rate_ratios`` show. The
        fit is then maximum likelihood without shrinkage, with more noise. ``options`` may give ``cov_type`` ("HC1",
        "nonrobust", or "cluster" with units, as in statsmodels) and ``clip`` ("auto", "tail" or "range").
    random_state : int, RandomState, Generator or None, default=None
        For tests and reproduction only: a seeded fit is not private, and its report says so.
    ledger : BudgetLedger, path or None, default=None
        Ledger that every fit is charged to before it touches the data.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        Released coefficients: by how much the logarithm of the mean count grows with a feature.
    intercept_ : float
        Released intercept; 0 where none was fitted.
    n_features_in_ : int
        Number of features; with a feature map, of its raw columns.
    feature_names_in_ : array of str
        Names of the features, where the data had any; with a feature map, of its raw columns.
    feature_map_ : FeatureMap or None
        The feature map of the fit.
    target_range_ : (float, float)
        The declared range of the counts.
    privacy_report_ : PrivacyReport
        What was asked, spent, released and assumed.
    inference_ : Inference or None
        What the released values say of the coefficients, where ``inference`` asked for it.
    ledger_entry_ : Entry or None
        What the ledger was charged.

    Examples
    --------
    >>> import numpy as np
    >>> from dpols import Bounds, PrivatePoissonRegressor
    >>> x = np.linspace(-1, 1, 20_000)[:, None]
    >>> y = np.round(np.exp(1 + x[:, 0]))
    >>> model = PrivatePoissonRegressor(
    ...     epsilon=1.0, delta=1e-6, bounds=Bounds(features=[(-1, 1)], target=(0, 10)), random_state=0
    ... )
    >>> model.fit(x, y).coef_.round(1)
    array([1.])
    """

    family = "poisson"
    method = "poisson"
    exposure_range: tuple[float, float] | None

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float | str | None = None,
        bounds: Bounds | PaidBounds | None = None,
        *,
        feature_map: FeatureMap | None = None,
        fit_intercept: bool = True,
        arithmetic: Literal["auto", "exact", "float"] = "auto",
        accounting: Literal["exact", "paper"] = "exact",
        neighbours: Literal["zero-out", "replace-one", "add-remove"] = "zero-out",
        options: Mapping[str, Any] | None = None,
        bad_rows: Literal["raise", "zero"] = "raise",
        unit: str | int | None = None,
        max_rows_per_unit: int | None = None,
        max_weight: float | None = None,
        exposure_range: tuple[float, float] | None = None,
        count_clipped: bool = False,
        inference: bool = False,
        random_state: Any = None,
        ledger: BudgetLedger | str | os.PathLike[str] | None = None,
    ) -> None:
        self._keep(locals())

    def fit(
        self,
        X: Any = None,
        y: Any = None,
        *,
        exposure: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        progress: Progress = None,
    ) -> Self:
        """Fit on rows ``X`` and counts ``y``, as the linear model does.

        ``exposure`` is the exposure of each row, or the name of the column that holds it; ``exposure_range`` must be
        declared. It cannot go with ``sample_weight``.
        """
        if X is None and y is None:
            return super().fit()
        return self._fit(X, y, groups, sample_weight, progress=progress, exposure=exposure)

    def rate_ratios(self, alpha: float = 0.05, *, target: Target = "population") -> Any:
        """Return by how much one unit of each feature multiplies the mean count, with limits.

        The fit needs ``inference=True``. What the noise hides is nan, and an InferenceWarning says why.
        """
        return self._ratios(alpha, target, "rate_ratio")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        tags.target_tags.positive_only = True
        return tags
