"""The estimator of linear models, on the path that all families share."""

import os
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ..constraints import Constraints
from ..data import Bounds
from ..data.opening import targets_to_score
from ..feature_map import FeatureMap
from ..fitting.surroundings import warn_user
from ..ledger import BudgetLedger
from ..side_releases.paid_bounds import PaidBounds
from ..storage.plain_data import text
from .predicting import Predicting
from .private_regression import SCORE_IS_EXACT, PrivateRegression


class PrivateLinearRegression(Predicting, RegressorMixin, PrivateRegression):
    """Least squares with a differential privacy guarantee.

    Parameters
    ----------
    epsilon : float
        Privacy loss allowed. Required.
    delta : float or str
        Probability with which the loss may be larger; a number well below 1 / n, or a rule of the public number of
        rows such as ``"1/n^2"``. Required.
    bounds : Bounds or PaidBounds
        Publicly known ranges of features and target; or how much of the budget to spend on finding them. Never read
        from the data without noise. Required, unless ``feature_map`` is
        given, whose ranges stand for those of the features; then it may add the target's range and ``x_norm``.
    feature_map : FeatureMap, optional
        How raw columns become features by public knowledge alone: ranges, categories, powers, products and what
        stands for an empty cell. ``fit`` and ``predict`` then take raw rows.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    method : str, default="whitened"
        Name of the algorithm.
    arithmetic : "auto", "exact" or "float", default="auto"
        Arithmetic of the run. "exact": whole-numbered rows and exactly rounded noise, so that the guarantee holds
        for the program as executed. "float": faster for many features, private in the real-number model only. "auto":
        exact up to 400 coefficients, or 128 for methods other than the default, else float with a warning.
    accounting : "exact" or "paper", default="exact"
        How the noise is calibrated: jointly and exactly, or as published.
    neighbours : "zero-out", "replace-one" or "add-remove", default="zero-out"
        Which two data sets the guarantee makes hard to distinguish: a row becomes zeros, becomes any other row, or is
        added or removed. With "add-remove" the number of rows is not public, and delta must be a number.
    options : mapping, optional
        Further choices of the method's ``plan``, for instance ``{"n_iterations": 9}``.
    constraints : Constraints, optional
        Public limits on the slopes: a box, such as nonnegative slopes, or a norm. They cost no budget. The intercept is
        not limited, and there are no intervals.
    bad_rows : "raise" or "zero", default="raise"
        What to do with rows that are not finite, as with an empty cell: refuse them, or leave them out, so that the
        fit is on complete rows only.
    unit : str or int, optional
        What the guarantee protects where someone has several rows: the column, by name or for an array by number, that
        says to whom a row belongs. It is not a feature. None protects single rows, so that people with several rows
        are not fully covered.
    max_rows_per_unit : int, optional
        How many rows of each unit are used, chosen by the rows' own values and not by their order; the noise is as
        large as if there were so many times fewer rows. Required with ``unit``, and with ``groups`` of ``fit``.
    max_weight : float, optional
        The largest weight that a row may have, where ``fit`` gets ``sample_weight``; larger ones are clipped to it.
        Public knowledge, never read from the data. The nearer it is to a typical weight, the less noise there is.
    count_clipped : bool, default=False
        Whether to spend a fiftieth of the squared budget on counting how many values the bounds clip, for the report.
    inference : bool, default=False
        Whether to fit with standard errors and intervals: ``summary``, ``conf_int`` and ``predict_interval``. The fit
        is then least squares without shrinkage, with more noise; method "whitened" only. ``options`` may give
        ``cov_type`` ("HC1", "nonrobust", or "cluster" with units, as in statsmodels) and ``clip`` ("auto", "tail" or
        "range").
    random_state : int, RandomState, Generator or None, default=None
        For tests and reproduction only: a seeded fit is not private, and its report says so. None draws noise from
        the operating system.
    ledger : BudgetLedger, path or None, default=None
        Ledger that every fit is charged to before it touches the data; a fit that it does not cover raises
        BudgetExceeded. Clones and copies, also in other processes, share it.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        Released coefficients in the units of the data.
    intercept_ : float
        Released intercept; 0 where none was fitted.
    n_features_in_ : int
        Number of features; with a feature map, of its raw columns.
    feature_names_in_ : array of str
        Names of the features, where the data had any; with a feature map, of its raw columns.
    feature_map_ : FeatureMap or None
        The feature map of the fit.
    target_range_ : (float, float)
        The range of the target, declared or paid for; predictions are clipped to it.
    privacy_report_ : PrivacyReport
        What was asked, spent, released and assumed.
    inference_ : Inference or None
        What the released values say of the coefficients, where ``inference`` asked for it.
    ledger_entry_ : Entry or None
        What the ledger was charged.

    Examples
    --------
    >>> import numpy as np
    >>> from dpols import Bounds, PrivateLinearRegression
    >>> x = np.linspace(-1, 1, 20_000)[:, None]
    >>> model = PrivateLinearRegression(
    ...     epsilon=1.0, delta=1e-6, bounds=Bounds(features=[(-1, 1)], target=(-3, 5)), random_state=0
    ... )
    >>> model.fit(x, 1 + 2 * x[:, 0]).coef_.round(1)
    array([2.])
    """

    family = "gaussian"
    method: str
    constraints: Constraints | None

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float | str | None = None,
        bounds: Bounds | PaidBounds | None = None,
        *,
        feature_map: FeatureMap | None = None,
        fit_intercept: bool = True,
        method: str = "whitened",
        arithmetic: Literal["auto", "exact", "float"] = "auto",
        accounting: Literal["exact", "paper"] = "exact",
        neighbours: Literal["zero-out", "replace-one", "add-remove"] = "zero-out",
        options: Mapping[str, Any] | None = None,
        constraints: Constraints | None = None,
        bad_rows: Literal["raise", "zero"] = "raise",
        unit: str | int | None = None,
        max_rows_per_unit: int | None = None,
        max_weight: float | None = None,
        count_clipped: bool = False,
        inference: bool = False,
        random_state: Any = None,
        ledger: BudgetLedger | str | os.PathLike[str] | None = None,
    ) -> None:
        self._keep(locals())

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R^2 on rows and targets. It is not private: it is computed from them without noise or charge."""
        warn_user(SCORE_IS_EXACT)
        return float(super().score(X, targets_to_score(y), sample_weight))

    def to_sklearn(self) -> Any:
        """Return the released coefficients as a plain ``LinearRegression``, for tools that take nothing else.

        With a feature map it takes the map's features: ``feature_map_.transform(rows)``.
        """
        from sklearn.linear_model import LinearRegression

        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None) if self.feature_map_ is None else self.feature_map_.names
        plain = LinearRegression(fit_intercept=bool(self.fit_intercept))
        plain.coef_, plain.intercept_, plain.n_features_in_ = self.coef_.copy(), self.intercept_, len(self.coef_)
        if names is not None:
            plain.feature_names_in_ = np.array(names, dtype=object)
        return plain

    @classmethod
    def _own_parts(cls, content: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"method": text(content["report"]["method"])}, {}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags
