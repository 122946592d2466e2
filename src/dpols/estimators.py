"""Thin scikit-learn estimators: validate, bound, plan, run, store."""

import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from .algorithms import (
    Algorithm,
    Fit,
    StagedPlan,
    algorithm,
    certified_delta_of,
    names_of,
    planned_epsilon,
    spent_epsilon,
)
from .data import ArraySource, BoundedRows, Bounds, RowMap, RowSource, as_source
from .data.memory import real_numbers
from .data.rows import Numeric
from .data.threads import one_blas_thread
from .errors import (
    BoundsError,
    BudgetExceeded,
    CalibrationError,
    DataError,
    ModelFileError,
    NumericWarning,
    ParameterError,
)
from .model_file import read_model, write_model
from .plain_data import finite_number, text, tuple_of
from .privacy import Neighbours, PrivacyBudget
from .privacy.certificate import certify
from .randomness import streams
from .report import Coefficient, PrivacyReport, release_lines, verdict_of

_EXACT_UP_TO = 128
_TABLES = ("pandas", "polars", "pyarrow")


class PrivateLinearRegression(RegressorMixin, BaseEstimator):
    """Least squares with a differential privacy guarantee.

    Parameters
    ----------
    epsilon : float
        Privacy loss allowed. Required.
    delta : float or str
        Probability with which the loss may be larger; a number well below 1 / n, or a rule of the public number of
        rows such as ``"1/n^2"``. Required.
    bounds : Bounds
        Publicly known ranges of features and target; never read from the data. Required.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    method : str, default="ihm"
        Name of the algorithm.
    numeric : "auto", "exact" or "float", default="auto"
        Arithmetic of the run. "exact": whole-numbered rows and exactly rounded noise, so that the guarantee holds of
        the program that runs. "float": faster for many features, private in the real-number model only. "auto": exact
        up to 128 coefficients where the method has an exact form, else float with a warning.
    accounting : "exact" or "paper", default="exact"
        How the noise is calibrated: jointly and exactly, or as published.
    neighbours : "zero-out" or "replace-one", default="zero-out"
        Which two data sets the guarantee makes hard to tell apart.
    options : mapping, optional
        Further choices of the method's ``plan``, for instance ``{"n_iterations": 5}``.
    bad_rows : "raise" or "zero", default="raise"
        What to do with rows that are not finite: refuse them, or count each as a row of zeros without a word.
    random_state : int, RandomState, Generator or None, default=None
        For tests and reproduction only: a seeded fit is not private, and its report says so. None draws noise from
        the operating system.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        Released coefficients in the units of the data.
    intercept_ : float
        Released intercept; 0 where none was fitted.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of str
        Names of the features, where the data had any.
    privacy_report_ : PrivacyReport
        What was asked, spent, released and assumed.

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

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float | str | None = None,
        bounds: Bounds | None = None,
        *,
        fit_intercept: bool = True,
        method: str = "ihm",
        numeric: Literal["auto", "exact", "float"] = "auto",
        accounting: Literal["exact", "paper"] = "exact",
        neighbours: Literal["zero-out", "replace-one"] = "zero-out",
        options: Mapping[str, Any] | None = None,
        bad_rows: Literal["raise", "zero"] = "raise",
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.fit_intercept = fit_intercept
        self.method = method
        self.numeric = numeric
        self.accounting = accounting
        self.neighbours = neighbours
        self.options = options
        self.bad_rows = bad_rows
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> "PrivateLinearRegression":
        """Fit on rows ``X`` and targets ``y``: arrays, or a table with the targets or the name of their column.

        All checks, and the plan, come before the first release. Returns the estimator; one whose fit fails is left as
        it was.
        """
        with _unchanged_by_failure(self):
            method = self._checked_method()
            source = self._source(X, y)
            budget = self._budget(source.n_rows)
            relation = _one_of("neighbours", self.neighbours, Neighbours)
            row_map = self._bounds().row_map(
                n_features=source.n_features, columns=source.columns, fit_intercept=bool(self.fit_intercept)
            )
            plan = self._plan(method, budget, relation, source.n_rows, row_map.n_coordinates)
            numeric = self._numeric(method, row_map.n_coordinates)
            if numeric == "exact" and not isinstance(plan, StagedPlan):
                certify(plan.releases, budget, relation=relation)  # and again of what was recorded
            bits = streams(self.random_state, 1)
            with one_blas_thread():
                fit = method.run(BoundedRows(source, row_map, self.bad_rows, numeric), plan, bits)
                self._store(method, plan, fit, row_map, budget, relation, numeric, bits[0].seeded)
        return self

    def predict(self, X: Any) -> np.ndarray[Any, np.dtype[Any]]:
        """Return predictions in the units of the target. Rows are not clipped."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, dtype=(np.float64, np.float32))
        return np.asarray(rows @ self.coef_ + self.intercept_)

    def save(self, path: Any) -> None:
        """Write the fitted model to a JSON file: released values and public parameters only."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        content = {
            "coef": [float(value) for value in self.coef_],
            "intercept": self.intercept_,
            "feature_names": None if names is None else [str(name) for name in names],
            "report": self.privacy_report_.to_dict(),
        }
        write_model(path, content)

    @classmethod
    def load(cls, path: Any) -> "PrivateLinearRegression":
        """Read a fitted model back."""
        content = read_model(path)
        try:
            report = PrivacyReport.from_dict(content["report"])
            coefficients, intercept = tuple_of(finite_number)(content["coef"]), finite_number(content["intercept"])
            names = None if content["feature_names"] is None else tuple_of(text)(content["feature_names"])
            if not coefficients or (names is not None and len(names) != len(coefficients)):
                raise ValueError("one name for each coefficient")
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"{str(path)!r} lacks a part of the model: {error}.") from None
        model = cls(epsilon=report.asked.epsilon, delta=report.asked.delta, method=report.method)
        model.coef_, model.intercept_ = np.array(coefficients), intercept
        model.n_features_in_, model.privacy_report_ = len(coefficients), report
        if names is not None:
            model.feature_names_in_ = np.array(names, dtype=object)
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        tags.non_deterministic = self.random_state is None
        return tags

    def _checked_method(self) -> Algorithm:
        _one_of("numeric", self.numeric, ("auto", "exact", "float"))
        _one_of("bad_rows", self.bad_rows, ("raise", "zero"))
        return algorithm(self.method)

    def _numeric(self, method: Algorithm, n_coordinates: int) -> Numeric:
        """Settle the arithmetic; what falls back to floating point says so."""
        if self.numeric == "float":
            return "float"
        if not method.exact_form:
            reason = f"method {method.name!r} has no exact form"
        elif self.numeric == "auto" and n_coordinates > _EXACT_UP_TO:
            reason = f"{n_coordinates} coefficients are more than the {_EXACT_UP_TO} up to which exact is chosen"
        else:
            return "exact"
        if self.numeric == "exact":
            raise ParameterError(f"numeric='exact' is not possible: {reason}; use another method or numeric='float'.")
        warnings.warn(
            f"numeric='auto' falls back to floating point, private in the real-number model only: {reason}. "
            "Pass numeric='float' to accept this, or numeric='exact' to insist.",
            NumericWarning,
            stacklevel=3,
        )
        return "float"

    def _budget(self, n_rows: int) -> PrivacyBudget:
        for name in ("epsilon", "delta"):
            if getattr(self, name) is None:
                raise ParameterError(f"{name} is required: pass {name}=... to {type(self).__name__}.")
        delta = delta_from_rule(self.delta, n_rows) if isinstance(self.delta, str) else self.delta
        return PrivacyBudget(self.epsilon, delta)  # type: ignore[arg-type]

    def _bounds(self) -> Bounds:
        if self.bounds is None:
            raise BoundsError(
                "bounds is required: pass bounds=dpols.Bounds(features=..., target=...) with ranges that are public "
                "knowledge. They are never read from the data, since that would leak it."
            )
        if not isinstance(self.bounds, Bounds):
            raise BoundsError(f"bounds={self.bounds!r} must be a dpols.Bounds.")
        return self.bounds

    def _source(self, X: Any, y: Any) -> RowSource:
        """Turn the arguments of ``fit`` into a source of rows, as scikit-learn validates them."""
        is_table = type(X).__module__.partition(".")[0] in _TABLES and len(getattr(X, "shape", ())) == 2
        if y is None:
            raise DataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. "
                "Pass the targets, or the name of their column where X is a table."
            )
        if isinstance(y, str):
            if not is_table:
                raise DataError(f"y={y!r} names a column, but X is not a table.")
            return self._remember(as_source(X, y), X)
        target = real_numbers(y, "y")
        target = column_or_1d(check_array(target, ensure_2d=False, ensure_all_finite=False), warn=True)
        if not is_table:
            rows = validate_data(self, _matrix(X), dtype=(np.float64, np.float32), ensure_all_finite=False)
            check_consistent_length(rows, target)
            return ArraySource(rows, target.astype(np.float64, copy=False))
        source = as_source(X, target)
        if source.n_rows != len(target):
            raise DataError(f"X has {source.n_rows} rows but y has {len(target)} values; they must be equal.")
        return self._remember(source, X)

    def _remember(self, source: RowSource, table: Any) -> RowSource:
        if source.n_rows < 1:
            raise DataError("the table has no rows (0 sample(s)); at least one is required.")
        self.n_features_in_ = source.n_features
        self.__dict__.pop("feature_names_in_", None)
        # Like scikit-learn, take names for names where all of them are strings.
        if all(isinstance(name, str) for name in getattr(table, "column_names", table.columns)):
            self.feature_names_in_ = np.array(source.columns, dtype=object)
        return source

    def _plan(
        self, method: Algorithm, budget: PrivacyBudget, relation: Neighbours, n_rows: int, n_coordinates: int
    ) -> Any:
        if not isinstance(self.options, Mapping | None):
            raise ParameterError(f"options={self.options!r} must be a mapping, for instance {{'n_iterations': 5}}.")
        options = dict(self.options or {})
        sizes = {"n_rows": n_rows, "n_features": n_coordinates}
        try:
            plan = method.plan(budget.for_zero_out(relation), **sizes, accounting=self.accounting, **options)
            planned = planned_epsilon(plan, budget.delta, relation=relation)
        except TypeError as error:
            raise ParameterError(f"options={options!r} do not fit method {method.name!r}: {error}.") from None
        except OverflowError:
            raise CalibrationError(f"{budget} and options={options!r} lead beyond the range of doubles.") from None
        if not planned <= budget.epsilon * (1.0 + 1e-9):
            raise BudgetExceeded(
                f"method {method.name!r} with {self.accounting} accounting would cost epsilon={planned:.6g} under "
                f"{relation} neighbours, more than the {budget.epsilon:.6g} asked for; nothing is returned, and "
                "nothing was released."
            )
        return plan

    def _store(
        self,
        method: Algorithm,
        plan: Any,
        fit: Fit,
        row_map: RowMap,
        budget: PrivacyBudget,
        relation: Neighbours,
        numeric: Numeric,
        seeded: bool,
    ) -> None:
        """Account for what was recorded, and only then keep what was released."""
        spent = spent_epsilon(plan, fit, budget.delta, relation=relation)
        if not spent <= budget.epsilon * (1.0 + 1e-9):
            raise BudgetExceeded(
                f"the recorded releases cost epsilon={spent:.6g}, more than the {budget.epsilon:.6g} asked for; "
                "nothing is returned. Please report this as a bug of dpols."
            )
        proved = certified_delta_of(plan, fit, budget, relation=relation) if numeric == "exact" else None
        matrix, offset = row_map.coefficient_map()
        released = matrix @ fit.theta[0] + offset
        self.coef_, self.intercept_ = released[:-1], float(released[-1])
        self.privacy_report_ = self._report(
            method, plan, fit, row_map, budget, relation, spent, proved, numeric, seeded
        )

    def _report(
        self,
        method: Algorithm,
        plan: Any,
        fit: Fit,
        row_map: RowMap,
        budget: PrivacyBudget,
        relation: Neighbours,
        spent: float,
        proved: float | None,
        numeric: Numeric,
        seeded: bool,
    ) -> PrivacyReport:
        matrix, _ = row_map.coefficient_map()
        constant = None if row_map.intercept is None else row_map.intercept / row_map.row_norm
        stddevs: list[float | None] = [None] * len(matrix)
        verdict = verdict_of(np.nan, np.nan)
        if method.evidence is not None:
            evidence = method.evidence(plan, fit, 0, constant)
            variances = np.einsum("ij,jk,ik->i", matrix, evidence.noise_covariance, matrix)
            stddevs = [float(s) if np.isfinite(s) else None for s in np.sqrt(np.maximum(variances, 0.0))]
            verdict = verdict_of(evidence.risk_change, evidence.risk_change_stddev)
        names = self._names()
        values = [*self.coef_, self.intercept_]
        count = len(names) + bool(self.fit_intercept)
        return PrivacyReport(
            method=method.name,
            title=method.title,
            reference=method.reference,
            numeric=numeric,
            seeded=seeded,
            accounting=self.accounting,
            relation=str(relation),
            asked=budget,
            spent_epsilon=spent,
            certified_delta=proved,
            n_rows=plan.n_rows,
            n_features=row_map.n_coordinates,
            lines=release_lines(names_of(plan, fit), fit.releases),
            bounds=_bounds_text(self._bounds(), names, row_map),
            assumed_public=(
                "the number of rows and the column names",
                "the declared bounds and every parameter of the estimator",
            ),
            coefficients=tuple(
                Coefficient(name, float(value), stddev)
                for name, value, stddev in zip([*names, "intercept"][:count], values[:count], stddevs, strict=False)
            ),
            verdict=verdict[0],
            verdict_reason=verdict[1],
        )

    def _names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return [f"x{i}" for i in range(self.n_features_in_)] if names is None else [str(name) for name in names]


@contextmanager
def _unchanged_by_failure(estimator: PrivateLinearRegression) -> Iterator[None]:
    """Take back what a fit that fails has stored: names and counts of columns would make it look fitted."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


def delta_from_rule(rule: str, n_rows: int) -> float:
    """Return delta for a rule of the public number of rows, such as "1/n^2".

    >>> delta_from_rule("1/n^2", 1000)
    1e-06
    """
    match = re.fullmatch(r"\s*+1\s*+/\s*+n\s*+(?:(?:\^|\*\*)\s*+(\d+(?:\.\d+)?))?\s*+", rule)
    if match is None:
        raise ParameterError(f'delta={rule!r} must be a number or a rule such as "1/n^2" of the number of rows n.')
    delta: float = float(n_rows) ** -float(match.group(1) or 1.0)
    if not 0.0 < delta < 1.0:
        raise ParameterError(
            f"delta={rule!r} gives {delta:.3g} at n_samples={n_rows}; it must lie strictly between 0 and 1."
        )
    return delta


def _bounds_text(bounds: Bounds, names: list[str], row_map: RowMap) -> tuple[tuple[str, str], ...]:
    rows = []
    if bounds.features is not None:
        pairs = bounds.features.values() if isinstance(bounds.features, Mapping) else bounds.features
        keys = bounds.features.keys() if isinstance(bounds.features, Mapping) else names
        rows += [(str(key), f"[{low:g}, {high:g}]") for key, (low, high) in zip(keys, pairs, strict=True)]
    rows.append(("target", f"[{row_map.target[0]:g}, {row_map.target[1]:g}]"))
    unit = "after mapping each feature to [-1, 1]" if bounds.features is not None else "in the data's units"
    rows.append(("norm of a row's features", f"{row_map.feature_norm:.6g} {unit}"))
    if row_map.intercept is not None:
        rows.append(("norm of a row, intercept included", f"{row_map.row_norm:.6g}"))
    return tuple(rows)


def _matrix(X: Any) -> Any:
    """Refuse what is not a matrix of numbers, without quoting it; leave sparse ones and frames to scikit-learn."""
    if hasattr(X, "toarray") or hasattr(X, "__dataframe__"):
        return X
    array = real_numbers(X, "X")
    if array.ndim < 2:
        raise DataError(
            f"Expected 2D array, got {array.ndim}D array instead: X must have rows and columns. Reshape your data "
            "with X.reshape(-1, 1) if it is one feature, or X.reshape(1, -1) if it is one row."
        )
    return array


def _one_of(name: str, value: Any, allowed: Any) -> Any:
    """Return ``value`` as a member of ``allowed``, or say what is."""
    for member in allowed:
        if value == member:
            return member
    raise ParameterError(f"{name}={value!r} must be one of {', '.join(repr(str(member)) for member in allowed)}.")
