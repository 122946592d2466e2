"""Thin scikit-learn estimators: validate, bound, plan, run, store."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from .data import Bounds, RowSource, open_rows
from .data.kinds import refuse_unread
from .data.opening import column_names, rows_to_predict, targets_to_score
from .data.threads import one_blas_thread
from .data.units import checked_max_rows, source_of_units, unit_column, without_column
from .errors import ModelFileError, ParameterError
from .families import FamilyName
from .feature_map import FeatureMap, finite_features, mapped_source
from .fitting import Outcome, Prepared, Request, carry_out, coefficients_of, inference_of, prepare, report_of
from .fitting.surroundings import voids, warn_around_a_fit, warn_user
from .inference import Inference
from .inference.inferring import Inferring
from .ledger import BudgetLedger, Entry, as_ledger
from .randomness import Witness
from .report import PrivacyReport
from .side_releases.paid_bounds import PaidBounds
from .storage.model_file import model_bytes, read_model, write_model
from .storage.plain_data import finite_number, text, tuple_of

SCORE_IS_EXACT = (
    "score is not private: it reads the rows without noise, and no ledger is charged for it. If these rows are to be "
    "protected, do not show it to others, nor select by it; dpols.PrivateGridSearch pays for its scores."
)


class PrivateRegression(BaseEstimator):
    """What the estimators of all families share: the way from parameters and rows to a fit, its report and its file."""

    family: ClassVar[FamilyName]
    method: str
    coef_: Any
    intercept_: Any
    n_features_in_: int
    feature_names_in_: Any
    target_range_: tuple[float, float]
    feature_map_: FeatureMap | None
    privacy_report_: PrivacyReport
    ledger_entry_: Entry | None
    epsilon: float | None
    delta: float | str | None
    bounds: Bounds | PaidBounds | None
    feature_map: FeatureMap | None
    fit_intercept: bool
    arithmetic: Literal["auto", "exact", "float"]
    accounting: Literal["exact", "paper"]
    neighbours: Literal["zero-out", "replace-one"]
    options: Mapping[str, Any] | None
    bad_rows: Literal["raise", "zero"]
    unit: str | int | None
    max_rows_per_unit: int | None
    count_clipped: bool
    random_state: Any
    ledger: BudgetLedger | str | os.PathLike[str] | None

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Fit on rows ``X`` and targets ``y``.

        ``X`` and ``y`` are arrays, or ``X`` is a table and ``y`` the targets or the name of their column, or ``X`` is a
        source of rows that has its own target and ``y`` is None. ``groups`` says to which unit each row belongs, where
        no column of ``X`` does.

        All checks, and the plan, come before the first release and before a ledger is charged; what fails later, but
        before the first release, gives the charge back. Returns the estimator; one whose fit fails is left as it was.
        """
        return self._fit(X, y, groups)

    def _fit(self, X: Any, y: Any = None, groups: Any = None, witness: Witness | None = None) -> Self:
        # Also around what is small: threads of BLAS spin on for a while, and take a core from the next fit's passes.
        with _unchanged_by_failure(self), one_blas_thread():
            X, y = self._outcomes(X, y)
            request, ledger = self._request(groups), as_ledger(self.ledger)
            if witness is None:  # else a search has said it
                warn_around_a_fit(request.void, ledger=ledger is not None)
            prepared = prepare(request, self._source_of_units(X, y, groups, request))
            outcome = carry_out(prepared, self.random_state, ledger, witness)
            released = coefficients_of(outcome)
            self._set_coefficients(released[:-1], float(released[-1]))
            self.feature_map_, self.target_range_ = request.feature_map, outcome.row_map.target
            self._keep(prepared, outcome)
            self.privacy_report_, self.ledger_entry_ = report_of(prepared, outcome, self._names()), outcome.entry
        return self

    def _set_coefficients(self, slopes: Any, intercept: float) -> None:
        """Keep coefficients in the shape that scikit-learn has for the family."""
        self.coef_, self.intercept_ = slopes, intercept

    def _predictors(self, X: Any) -> np.ndarray[Any, np.dtype[Any]]:
        """Return the linear predictor of each row."""
        return np.asarray(self._features(X) @ np.ravel(self.coef_) + np.ravel(self.intercept_)[0])

    def _outcomes(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Return the arguments of ``fit`` with outcomes as numbers."""
        return X, y

    def _keep(self, prepared: Prepared, outcome: Outcome) -> None:
        """Keep what only some families have."""

    def save(self, path: Any) -> None:
        """Write the fitted model to a JSON file: released values and public parameters only."""
        write_model(path, self._content())

    def to_json(self) -> str:
        """Return what ``save`` writes, as text."""
        return model_bytes(self._content()).decode()

    def _content(self) -> dict[str, Any]:
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return {
            "coef": [float(value) for value in np.ravel(self.coef_)],
            "intercept": float(np.ravel(self.intercept_)[0]),
            "target_range": list(self.target_range_),
            "feature_names": None if names is None else [str(name) for name in names],
            "feature_map": None if self.feature_map_ is None else self.feature_map_.to_dict(),
            "report": self.privacy_report_.to_dict(),
            **self._own_content(),
        }

    def _own_content(self) -> dict[str, Any]:
        """Return what only some families have in their model files."""
        return {"family": self.family, "inference": None}

    @classmethod
    def load(cls, path: Any) -> Self:
        """Read a fitted model back."""
        return cls._from_content(read_model(path), path)

    @classmethod
    def _from_content(cls, content: dict[str, Any], path: Any) -> Self:
        if content.get("family") != cls.family:
            raise ModelFileError(
                f"{str(path)!r} holds a model of family {content.get('family')!r}, and {cls.__name__} is of "
                f"{cls.family!r}; load it with the estimator of its family."
            )
        try:
            report = PrivacyReport.from_dict(content["report"])
            coefficients, intercept = tuple_of(finite_number)(content["coef"]), finite_number(content["intercept"])
            low, high = tuple_of(finite_number)(content["target_range"])
            if not low < high:
                raise ValueError("a target_range with low < high")
            names = None if content["feature_names"] is None else tuple_of(text)(content["feature_names"])
            given = content["feature_map"]
            feature_map = None if given is None else FeatureMap.from_dict(given)
            inputs = coefficients if feature_map is None else feature_map.raw_columns
            features = names if feature_map is None else feature_map.names
            if not coefficients or (features is not None and len(features) != len(coefficients)):
                raise ValueError("one name for each coefficient")
            own = cls._own_parts(content, len(coefficients))
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"{str(path)!r} lacks a part of the model: {error}.") from None
        model = cls(epsilon=report.asked.epsilon, delta=report.asked.delta, feature_map=feature_map)
        model.method = report.method
        model.__dict__.update(own)
        model._set_coefficients(np.array(coefficients), intercept)
        model.feature_map_ = feature_map
        model.target_range_ = (low, high)
        model.n_features_in_, model.privacy_report_, model.ledger_entry_ = len(inputs), report, None
        if names is not None:
            model.feature_names_in_ = np.array(names, dtype=object)
        return model

    @classmethod
    def _own_parts(cls, content: dict[str, Any], n_coefficients: int) -> dict[str, Any]:
        """Return attributes that only some families have; ValueError says what a file lacks."""
        return {}

    def _features(self, X: Any) -> Any:
        """Return rows to predict for as numbers, with a column for each coefficient."""
        check_is_fitted(self)
        refuse_unread(X)
        if isinstance(self.unit, str) and self.unit in column_names(X):
            X = without_column(X, self.unit)
        if self.feature_map_ is not None:
            return finite_features(self.feature_map_, X)
        return rows_to_predict(self, X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        return tags

    def _request(self, groups: Any = None) -> Request:
        unit, most = self.unit, self.max_rows_per_unit
        if unit is not None and groups is not None:
            raise ParameterError("unit names a column and groups are given, too; give one of them.")
        if (unit is None and groups is None) != (most is None):
            raise ParameterError(
                "max_rows_per_unit goes with unit, or with groups of fit: it says how many rows of each unit are used."
            )
        asked = {name: getattr(self, name) for name in Request.__dataclass_fields__ if hasattr(self, name)}
        asked |= {"fit_intercept": bool(self.fit_intercept), "count_clipped": bool(self.count_clipped)}
        asked["unit"] = None if most is None else str("unit of groups" if unit is None else unit)
        return Request(**asked, rows_per_unit=1 if most is None else checked_max_rows(most), void=voids())

    def _source_of_units(self, X: Any, y: Any, groups: Any, request: Request) -> RowSource:
        """Return the source of rows, of which only so many of each unit are used where there are units."""
        if self.unit is None and groups is None:
            return self._source(X, y)
        ids = unit_column(X, self.unit) if groups is None else groups
        source = self._source(X if self.unit is None else without_column(X, self.unit), y)
        return source_of_units(source, ids, max_rows=request.rows_per_unit, bad_rows=request.bad_rows)

    def _source(self, X: Any, y: Any) -> RowSource:
        """Open the arguments of ``fit``, and remember the number and names of their columns as scikit-learn does."""
        source = self._open(X, y)
        if self.feature_map is not None:
            self.n_features_in_ = len(self.feature_map.raw_columns)
            self.feature_names_in_ = np.array(self.feature_map.raw_columns, dtype=object)
            return source
        self.n_features_in_ = source.n_features
        self.__dict__.pop("feature_names_in_", None)
        # Like scikit-learn, take names for names where all of them are strings.
        if source.columns is not None and all(isinstance(name, str) for name in column_names(X)):
            self.feature_names_in_ = np.array(source.columns, dtype=object)
        return source

    def _open(self, X: Any, y: Any) -> RowSource:
        return open_rows(X, y) if self.feature_map is None else mapped_source(self.feature_map, X, y)

    def _names(self) -> list[str]:
        if self.feature_map_ is not None:
            return list(self.feature_map_.names)
        names = getattr(self, "feature_names_in_", None)
        return [f"x{i}" for i in range(self.n_features_in_)] if names is None else [str(name) for name in names]


class PrivateLinearRegression(RegressorMixin, PrivateRegression, Inferring):
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
        Arithmetic of the run. "exact": whole-numbered rows and exactly rounded noise, so that the guarantee holds of
        the program that runs. "float": faster for many features, private in the real-number model only. "auto": exact
        up to 128 coefficients where the method has an exact form, else float with a warning.
    accounting : "exact" or "paper", default="exact"
        How the noise is calibrated: jointly and exactly, or as published.
    neighbours : "zero-out" or "replace-one", default="zero-out"
        Which two data sets the guarantee makes hard to tell apart.
    options : mapping, optional
        Further choices of the method's ``plan``, for instance ``{"n_iterations": 9}``.
    bad_rows : "raise" or "zero", default="raise"
        What to do with rows that are not finite: refuse them, or count each as a row of zeros without a word.
    unit : str or int, optional
        What the guarantee protects where someone has several rows: the column, by name or for an array by number, that
        says to whom a row belongs. It is not a feature. None protects single rows, so that people with several rows
        are not fully covered.
    max_rows_per_unit : int, optional
        How many rows of each unit are used, the first ones; the noise is as large as if there were so many times fewer
        rows. Required with ``unit``, and with ``groups`` of ``fit``.
    count_clipped : bool, default=False
        Whether to spend a fiftieth of the squared budget on counting how many values the bounds clip, for the report.
    inference : bool or float, default=False
        Whether to spend a share of the squared budget, half of it or the one given, on standard errors and intervals:
        ``summary``, ``conf_int`` and ``predict_interval``. It takes three more passes over the data.
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
        neighbours: Literal["zero-out", "replace-one"] = "zero-out",
        options: Mapping[str, Any] | None = None,
        bad_rows: Literal["raise", "zero"] = "raise",
        unit: str | int | None = None,
        max_rows_per_unit: int | None = None,
        count_clipped: bool = False,
        inference: bool | float = False,
        random_state: Any = None,
        ledger: BudgetLedger | str | os.PathLike[str] | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.feature_map = feature_map
        self.fit_intercept = fit_intercept
        self.method = method
        self.arithmetic = arithmetic
        self.accounting = accounting
        self.neighbours = neighbours
        self.options = options
        self.bad_rows = bad_rows
        self.unit = unit
        self.max_rows_per_unit = max_rows_per_unit
        self.count_clipped = count_clipped
        self.inference = inference
        self.random_state = random_state
        self.ledger = ledger

    def predict(self, X: Any, *, raw: bool = False) -> np.ndarray[Any, np.dtype[Any]]:
        """Return predictions in the units of the target, within its declared range unless ``raw`` asks for all.

        Rows are not clipped, but for what a feature map clips.
        """
        predictions = self._predictors(X)
        return predictions if raw else np.clip(predictions, *self.target_range_)

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
    def _own_parts(cls, content: dict[str, Any], n_coefficients: int) -> dict[str, Any]:
        given = content["inference"]
        inference = None if given is None else Inference.from_dict(given)
        if inference is not None and len(inference.names) != n_coefficients + inference.intercept:
            raise ValueError("one estimate for each coefficient")
        return {"inference_": inference}

    def _own_content(self) -> dict[str, Any]:
        return {
            "family": self.family,
            "inference": None if self.inference_ is None else self.inference_.to_dict(),
        }

    def _keep(self, prepared: Prepared, outcome: Outcome) -> None:
        self.inference_ = inference_of(prepared, outcome, self._names())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


@contextmanager
def _unchanged_by_failure(estimator: PrivateRegression) -> Iterator[None]:
    """Take back what a fit that fails has stored: names and counts of columns would make it look fitted."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise
