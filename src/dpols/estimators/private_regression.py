"""The path that the estimators of all families share: validate, bound, plan, run, store."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..data import Bounds, RowSource, open_rows
from ..data.engines import ENGINES
from ..data.kinds import is_source, library_of, refuse_unread
from ..data.opening import column_names, rows_to_predict, target_name, watched_rows
from ..data.passes import Hook, told
from ..data.recipe import is_raw, made_source, named_target, raw_columns, unnamed
from ..data.selecting import with_columns
from ..data.streamed_units import streamed_units
from ..data.threads import one_blas_thread
from ..data.units import checked_max_rows, source_of_units, unit_column, without_column
from ..data.weights import checked_exposure, checked_max_weight, in_words_of_exposure, weights_of
from ..errors import ParameterError, quoted
from ..feature_map import FeatureMap, finite_features, mapped_source, recipe_of, unclipped, with_unit
from ..fitting import Request, carry_out, coefficients_of, inference_of, prepare, report_of
from ..fitting.progress import shown
from ..fitting.surroundings import fits_many_times, voids, warn_around_a_fit
from ..inference.inferring import Inferring
from ..ledger import BudgetLedger, as_ledger
from ..randomness import Witness
from ..side_releases.paid_bounds import PaidBounds
from .storing import Storing

Progress = bool | Hook | None

SCORE_IS_EXACT = (
    "score is not private: it reads the rows without noise, and no ledger is charged for it. If these rows are to be "
    "protected, do not show it to others, nor select by it; dpols.PrivateGridSearch compares noisy scores."
)


class PrivateRegression(Inferring, Storing, BaseEstimator):
    """What the estimators of all families share: the way from parameters and rows to a fit, its report and its file."""

    epsilon: float | None
    delta: float | str | None
    bounds: Bounds | PaidBounds | None
    feature_map: FeatureMap | None
    fit_intercept: bool
    arithmetic: Literal["auto", "exact", "float"]
    accounting: Literal["exact", "paper"]
    neighbours: Literal["zero-out", "replace-one", "add-remove"]
    options: Mapping[str, Any] | None
    bad_rows: Literal["raise", "zero"]
    unit: str | int | None
    max_rows_per_unit: int | None
    max_weight: float | None
    count_clipped: bool
    inference: bool
    random_state: Any
    ledger: BudgetLedger | str | os.PathLike[str] | None
    _void: tuple[str, ...] = ()  # of a copy, what voided the guarantee where it was made

    def _keep(self, parameters: dict[str, Any]) -> None:
        """Store the variables of a constructor as they came, which is all that scikit-learn lets it do."""
        self.__dict__.update((name, value) for name, value in parameters.items() if name != "self")

    def __sklearn_clone__(self) -> Self:
        """Return a copy that is not fitted; tools that fit many copies ask for it where the user sees a warning."""
        copy: Self = super().__sklearn_clone__()
        if fits_many_times() is not None:
            copy._void = self._void_around()  # a worker that fits the copy does not see what stands around the tool
            warn_around_a_fit(copy._void, ledger=self.ledger is not None)
        return copy

    def _void_around(self) -> tuple[str, ...]:
        """Return what voids the guarantee of a fit from here, and what did so where this copy was made."""
        return tuple(dict.fromkeys((*voids(), *self._void)))

    def fit(
        self, X: Any = None, y: Any = None, *, sample_weight: Any = None, groups: Any = None, progress: Progress = None
    ) -> Self:
        """Fit on rows ``X`` and targets ``y``.

        ``X`` and ``y`` are arrays, or ``X`` is a table and ``y`` the targets or the name of their column, or ``X`` is a
        source of rows that has its own target and ``y`` is None. ``sample_weight`` is the weight of each row, or the
        name of the column that holds it; ``max_weight`` must be declared. ``groups`` says to which unit each row
        belongs, where no column of ``X`` does. ``progress`` says whether a line on standard error shows the passes over
        the rows and the time that is left; by default it does on a terminal or in a notebook, where a fit takes more
        than two seconds. A function is called with the number of the pass, the rows that it has read, and all rows; of
        rows it gets 0 with add-remove neighbours.

        All checks, and the plan, come before the first release and before a ledger is charged; what fails later, but
        before the first release, gives the charge back. Returns the estimator; one whose fit fails is left as it was.

        A model of ``ols``, ``logit`` or ``poisson`` is fitted; its ``fit()`` returns it as it is and spends nothing.
        """
        if X is None and y is None:
            return self._fitted_by_formula()
        return self._fit(X, y, groups, sample_weight, progress=progress)

    def _fitted_by_formula(self) -> Self:
        """Return a model that a formula was fitted by, which people call ``fit`` of, as statsmodels has it."""
        made = getattr(self, "feature_map_", None)
        if made is not None and made.formula is not None:
            return self
        raise ParameterError("X is missing: fit takes the rows and their targets, fit(X, y), or a table and a name.")

    def _fit(
        self,
        X: Any,
        y: Any = None,
        groups: Any = None,
        sample_weight: Any = None,
        witness: Witness | None = None,
        progress: Progress = False,
        exposure: Any = None,
    ) -> Self:
        # Also around what is small: threads of BLAS spin on for a while, and take a core from the next fit's passes.
        with _unchanged_by_failure(self), one_blas_thread():
            dependent = target_name(X, y)
            X, y = self._outcomes(X, y)
            X = watched_rows(X, rows_are_public=self.neighbours != "add-remove")
            request, ledger = self._request(groups, dependent, sample_weight, exposure), as_ledger(self.ledger)
            if witness is None:  # else a search has said it
                warn_around_a_fit(request.void, ledger=ledger is not None)
            with in_words_of_exposure(exposure):
                beside = sample_weight if exposure is None else exposure
                source = self._source_of_units(X, y, groups, request, beside)
                columns = self._unclipped(X, y, groups, request, beside)
            prepared = prepare(request, source, columns)
            self.feature_map_ = request.feature_map
            with shown(progress, prepared) as hook, told(hook, prepared.public_rows):
                outcome, self.privacy_report_ = carry_out(
                    prepared,
                    self.random_state,
                    ledger,
                    witness,
                    describe=lambda outcome: report_of(prepared, outcome, self._names()),
                )
            released = coefficients_of(outcome)
            self._set_coefficients(released[:-1], float(released[-1]))
            self.target_range_, self.ledger_entry_ = outcome.row_map.target, outcome.entry
            if self.feature_map_ is not None and self.feature_map_.target_transform:
                assert self.feature_map_.target is not None
                self.target_range_ = self.feature_map_.target
            self.inference_ = inference_of(prepared, outcome, self._names())
            self.__dict__.pop("_void", None)
        return self

    def _predictors(self, X: Any) -> np.ndarray[Any, np.dtype[Any]]:
        """Return the linear predictor of each row."""
        return np.asarray(self._features(X) @ np.ravel(self.coef_) + np.ravel(self.intercept_)[0])

    def _outcomes(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Return the arguments of ``fit`` with outcomes as numbers."""
        return X, y

    def _features(self, X: Any) -> Any:
        """Return rows to predict for as numbers, with a column for each coefficient."""
        check_is_fitted(self)
        refuse_unread(X)
        if isinstance(self.unit, str) and self.unit in column_names(X):
            X = without_column(X, self.unit)
        if self.feature_map_ is not None:
            return finite_features(self.feature_map_, X)
        return rows_to_predict(self, with_columns(X, list(getattr(self, "feature_names_in_", ()))))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        return tags

    def _request(
        self, groups: Any = None, dependent: str | None = None, sample_weight: Any = None, exposure: Any = None
    ) -> Request:
        unit, most = self.unit, self.max_rows_per_unit
        if unit is not None and groups is not None:
            raise ParameterError("unit names a column and groups are given, too; give one of them.")
        if most is None and not (unit is None and groups is None):
            given = "groups" if unit is None else f"unit={quoted(unit)}"
            raise ParameterError(
                f"{given} needs max_rows_per_unit=..., how many rows of each unit are used, such as 5. The noise grows "
                "with it."
            )
        if unit is None and groups is None and most is not None:
            raise ParameterError(
                "max_rows_per_unit goes with unit, or with groups of fit: it says how many rows of each unit are used."
            )
        asked = {name: getattr(self, name) for name in Request.__dataclass_fields__ if hasattr(self, name)}
        asked |= {"fit_intercept": bool(self.fit_intercept), "count_clipped": bool(self.count_clipped)}
        asked["unit"] = None if most is None else str("unit of groups" if unit is None else unit)
        asked |= {"rows_per_unit": 1 if most is None else checked_max_rows(most), "target_name": dependent}
        asked["max_weight"] = checked_max_weight(sample_weight, self.max_weight)
        asked["exposure_range"] = checked_exposure(exposure, sample_weight, getattr(self, "exposure_range", None))
        return Request(**asked, void=self._void_around())

    def _source_of_units(self, X: Any, y: Any, groups: Any, request: Request, sample_weight: Any = None) -> RowSource:
        """Return the source of rows, of which only so many of each unit are used where there are units."""
        if self.unit is None and groups is None:
            return self._source(X, y, sample_weight)
        how: Any = {"max_rows": request.rows_per_unit, "bad_rows": request.bad_rows}
        if groups is None and (is_raw(X) or is_source(X) or library_of(X) in ENGINES):
            return streamed_units(self._source(X, y, sample_weight, self.unit), **how)
        ids = unit_column(X, self.unit) if groups is None else groups
        source = self._source(X if self.unit is None else without_column(X, self.unit), y, sample_weight)
        return source_of_units(source, ids, **how)

    def _unclipped(self, X: Any, y: Any, groups: Any, request: Request, sample_weight: Any = None) -> RowSource | None:
        """Return the same rows with their columns as they are, where values that a feature map clips are counted.

        Where bounds are paid for, the map has outer limits alone, and it is features beyond paid bounds that count.
        """
        if not request.count_clipped or self.feature_map is None or isinstance(self.bounds, PaidBounds):
            return None
        as_they_are: PrivateRegression = copy(self)
        as_they_are.feature_map = unclipped(self.feature_map)
        return as_they_are._source_of_units(X, y, groups, request, sample_weight)

    def _source(self, X: Any, y: Any, sample_weight: Any = None, unit: Any = None) -> RowSource:
        """Open the arguments of ``fit``, and remember the number and names of their columns as scikit-learn does."""
        source = self._open(X, y, sample_weight, unit)
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

    def _open(self, X: Any, y: Any, sample_weight: Any = None, unit: Any = None) -> RowSource:
        """Open rows; ``unit`` names the column of ids where these are to stand beside the targets."""
        labels = self._labels_in(X)
        if unit is not None or labels is not None:
            return self._opened_raw(X, y, sample_weight, unit, labels)
        if self.feature_map is not None:
            return mapped_source(self.feature_map, X, y, sample_weight)
        return open_rows(X, y, names=self._declared_names(), weights=sample_weight)

    def _opened_raw(self, X: Any, y: Any, sample_weight: Any, unit: Any, labels: Any) -> RowSource:
        """Open rows that are read anew in each pass, block by block as a recipe says."""
        if not is_raw(X) or not isinstance(unit, str | None):
            raise unnamed(X)
        target, wanted, weights = named_target(X, y), self._declared_names(), weights_of(X, sample_weight)
        columns = [name for name in raw_columns(X) if name not in (target, unit, weights)]
        if wanted and set(wanted) <= set(columns):
            columns = [name for name in columns if name in wanted]
        recipe = recipe_of(self.feature_map, columns, target, labels, weights)
        return made_source(X, recipe if unit is None else with_unit(recipe, X, unit))

    def _declared_names(self) -> list[str] | None:
        """Return the features that bounds name."""
        declared = self.bounds.features if isinstance(self.bounds, Bounds | PaidBounds) else None
        return list(declared) if isinstance(declared, Mapping) else None

    def _labels_in(self, X: Any) -> Any:
        """Return the two labels that rows have in place of numbers, where they have."""
        return None

    def _names(self) -> list[str]:
        if self.feature_map_ is not None:
            return list(self.feature_map_.names)
        names = getattr(self, "feature_names_in_", None)
        return [f"x{i}" for i in range(self.n_features_in_)] if names is None else [str(name) for name in names]


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
