"""The estimator of yes/no outcomes, on the path that all families share."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin

from ..data import Bounds, FileSource
from ..data.bounds import read_from_data
from ..data.opening import one_column
from ..data.units import without_column
from ..errors import BadRowsError, BoundsError, DataError
from ..feature_map import FeatureMap, outcomes
from ..fitting import Request
from ..fitting.surroundings import warn_user
from ..inference.intervals import Target
from ..ledger import BudgetLedger
from ..linalg import Array
from ..report.alarm import LABELS_WERE_FOUND
from ..side_releases.paid_bounds import PaidBounds
from .labels import as_numbers, column_of, declared_labels, in_public_words, label_cells, labels_of
from .predicting import PredictingMeans
from .private_regression import SCORE_IS_EXACT, PrivateRegression

_YES_OR_NO = (0.0, 1.0)


class PrivateLogisticRegression(PredictingMeans, ClassifierMixin, PrivateRegression):
    """Logistic regression of a yes/no outcome with a differential privacy guarantee.

    Parameters
    ----------
    epsilon : float
        Privacy loss allowed. Required.
    delta : float or str
        Probability with which the loss may be larger; a number well below 1 / n, or a rule of the public number of
        rows such as ``"1/n^2"``. Required.
    bounds : Bounds or PaidBounds
        Publicly known ranges of the features, or how much of the budget to spend on finding them. Never read from the
        data without noise. Required, unless ``feature_map`` is given. The outcome needs no range.
    feature_map : FeatureMap, optional
        How raw columns become features by public knowledge alone.
    classes : (no, yes), optional
        The two labels of the outcome; the second is the one whose probability is modelled. Labels that are not declared
        are 0 and 1. Where rows in memory have others, these are found in y, and the report says NOT PRIVATE, since one
        row may decide which they are; with ``bad_rows="zero"`` none are looked for.
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
        What to do with rows that are not finite, or whose label is not declared: refuse them, or leave
        them out.
    unit : str or int, optional
        The column that says to whom a row belongs, where someone has several rows.
    max_rows_per_unit : int, optional
        How many rows of each unit are used, chosen by the rows' own values and not by their order.
    max_weight : float, optional
        The largest weight that a row may have, where ``fit`` gets ``sample_weight``; larger ones are clipped to it.
        Public knowledge, never read from the data. The nearer it is to a typical weight, the less noise there is.
    count_clipped : bool, default=False
        Whether to spend a fiftieth of the squared budget on counting how many values the bounds clip, for the report.
    inference : bool, default=False
        Whether to fit with standard errors and intervals, which ``summary``, ``conf_int`` and ``odds_ratios`` show. The
        fit is then maximum likelihood without shrinkage, with more noise. ``options`` may give ``cov_type`` ("HC1",
        "nonrobust", or "cluster" with units, as in statsmodels) and ``clip`` ("auto", "tail" or "range").
    random_state : int, RandomState, Generator or None, default=None
        For tests and reproduction only: a seeded fit is not private, and its report says so.
    ledger : BudgetLedger, path or None, default=None
        Ledger that every fit is charged to before it touches the data.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The labels: no, then yes.
    coef_ : array of shape (1, n_features)
        Released coefficients: by how much the log-odds of a yes grow with a feature.
    intercept_ : array of shape (1,)
        Released intercept; 0 where none was fitted.
    n_features_in_ : int
        Number of features; with a feature map, of its raw columns.
    feature_names_in_ : array of str
        Names of the features, where the data had any; with a feature map, of its raw columns.
    feature_map_ : FeatureMap or None
        The feature map of the fit.
    target_range_ : (float, float)
        The numbers that stand for no and yes.
    privacy_report_ : PrivacyReport
        What was asked, spent, released and assumed.
    inference_ : Inference or None
        What the released values say of the coefficients, where ``inference`` asked for it.
    ledger_entry_ : Entry or None
        What the ledger was charged.

    Examples
    --------
    >>> import numpy as np
    >>> from dpols import Bounds, PrivateLogisticRegression
    >>> x = np.linspace(-1, 1, 20_000)[:, None]
    >>> y = np.where(np.sin(np.arange(20_000)) < 2 * x[:, 0], "yes", "no")
    >>> model = PrivateLogisticRegression(
    ...     epsilon=1.0, delta=1e-6, bounds=Bounds(features=[(-1, 1)]), classes=("no", "yes"), random_state=0
    ... )
    >>> model.fit(x, y).predict([[-0.8], [0.8]]).tolist()
    ['no', 'yes']
    """

    family = "binomial"
    method = "logistic"
    classes: Any

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float | str | None = None,
        bounds: Bounds | PaidBounds | None = None,
        *,
        feature_map: FeatureMap | None = None,
        classes: Any = None,
        fit_intercept: bool = True,
        arithmetic: Literal["auto", "exact", "float"] = "auto",
        accounting: Literal["exact", "paper"] = "exact",
        neighbours: Literal["zero-out", "replace-one", "add-remove"] = "zero-out",
        options: Mapping[str, Any] | None = None,
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

    def decision_function(self, X: Any) -> Array:
        """Return the log-odds of a yes for each row, within the public limits of the fit."""
        return self._within(self._predictors(X))

    def _fit(self, *rows: Any, **more: Any) -> Self:
        try:
            return super()._fit(*rows, **more)
        except BadRowsError as error:
            declared = "0 and 1" if self.classes is None else f"classes={self.classes!r}"
            error.args = (f"A label is not in {declared}, or else: {error}",)
            raise

    def predict_proba(self, X: Any) -> Array:
        """Return for each row the probabilities of no and of yes."""
        yes = self._means(self._predictors(X))
        return np.column_stack((1.0 - yes, yes))

    def predict(self, X: Any) -> Array:
        """Return the more likely label of each row."""
        likely = (self.decision_function(X) > 0.0).astype(int)
        return np.asarray(self.classes_[likely])

    def odds_ratios(self, alpha: float = 0.05, *, target: Target = "population") -> Any:
        """Return by how much one unit of each feature multiplies the odds of a yes, with limits.

        The fit needs ``inference=True``. What the noise hides is nan, and an InferenceWarning says why.
        """
        return self._ratios(alpha, target, "odds_ratio")

    def _predicted(self, predictors: Array) -> dict[str, Array]:
        labels = self.classes_[(predictors > 0.0).astype(int)]
        return {"prediction": labels, "probability": self._means(predictors)}

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of labels that are predicted. It is not private: it is computed without noise or charge."""
        warn_user(SCORE_IS_EXACT)
        return float(super().score(X, y, sample_weight))

    def _outcomes(self, X: Any, y: Any) -> tuple[Any, Any]:
        labels = declared_labels(self.classes)
        marked = labels is not None and read_from_data(self.classes)
        values = column_of(X, y) if isinstance(y, str) else y
        if values is None:  # in files, in streams or on clusters
            self.classes_, self._found = np.array([0, 1]) if labels is None else labels, marked
            rising = self.classes_.dtype.kind in "iuf" and self.classes_[0] < self.classes_[1]
            if isinstance(X, FileSource) or rising:
                labelled = isinstance(X, FileSource) and labels is not None
                self._range = _YES_OR_NO if labelled else (float(self.classes_[0]), float(self.classes_[1]))
                return X, y
            raise DataError(
                f"classes={self.classes!r} must be two rising numbers for rows of type {type(X).__name__}; encode the "
                "outcome so, or pass a table in memory or dpols.read(path, target=...)."
            )
        if isinstance(y, str) and labels is not None:
            self.classes_, self._found, self._range = labels, marked, _YES_OR_NO
            return without_column(X, y), outcomes(y, labels.tolist(), X)
        X = without_column(X, y) if isinstance(y, str) else X
        cells = one_column(label_cells(values))
        look = self.bad_rows != "zero"
        self.classes_, self._found = labels_of(values, cells, look=look) if labels is None else (labels, marked)
        self._range = _YES_OR_NO
        return X, as_numbers(cells, self.classes_)

    def _labels_in(self, X: Any) -> Any:
        labelled = isinstance(X, FileSource) and X.target is not None and self.classes is not None
        return self.classes_.tolist() if labelled else None

    def _request(
        self, groups: Any = None, dependent: str | None = None, sample_weight: Any = None, exposure: Any = None
    ) -> Request:
        """Ask for outcomes between 0 and 1, or between the numbers that stand for the labels on a cluster."""
        request = super()._request(groups, dependent, sample_weight, exposure)
        found = self.__dict__.pop("_found")
        request = replace(
            request,
            assumed_public=(in_public_words(self.classes_, found=found),),
            labels=tuple(map(str, self.classes_.tolist())),
            void=(*request.void, *((LABELS_WERE_FOUND,) if found else ())),
        )
        target = self.__dict__.pop("_range")
        if request.feature_map is not None:
            feature_map = replace(request.feature_map, target=target, target_name=dependent)
            return replace(request, feature_map=feature_map)
        bounds = request.bounds
        if isinstance(bounds, Bounds | PaidBounds):
            if getattr(bounds, "y_abs", None) is not None or bounds.target not in (None, _YES_OR_NO):
                raise BoundsError(
                    f"bounds={bounds!r} have a range of the target, which a yes/no outcome does not need; leave it out."
                )
            bounds = replace(bounds, target=target)
        return replace(request, bounds=bounds)

    def _set_coefficients(self, slopes: Any, intercept: float) -> None:
        self.coef_, self.intercept_ = slopes[None, :], np.array([intercept])

    def _own_content(self) -> dict[str, Any]:
        return {"family": self.family, "classes": self.classes_.tolist()}

    @classmethod
    def _own_parts(cls, content: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        return {}, {"classes_": declared_labels(tuple(content["classes"]))}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        return tags
