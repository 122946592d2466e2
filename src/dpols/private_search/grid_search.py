"""Compare settings by noisy scores: the whole comparison stays within one privacy budget.

Rows are divided into a part for fitting and a part for scoring, by their place alone. Where the number of rows is not
public, each row has a coin instead, since one row more would shift the places of others. Every candidate is fitted on
the first; its clipped errors on the second are summed and released with noise; the least noisy sum wins. A row
enters one of the parts only. If it is in the first, the scores depend on it through released models alone, and the fits
are all that tells of it; if it is in the second, the scores are. So each part may spend the whole budget, and the noise
of each is calibrated jointly, since every plan is made before the first release (`docs/ledger.md`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin
from sklearn.model_selection import ParameterGrid
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..data import Bounds
from ..data.bounds import Origin, checked_positive, read_from_data
from ..data.memory import real_numbers
from ..data.opening import one_column
from ..data.weights import checked_max_weight, weights_of
from ..errors import BoundsError, DataError, ParameterError
from ..estimators import SCORE_IS_EXACT, PrivateRegression
from ..estimators.labels import label_cells
from ..families import FamilyName
from ..fitting.surroundings import warn_around_a_fit, warn_user
from ..ledger import BudgetLedger, Entry, as_ledger
from ..ledger.holding import held
from ..mechanisms import Channel
from ..privacy import GaussianRelease, Neighbours, PrivacyBudget, gaussian_multiplier
from ..privacy.budget import budget_for
from ..privacy.checks import one_of
from ..randomness import Witness, streams
from ..report.alarm import not_private_in_short
from .candidates import Part, calibrated, fit_as_planned, made, request_of
from .scores import Measure, check_rows, in_scoring_part, scores_of, sources_of
from .search import Search, chosen_by, results_of

Array = np.ndarray[Any, np.dtype[Any]]

# Of several sources of public numbers, the one that a report names.
_FIRST_SAID: tuple[Origin, ...] = ("data", "reference", "paid", "declared")
_LARGEST_DEVIANCE = 10.0  # of a row, unless it is given


class PrivateGridSearch(MetaEstimatorMixin, RegressorMixin, BaseEstimator):
    """Fit candidates, score them with noise and keep the best; the whole search is (epsilon, delta)-private.

    Parameters
    ----------
    estimator : PrivateLinearRegression, PrivateLogisticRegression or PrivatePoissonRegressor
        What to fit; its bounds, and all parameters that are not searched, are taken from it. Its epsilon and delta are
        set by the search, which has neighbours and a ledger of its own. A yes/no outcome needs declared ``classes``;
        exposure is not searched with.
    param_grid : mapping or list of mappings
        Values to try for each parameter, as for scikit-learn's GridSearchCV. Values taken from the data void the
        guarantee.
    epsilon : float
        Privacy loss allowed for everything that the search releases. Required.
    delta : float or str
        Probability with which the loss may be larger, or a rule of the number of rows such as ``"1/n^2"``. Required.
    neighbours : "zero-out", "replace-one" or "add-remove", default="zero-out"
        Which two data sets the guarantee makes hard to distinguish: a row becomes zeros, becomes any other row, or is
        added or removed. With "add-remove" the number of rows is not public, and delta must be a number.
    scoring_share : float, default=0.2
        Share of the rows that scores are computed from; candidates are fitted on the others.
    target_range : (low, high), optional
        Public range of the target, to which targets and predictions are clipped in scores. By default that of the
        estimator's bounds. A yes/no outcome has none.
    largest_deviance : float, optional
        Yes/no outcomes and counts are compared by deviances, and larger ones of a row count as this; noise grows with
        it. By default 10, which is that of an event of probability 1 in 150, and for counts half the largest count
        where that is more. Public knowledge.
    ledger : BudgetLedger, path or None, default=None
        Ledger that the search is charged to, once, before it touches the data.
    random_state : int, RandomState, Generator or None, default=None
        For tests and reproduction only: a seeded search is not private.

    Attributes
    ----------
    best_estimator_ : estimator
        The candidate with the smallest noisy score. Its own report is of its fit alone; what the search cost is in
        ``search_report_``.
    best_params_ : dict
        Its parameters.
    best_index_ : int
        Its place in ``results_``.
    results_ : list of dict
        For each candidate ``params``, the released ``mean_squared_error``, or ``mean_deviance`` of yes/no outcomes and
        counts, and its noise's standard deviation ``noise``. With "add-remove" the number of rows in it is taken from
        what the fits counted with noise, and both are nan where they count none.
    search_report_ : SearchReport
        What was asked, spent and released.
    ledger_entry_ : Entry or None
        What the ledger was charged.
    n_features_in_ : int
        Number of features.

    Examples
    --------
    >>> import numpy as np
    >>> from dpols import Bounds, PrivateLinearRegression, PrivateGridSearch
    >>> x = np.linspace(-1, 1, 20_000)[:, None]
    >>> search = PrivateGridSearch(
    ...     PrivateLinearRegression(bounds=Bounds(features=[(-1, 1)], target=(-3, 5))),
    ...     {"fit_intercept": [True, False]},
    ...     epsilon=1.0,
    ...     delta=1e-6,
    ...     random_state=0,
    ... )
    >>> search.fit(x, 1 + 2 * x[:, 0]).best_params_
    {'fit_intercept': True}
    """

    def __init__(
        self,
        estimator: PrivateRegression,
        param_grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
        *,
        epsilon: float | None = None,
        delta: float | str | None = None,
        neighbours: str = "zero-out",
        scoring_share: float = 0.2,
        target_range: tuple[float, float] | None = None,
        largest_deviance: float | None = None,
        ledger: BudgetLedger | str | PathLike[str] | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.epsilon = epsilon
        self.delta = delta
        self.neighbours = neighbours
        self.scoring_share = scoring_share
        self.target_range = target_range
        self.largest_deviance = largest_deviance
        self.ledger = ledger
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> "PrivateGridSearch":
        """Search on rows ``X``, an array or a table in memory, and targets ``y``, as many numbers.

        ``sample_weight`` are the weights of rows, as many numbers, too; fits and scores are weighted by them. The
        estimator's ``max_weight`` must be declared.
        """
        ledger, search = as_ledger(self.ledger), self._prepared(X, y, sample_weight)
        warn_around_a_fit(search.void, ledger=ledger is not None)
        in_short = not_private_in_short(seeded=search.seeded, bounds_origin=search.origin, void=search.void)
        witness = Witness()
        with held(
            ledger,
            [search.fits, (GaussianRelease(search.multiplier),)],
            what=f"search of {len(search.grid)} candidates at {search.budget}, {search.relation}{in_short}",
            relation=search.relation,
            released=lambda: witness.released,
        ) as hold:
            # Before the fits, after which it would be too late.
            check_rows(search.everything, search.candidates[0].bad_rows)
            for candidate, plan, seed in zip(search.candidates, search.plans, search.seeds, strict=True):
                fit_as_planned(candidate.set_params(random_state=seed), search.fitting, plan, witness)
            errors = scores_of(
                search.candidates, *search.held_out[:2], search.measure, search.held_out[2], search.max_weight
            )
            channel = Channel(witness.watch(search.bits))
            noisy = channel.gaussian(errors, multiplier=search.multiplier)[0]
            report = search.report(channel.releases)
        stddev = float(errors.step) * errors.sensitivity * search.multiplier
        self.results_ = results_of(search, noisy, stddev, self.scoring_share)
        self.best_index_ = int(np.argmin(noisy[: len(search.grid)]))
        self.best_estimator_ = search.candidates[self.best_index_]
        self.best_params_ = search.grid[self.best_index_]
        its = replace(self.best_estimator_.privacy_report_, chosen=chosen_by(report, len(search.grid)))
        if report.bounds_origin == "data":  # of any candidate, as the choice among them then tells of the data
            its = replace(its, bounds_origin="data")
        self.best_estimator_.privacy_report_ = its
        self.n_features_in_, self.search_report_ = self.best_estimator_.n_features_in_, report
        self.ledger_entry_: Entry | None = hold.entry
        return self

    def _prepared(self, X: Any, y: Any, sample_weight: Any) -> Search:
        """Check what is asked, divide the rows, and plan every release."""
        relation = one_of("neighbours", self.neighbours, Neighbours)
        grid = list(ParameterGrid(self.param_grid))
        candidates = made(self.estimator, grid, relation)
        target = _targets(y) if candidates[0].family != "binomial" else _labels(y)
        budget = self._budget(len(target) if relation.rows_are_public else None)
        measure = self._measure(candidates[0].family)
        largest = checked_max_weight(sample_weight, candidates[0].max_weight)
        weights = _weights(X, sample_weight)
        everything = sources_of(candidates, X, target, weights)  # refuses here what is refused of either part
        bits, (coins,) = (both := streams(self.random_state, 2))[:1], both[1:]
        scoring = in_scoring_part(len(target), self.scoring_share, None if relation.rows_are_public else coins)
        fitting, held_out = (
            (_safe_indexing(X, np.flatnonzero(rows)), target[rows], None if weights is None else weights[rows])
            for rows in (~scoring, scoring)
        )
        zero_out = budget.for_zero_out(relation)
        share, plans = calibrated(candidates, fitting, zero_out, relation)
        return Search(
            grid=grid,
            candidates=candidates,
            relation=relation,
            budget=budget,
            measure=measure,
            max_weight=largest,
            everything=everything,
            fitting=fitting,
            held_out=held_out,
            bits=bits,
            share=share,
            plans=plans,
            seeds=[int(word) for word in bits[0].words(len(grid))] if bits[0].seeded else [None] * len(grid),
            multiplier=gaussian_multiplier(zero_out),
            origin=self._origin(candidates, fitting, largest),
            void=self.estimator._void_around(),
        )

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the best candidate's score, such as R^2. It is not private: it is computed without noise or charge."""
        if self.estimator.family != "gaussian":
            check_is_fitted(self)
            return float(self.best_estimator_.score(X, y, sample_weight))
        warn_user(f"{SCORE_IS_EXACT} results_ holds released scores.")
        return float(super().score(X, y, sample_weight))

    def predict(self, X: Any) -> Array:
        """Return predictions of the best candidate, in the units of the target."""
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.predict(X))

    @available_if(lambda search: hasattr(search.estimator, "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Return the best candidate's probabilities of no and of yes."""
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.predict_proba(X))

    def _origin(self, candidates: list[PrivateRegression], part: Part, largest: float | None) -> str:
        """Return where the numbers come from that are taken as public, with the largest weight."""
        asked = [request_of(candidate, part) for candidate in candidates]
        origins = {request.origin_of(request.declared_bounds()) for request in asked}
        limits = (largest, self.largest_deviance, self.scoring_share, self.epsilon, self.delta)
        if self.estimator.family != "binomial":
            given, source = self._given_range()
            origins.add(source)
            limits = (*limits, *given)
        if read_from_data(limits):
            return "data"
        return next(each for each in _FIRST_SAID if each in origins)

    def _budget(self, n_rows: int | None) -> PrivacyBudget:
        if self.epsilon is None or self.delta is None:
            raise ParameterError(
                "epsilon and delta are required: pass them to PrivateGridSearch, for the whole search."
            )
        return budget_for(self.epsilon, self.delta, n_rows)

    def _measure(self, family: FamilyName) -> Measure:
        """Return by what candidates compare, from public numbers."""
        if family == "gaussian":
            if self.largest_deviance is not None:
                raise ParameterError("largest_deviance is for yes/no outcomes and counts; leave it out.")
            return Measure.squared(self._range())
        if family == "binomial":
            if self.target_range is not None:
                raise ParameterError("target_range is for numbers and counts; a yes/no outcome has none. Leave it out.")
            low, high = 0.0, 1.0
        else:
            low, high = self._range()
            if low < 0.0:
                raise BoundsError(f"target_range=({low:g}, {high:g}) of counts must start at 0 or above.")
        usual = max(_LARGEST_DEVIANCE, 0.5 * high if family == "poisson" else 0.0)
        given = usual if self.largest_deviance is None else self.largest_deviance
        return Measure(family, low, high, checked_positive("largest_deviance", given))

    def _given_range(self) -> tuple[Any, Origin]:
        """Return the range of scores as it was given, and where it comes from; an empty one where there is none."""
        bounds, declared = getattr(self.estimator, "bounds", None), getattr(self.estimator, "feature_map", None)
        if self.target_range is not None:
            return self.target_range, "declared"
        if declared is not None and self.estimator.family == "poisson" and declared.target is not None:
            return declared.target, declared.origin
        if isinstance(bounds, Bounds):
            return (bounds.target if bounds.y_abs is None else (-bounds.y_abs, bounds.y_abs)) or (), bounds.origin
        return (), "declared"

    def _range(self) -> tuple[float, float]:
        """Return the public range to which targets and predictions are clipped."""
        given, _ = self._given_range()
        try:
            low, high = (float(end) for end in given)
        except (TypeError, ValueError):
            raise BoundsError(
                "target_range is required where the estimator's bounds have no target: pass target_range=(low, high), "
                "which must be public knowledge."
            ) from None
        if not (-1e100 < low < high < 1e100):
            raise BoundsError(f"target_range={given!r} must be finite and rising.")
        return low, high


def _weights(X: Any, sample_weight: Any) -> Array | None:
    if isinstance(sample_weight, str):
        raise DataError("sample_weight must be the weights themselves, not the name of a column.")
    found: Array | None = weights_of(X, sample_weight)
    return found


def _labels(y: Any) -> Array:
    if y is None or isinstance(y, str):
        raise DataError("y must be the outcomes themselves, not None or the name of a column.")
    return np.asarray(one_column(label_cells(y)))


def _targets(y: Any) -> Array:
    if y is None or isinstance(y, str):
        raise DataError("y must be the targets themselves, not None or the name of a column.")
    return one_column(real_numbers(y, "y")).astype(np.float64, copy=False)
