"""What a fitted estimator says of its coefficients, in the words of statsmodels, of R's broom and of scikit-learn.

Everything is computed from what the fit released, so that none of it costs anything more. Rows and columns have names:
results are pandas frames and series, or small tables of the same names where pandas is not installed.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import ParameterError
from ..report import PrivacyReport
from .hypotheses import Simultaneous, TTest, WaldTest, nested_test, overall_test, t_test, wald_test
from .intervals import UNSURE, Inference, Of, PredictionInterval, Target, warn_of
from .prediction import Prediction
from .quality import adjusted_r_squared, degrees_of_freedom, r_squared, residual_variance
from .restrictions import Restrictions
from .rows import coefficient_rows, ratio_rows
from .summary import Summary, summarise
from .tables import Table, frame_of, with_warning

_TIDY = ("estimate", "std_error", "std_error_privacy", "statistic", "p_value", "conf_low", "conf_high")


class Inferring:
    """Statistics around a fit, from what it released; part of an estimator that keeps its `Inference`."""

    inference_: Inference | None
    privacy_report_: PrivacyReport
    _features: Callable[[Any], Any]  # of an estimator: rows to predict for as numbers, a column for each coefficient

    def summary(self, alpha: float = 0.05, *, target: Target = "population") -> Summary:
        """Return coefficients with standard errors and intervals of level 1 - alpha, or why there are none.

        ``target`` is what the intervals are for: the "population" that the rows are a sample of, or least squares on
        the "data" itself. The fit needs ``inference=True``.
        """
        self._require_fit()
        return summarise(self.privacy_report_, self.inference_, alpha=alpha, target=target)

    @property
    def params(self) -> Any:
        """Coefficients by name, the intercept last where there is one; the noise may hide some (see ``bse``)."""
        self._require_fit()
        if self.inference_ is not None:
            return Table(self.inference_.estimate, self.inference_.names, warning=self._warning).framed()
        coefficients = self.privacy_report_.coefficients
        values, names = np.array([c.value for c in coefficients]), [c.name for c in coefficients]
        return Table(values, names, warning=self._warning).framed()

    @property
    def bse(self) -> Any:
        """Standard errors of the coefficients about those of the population; nan where the noise hides them."""
        return self._named(self._asked_for().standard_errors())

    @property
    def tvalues(self) -> Any:
        """Coefficients over their standard errors."""
        return self._named(self._asked_for().estimate / self._asked_for().standard_errors())

    @property
    def pvalues(self) -> Any:
        """P values of the hypotheses that each coefficient by itself is 0."""
        return self._named(self._asked_for().p_values())

    def cov_params(self, *, target: Target = "population") -> Any:
        """Return the covariance matrix of the coefficients; nan where the noise hides them."""
        inference = self._asked_for()
        return Table(inference.covariance(target), inference.names, inference.names, self._warning).framed()

    def conf_int(
        self, alpha: float = 0.05, *, target: Target = "population", simultaneous: Simultaneous | None = None
    ) -> Any:
        """Return lower and upper limits for each coefficient, the intercept last where there is one.

        ``simultaneous`` limits hold for all coefficients together: "bonferroni", "scheffe" or "max-t". Where the
        released values support no interval, limits are nan and an InferenceWarning says why.
        """
        inference = self._asked_for()
        if simultaneous is None:
            limits = inference.conf_int(alpha, target=target)
        else:
            limits = TTest(Restrictions.on_each(inference.names), inference, target).limits(alpha, simultaneous)
        warn_of(inference.why_not(target) or inference.why_empty(target))
        return Table(limits, inference.names, ("lower", "upper"), self._warning).framed()

    def predict_interval(
        self, X: Any, alpha: float = 0.05, *, of: Of = "observation", target: Target = "population"
    ) -> Any:
        """Return for each row mean, standard error, lower and upper limit of a new "observation" or of the "mean".

        Limits for an observation take errors to be normal and of one variance. Where the released values support no
        interval, limits are nan and an InferenceWarning says why.

        Where a transform of the target was fitted, limits are of a new "observation" or of the "median". The columns
        are ``median``, ``lower`` and ``upper``, in the target's own units; ``get_prediction`` has standard errors of
        the transform.
        """
        inference = self._asked_for()
        found = inference.predict_interval(self._features(X), alpha=alpha, of=self._fitted_of(of), target=target)
        reasons = inference.why_not("population" if of == "observation" else target)
        empty = int(np.isnan(found.stderr).sum())
        warn_of(reasons or ((f"{empty} of {len(found.stderr)} rows: {UNSURE}",) if empty else ()))
        columns = self._shown(found)
        return Table(
            np.column_stack([*columns.values()]), _index(X, len(found.mean)), tuple(columns), self._warning
        ).framed()

    def _fitted_of(self, of: Of) -> Of:
        """Return what limits are of on the scale of the fit."""
        return of

    def _shown(self, found: PredictionInterval) -> dict[str, Any]:
        """Return the columns of predictions with limits."""
        return self._in_units(found)._asdict()

    def get_prediction(self, X: Any, *, target: Target = "population") -> Prediction:
        """Return predictions, whose ``summary_frame`` has limits of means and of new observations side by side.

        They are of what was fitted: where that is the logarithm of the target, so are they; ``predict_interval`` has
        the target's own units.
        """
        inference, features = self._asked_for(), np.asarray(self._features(X))
        in_units = None if inference.family == "gaussian" else self._in_units
        return Prediction(inference, features, _index(X, len(features)), target, in_units, self._warning)

    def t_test(self, restrictions: Any, *, target: Target = "population") -> TTest:
        """Test each linear restriction by itself: text such as "age = 2 * hours, income = 0", or a matrix."""
        return replace(t_test(self._asked_for(), restrictions, target), warning=self._warning)

    def wald_test(self, restrictions: Any, *, use_f: bool = True, target: Target = "population") -> WaldTest:
        """Test all linear restrictions together, by the F law or, with ``use_f=False``, by that of chi-square."""
        return self._marked(wald_test(self._asked_for(), restrictions, target, use_f=use_f))

    def f_test(self, restrictions: Any, *, target: Target = "population") -> WaldTest:
        """Test all linear restrictions together by the F law; a list of names tests that all of them are 0."""
        return self._marked(wald_test(self._asked_for(), restrictions, target))

    def compare_f_test(self, restricted: "Inferring", *, target: Target = "population") -> WaldTest:
        """Test that the coefficients which a smaller fitted model leaves out are 0.

        Of the smaller model only the names of its coefficients are used: the test is of this fit.
        """
        if not isinstance(restricted, Inferring):
            raise ParameterError(
                f"restricted must be a fitted model of fewer features, not of type {type(restricted).__name__}; to "
                "name coefficients that are left out, use f_test([...])."
            )
        restricted._require_fit()
        kept = [coefficient.name for coefficient in restricted.privacy_report_.coefficients]
        return self._marked(nested_test(self._asked_for(), kept, target))

    def _ratios(self, alpha: float, target: Target, name: str) -> Any:
        """Return exp of each slope with its limits."""
        inference = self._asked_for()
        rows = ratio_rows(coefficient_rows(inference, alpha, target), inference)
        warn_of(inference.why_not(target) or inference.why_empty(target))
        numbers = np.array([[row.value, row.lower, row.upper] for row in rows], dtype=float)
        return Table(numbers, [row.name for row in rows], (name, "lower", "upper"), self._warning).framed()

    @property
    def fvalue(self) -> float:
        """The F statistic of all slopes together; nan where the noise hides it."""
        return self._overall().statistic

    @property
    def f_pvalue(self) -> float:
        """The P value of the hypothesis that all slopes are 0."""
        return self._overall().pvalue

    @property
    def rsquared(self) -> float:
        """R^2 of least squares on the rows, of other families the explained share of the deviance; nan where hidden."""
        return _first(r_squared(self._asked_for()))

    @property
    def rsquared_adj(self) -> float:
        """R^2 less what coefficients without any effect would add."""
        return _first(adjusted_r_squared(self._asked_for()))

    @property
    def scale(self) -> float:
        """The residual variance, of other families the deviance by degrees of freedom; nan where the noise hides it."""
        return _first(residual_variance(self._asked_for()))

    @property
    def nobs(self) -> float:
        """The number of rows in use, a noisy count where intervals were paid for, else that of the table.

        With add-remove neighbours it is a noisy count in any case, and nan for methods that do not release one.
        """
        self._require_fit()
        n_rows = math.nan if self.privacy_report_.n_rows is None else self.privacy_report_.n_rows
        return float(n_rows if self.inference_ is None else self.inference_.rows_told)

    @property
    def df_resid(self) -> float:
        """The number of rows in use less that of coefficients."""
        return degrees_of_freedom(self._asked_for())

    def tidy(self, alpha: float = 0.05, *, target: Target = "population", exponentiate: bool = False) -> Any:
        """Return a pandas data frame with a row for each coefficient, in the words of R's broom.

        ``exponentiate`` gives exp of the estimates and of their limits: odds ratios or rate ratios. That a fit is not
        private is said in the frame's ``attrs``, as by ``summary().to_frame()``.
        """
        rows = coefficient_rows(self._asked_for(), alpha, target)
        frame = frame_of([row.numbers for row in rows], range(len(rows)), _TIDY)
        if exponentiate:
            for name in ("estimate", "conf_low", "conf_high"):
                frame[name] = np.exp(frame[name].astype(float))
        frame.insert(0, "term", [row.name for row in rows])
        return with_warning(frame, self._warning)

    def glance(self) -> Any:
        """Return a pandas data frame of one row on the fit as a whole, in the words of R's broom.

        Its last columns are the budget and whether the fit is private.
        """
        overall, budget = self._overall(), self.privacy_report_.asked
        linear = self._asked_for().family == "gaussian"
        quality = (
            {"r_squared": self.rsquared, "adj_r_squared": self.rsquared_adj, "sigma": float(np.sqrt(self.scale))}
            if linear
            else {"deviance_explained": self.rsquared, "deviance": self.scale * self.df_resid}
        )
        found = {
            **quality,
            "statistic": overall.statistic,
            "p_value": overall.pvalue,
            "df": overall.df_num,
            "df_residual": self.df_resid,
            "nobs": self.nobs,
            "epsilon": budget.epsilon,
            "delta": budget.delta,
        }
        frame = frame_of([list(found.values())], [0], list(found))
        frame["private"] = self.privacy_report_.private
        return with_warning(frame, self._warning)

    def plot_coefficients(
        self, alpha: float = 0.05, *, names: Any = None, target: Target = "population", ax: Any = None
    ) -> Any:
        """Draw coefficients with their intervals, and the part of these that is privacy noise; return the axes.

        ``names`` chooses coefficients and their order, and ``ax`` are axes of matplotlib to draw on. Names and numbers
        stand beside the axes: give a figure of your own ``layout="constrained"``, or they may be cut off.
        """
        from .plot import plot_coefficients

        rows = coefficient_rows(self._asked_for(), alpha, target)
        return plot_coefficients(rows, f"{100.0 * (1.0 - alpha):.4g}%", names=names, ax=ax, warning=self._warning)

    def plot_residuals(self, ax: Any = None) -> Any:
        """Draw mean residuals against fitted values, each with its 95% interval; return the axes of matplotlib.

        The fit needs ``inference=True`` and ``options={"residual_plot": True}``, which pays for them.
        """
        from .plot import plot_residuals

        self._asked_for()
        return plot_residuals(self.privacy_report_.residual_bins, ax=ax, warning=self._warning)

    def plot_residual_sizes(self, ax: Any = None) -> Any:
        """Draw which share of the rows has a residual of about which size; return the axes of matplotlib.

        The fit needs ``inference=True`` and ``options={"residual_plot": True}``.
        """
        from .plot import plot_residual_sizes

        self._asked_for()
        return plot_residual_sizes(self.privacy_report_.residual_sizes, ax=ax, warning=self._warning)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the summary of a fit, before it the parameters as scikit-learn draws them."""
        from sklearn.utils import estimator_html_repr

        return self.summary().as_html() if hasattr(self, "privacy_report_") else str(estimator_html_repr(self))

    def _repr_mimebundle_(self, **asked: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def warn_of_missing(self, columns: dict[str, Any]) -> None:
        """Say why some predictions have no limits, where limits were asked for."""
        if "lower" in columns and self.inference_ is not None and (empty := int(np.isnan(columns["lower"]).sum())):
            some = f"{empty} of {len(columns['lower'])} rows: {UNSURE}"
            warn_of(self.inference_.why_not("population") or (some,))

    @property
    def _warning(self) -> str | None:
        """That the fit is not private, where it is not."""
        return self.privacy_report_.alarm

    def _marked(self, test: WaldTest) -> WaldTest:
        return replace(test, warning=self._warning)

    def _overall(self) -> WaldTest:
        return overall_test(self._asked_for())

    def _named(self, values: Any) -> Any:
        return Table(values, self._asked_for().names, warning=self._warning).framed()

    def _asked_for(self) -> Inference:
        self._require_fit()
        if self.privacy_report_.constraints:
            raise ParameterError(" ".join(self.privacy_report_.estimate_notes))
        if self.inference_ is None:
            raise ParameterError("the fit released nothing to make intervals of; fit with inference=True.")
        return self.inference_

    def _require_fit(self) -> None:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)

    def _in_units(self, found: PredictionInterval) -> PredictionInterval:
        """Return intervals of what was fitted in the units of the target."""
        return found


def _first(found: tuple[float, float, float] | None) -> float:
    return float("nan") if found is None else found[0]


def _index(X: Any, count: int) -> Any:
    """Return the names of a pandas frame's rows, else numbers."""
    index = getattr(X, "index", None)
    return index if hasattr(index, "get_indexer") else range(count)
