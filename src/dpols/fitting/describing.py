"""What a fit's releases say, in the units of the data: coefficients, inference and the report."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from ..algorithms import MOVED, Evidence, names_of
from ..algorithms.closing_inference import InferencePlan
from ..algorithms.generalised_path import response_of
from ..data.bounds import Interval, Origin, range_text, ranges_of
from ..data.source import Array
from ..feature_map import FeatureMap, NumericColumn
from ..inference import Inference, infer
from ..inference.calibration import calibration_bins
from ..inference.residuals import residual_bins, residual_sizes
from ..report import PrivacyReport, release_lines
from ..report.basis import digest_of
from ..report.outcome import (
    Coefficient,
    EstimateLine,
    verdict_of,
    verdict_on_constant,
)
from ..side_releases.paid_bounds import PaidBounds
from ..versions import versions
from .notes import advice_on_fit, advice_on_hidden, advice_on_shortened, notes_on
from .preparing import Prepared
from .running import Outcome

_NO_SLOPE = 1e-9  # of rows of norm at most 1, in units of the target's half-width: the rounding of a zero

WEIGHTS_ARE_PUBLIC = (
    "the largest weight, and how weights come about: each from its own row and public numbers alone; weights that were "
    "computed from this sample, as by raking or estimated propensities, void the guarantee"
)
EXPOSURE_IS_PUBLIC = "the range of exposure; each row's exposure must follow from that row and public numbers alone"
_NO_TARGET_RANGE = "the noise hid the range of the target, which the fit paid for."
_MOVED = "constraints moved the coefficients, and the released numbers judge them as they were before."


def coefficients_of(outcome: Outcome) -> Array:
    """Return the released coefficients in the units of the data, the intercept last."""
    matrix, offset = outcome.row_map.coefficient_map()
    values = np.asarray(matrix @ outcome.fit.theta[0] + offset)
    if outcome.limits is not None:
        values[:-1] = outcome.limits.settled(values[:-1])
    return values


def inference_of(prepared: Prepared, outcome: Outcome, names: Sequence[str]) -> Inference | None:
    """Return what the fit says of its coefficients, where that was paid for."""
    if not isinstance(prepared.plan, InferencePlan):
        return None
    return infer(
        prepared.plan,
        outcome.fit,
        outcome.row_map,
        [*names, "intercept"][: outcome.row_map.n_coordinates],
        n_rows=prepared.public_rows,
        rows_per_unit=prepared.request.rows_per_unit,
    )


def report_of(prepared: Prepared, outcome: Outcome, names: Sequence[str]) -> PrivacyReport:
    """Describe a fit whose features have these names."""
    method, fit, row_map = prepared.method, outcome.fit, outcome.row_map
    evidence = method.evidence(prepared.plan, fit, 0, row_map.constant)
    stddevs, verdict = _judged(prepared, outcome, evidence)
    n_rows, n_rows_noise = _rows(prepared, outcome, evidence)
    rows_used, rows_used_noise = _rows_used(prepared, outcome, evidence)
    inference = inference_of(prepared, outcome, names)
    described = _described(prepared)
    hidden = tuple((*names, described["target_name"] or "target")[place] for place in outcome.hidden)
    return PrivacyReport(
        method=method.name,
        title=method.title,
        reference=method.reference,
        arithmetic=prepared.arithmetic,
        seeded=outcome.seeded,
        accounting=prepared.request.accounting,
        relation=str(prepared.relation),
        asked=prepared.budget,
        spent_epsilon=outcome.spent_epsilon,
        certified_delta=outcome.certified_delta,
        n_rows=n_rows,
        n_rows_noise=n_rows_noise,
        rows_used=rows_used,
        rows_used_noise=rows_used_noise,
        bad_rows=prepared.request.bad_rows,
        n_features=row_map.n_coordinates,
        lines=release_lines(
            (*prepared.beside.release_names, *names_of(prepared.plan, fit)), (*outcome.beside, *fit.releases)
        ),
        bounds=_bounds_text(prepared, outcome, names),
        assumed_public=_assumed_public(prepared, outcome),
        coefficients=_coefficients(outcome, names, stddevs),
        verdict=verdict[0],
        verdict_reason=verdict[1],
        unit=prepared.request.unit,
        rows_per_unit=prepared.request.rows_per_unit,
        bounds_origin=prepared.request.origin_of(outcome.bounds),
        hidden_ranges=hidden,
        void=prepared.request.void,
        advice=(
            *advice_on_hidden(hidden),
            *advice_on_shortened(evidence.shortened),
            *advice_on_fit(prepared, outcome, names, n_rows),
        ),
        ledger_entry=None if outcome.entry is None else outcome.entry.identity,
        staged=fit.stages is not None,
        versions=versions(),
        **described,
        estimates=() if inference is None else estimates_of(inference),
        estimate_notes=notes_on(outcome, inference),
        inference_hash=None if inference is None else digest_of(inference.to_dict()),
        **_residuals(prepared, outcome, inference),
        calibration=calibration_bins(
            fit.transcript, prepared.request.family, rows_per_unit=prepared.request.rows_per_unit
        ),
        constraints=() if outcome.limits is None else outcome.limits.describe(),
    )


_PUBLIC_PARAMETERS: Mapping[Origin, str] = {
    "declared": "the bounds and every parameter of the estimator",
    "reference": "the table that the bounds come from, and every parameter of the estimator",
    "paid": "outer limits of the bounds, where they were given, and every parameter of the estimator",
    "data": "every parameter of the estimator; the bounds are not public",
}


def _assumed_public(prepared: Prepared, outcome: Outcome) -> tuple[str, ...]:
    return (
        f"{'' if prepared.public_rows is None else 'the number of rows and '}the column names",
        _PUBLIC_PARAMETERS[prepared.request.origin_of(outcome.bounds)],
        *(() if outcome.row_map.max_weight is None else (WEIGHTS_ARE_PUBLIC,)),
        *(() if outcome.row_map.exposure is None else (EXPOSURE_IS_PUBLIC,)),
        *prepared.request.assumed_public,
    )


def _coefficients(outcome: Outcome, names: Sequence[str], stddevs: Sequence[float | None]) -> tuple[Coefficient, ...]:
    """Return the slopes, then the intercept if there is one."""
    named = [*names, *(() if outcome.row_map.intercept is None else ("intercept",))]
    return tuple(
        Coefficient(name, float(value), stddev)
        for name, value, stddev in zip(named, coefficients_of(outcome), stddevs, strict=False)
    )


def _residuals(prepared: Prepared, outcome: Outcome, inference: Inference | None) -> dict[str, Any]:
    """Return what was released of residuals."""
    if inference is None:
        return {}
    of, row_map = outcome.fit.transcript, outcome.row_map
    return {
        "residual_bins": residual_bins(of, row_map, inference),
        "residual_sizes": residual_sizes(of, row_map, inference, prepared.plan),
    }


def _described(prepared: Prepared) -> dict[str, Any]:
    """Return what a fit is of, in public words."""
    request, feature_map = prepared.request, prepared.request.feature_map
    name = request.target_name or (None if feature_map is None else feature_map.target_name)
    return {
        "target_name": name if feature_map is None or name is None else feature_map.fitted_label(name),
        "labels": request.labels,
        "table_name": _file_name(prepared.source),
        "formula": None if feature_map is None else feature_map.formula,
        "reference_levels": references_of(feature_map),
        "date": datetime.now(UTC).date().isoformat(),
    }


def _file_name(source: Any) -> str | None:
    """Return the name of the file or folder that rows are from; None for rows in memory."""
    path = getattr(source, "path", None)
    return Path(path).name if isinstance(path, str) else None


def _weights_are_in_sums(outcome: Outcome) -> bool:
    """Return whether rows have weights, and the method released neither their sum nor how many rows there are."""
    return outcome.row_map.max_weight is not None and "mass" not in outcome.fit.transcript


def _rows(prepared: Prepared, outcome: Outcome, evidence: Evidence) -> tuple[int | None, float | None]:
    """Return the number of rows that may be stated, and the standard deviation of its noise; None if it is public."""
    if prepared.public_rows is not None:
        return prepared.public_rows, None
    return _counted(prepared, outcome, evidence)


def _rows_used(prepared: Prepared, outcome: Outcome, evidence: Evidence) -> tuple[int | None, float | None]:
    """Return the number of rows in use, likewise: all of a public number where no row can be left out."""
    public, request = prepared.public_rows, prepared.request
    left_out = request.bad_rows != "raise" or request.unit is not None or outcome.row_map.max_weight is not None
    if public is not None and not left_out:
        return public, None
    rows, noise = _counted(prepared, outcome, evidence)
    return rows if rows is None or public is None else min(rows, public), noise


def _counted(prepared: Prepared, outcome: Outcome, evidence: Evidence) -> tuple[int | None, float | None]:
    """Return the number of rows in use, as it was released but at least 1, and the standard deviation of its noise."""
    if evidence.rows is None or _weights_are_in_sums(outcome):  # what counts rows then adds up their weights
        return None, None
    if not np.isfinite(evidence.rows).all():
        return None, None
    per_unit = prepared.request.rows_per_unit
    return max(round(per_unit * evidence.rows.value), 1), per_unit * evidence.rows.stddev


def _judged(prepared: Prepared, outcome: Outcome, evidence: Evidence) -> tuple[list[float | None], tuple[str, str]]:
    """Return the noise in each coefficient, and the verdict on the fit with its reason."""
    matrix, _ = outcome.row_map.coefficient_map()
    constant = outcome.row_map.constant
    with np.errstate(invalid="ignore"):  # a covariance may be infinite
        variances = np.einsum("ij,ij->i", matrix @ evidence.noise_covariance, matrix)
    stddevs = [float(s) if np.isfinite(s) else None for s in np.sqrt(np.maximum(variances, 0.0))]
    # Where rows have weights, what a constant explains depends on their sum, which some methods do not release.
    stddev = np.nan if evidence.biased or _weights_are_in_sums(outcome) else evidence.risk_change_stddev
    measure = "squared error" if prepared.request.family == "gaussian" else "deviance"
    against = "zero" if constant is None else "a constant"
    verdict = verdict_of(evidence.risk_change, stddev, against, measure)
    slopes = outcome.fit.theta[0] if constant is None else outcome.fit.theta[0][:-1]
    if len(slopes) and np.abs(slopes).sum() < _NO_SLOPE:
        verdict = verdict_on_constant(against)
    if outcome.row_map.n_features in outcome.hidden:  # all coefficients are in units of the target
        stddevs, verdict = [None] * len(stddevs), ("cannot tell", _NO_TARGET_RANGE)
    stddevs = [None if place in outcome.hidden else stddev for place, stddev in enumerate(stddevs)]
    if outcome.limits is not None:
        stddevs = [None] * len(stddevs)
        if np.any(outcome.fit.transcript.get(MOVED, False)):
            verdict = "cannot tell", _MOVED
    return stddevs, verdict


def estimates_of(inference: Inference) -> tuple[EstimateLine, ...]:
    """Return estimates with their intervals; nothing where there are none at all."""
    columns = inference.standard_errors(), *inference.conf_int().T, inference.standard_errors("data")
    if np.isnan(columns[0]).all():
        return ()
    return tuple(
        EstimateLine(name, float(value), *(None if np.isnan(number) else float(number) for number in numbers))
        for name, value, *numbers in zip(inference.names, inference.estimate, *columns, strict=True)
    )


def references_of(feature_map: FeatureMap | None) -> tuple[tuple[str, str], ...]:
    """Return what the categories of each column are compared with; a value that is not declared may count as it."""
    if feature_map is None:
        return ()
    unseen = {name for name, column in feature_map.columns.items() if getattr(column, "unknown", None) == "zeros"}
    levels = feature_map.reference_levels.items()
    return tuple((name, f"{level} or undeclared" if name in unseen else level) for name, level in levels)


def declared_of(feature_map: FeatureMap, *, found: bool) -> tuple[tuple[str, str], ...]:
    """Return what is declared of each column; where ranges were found, those of numbers are limits of what was."""
    numbers = [name for name, column in feature_map.columns.items() if found and isinstance(column, NumericColumn)]
    return tuple((f"{name}, outer limits" if name in numbers else name, text) for name, text in feature_map.describe())


def _bounds_text(prepared: Prepared, outcome: Outcome, names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    bounds, row_map = outcome.bounds, outcome.row_map
    feature_map, family = prepared.request.feature_map, prepared.request.family
    rows: list[tuple[str, str]] = []
    if feature_map is not None:
        found = isinstance(prepared.bounds, PaidBounds)  # also within limits that were read from the data
        rows += declared_of(feature_map, found=found)
        if found:
            rows += [
                (f"{name}, found", _found(pair, place in outcome.hidden))
                for place, (name, pair) in enumerate(zip(names, ranges_of(bounds.features), strict=True))
                if name not in feature_map.categories
            ]
    elif bounds.features is not None:
        keys = bounds.features.keys() if isinstance(bounds.features, Mapping) else names
        rows += [
            (str(key), _found(pair, place in outcome.hidden))
            for place, (key, pair) in enumerate(zip(keys, ranges_of(bounds.features), strict=True))
        ]
    rows.append(("target", _found(row_map.target, row_map.n_features in outcome.hidden)))
    if feature_map is not None and feature_map.target_transform and feature_map.target is not None:
        fitted = f"{feature_map.fitted_name}, where the target lies in {range_text(feature_map.target)}"
        rows[-1] = ("target", f"{range_text(row_map.target)} of {fitted}")
    if family != "gaussian":
        low, high = response_of(family, row_map).predictors
        rows.append(("linear predictor", f"[{low:.4g}, {high:.4g}]"))
    unit = "after mapping each feature to [-1, 1]" if bounds.features is not None else "in the data's units"
    if row_map.max_weight is not None:
        rows.append(("weight", range_text((0.0, row_map.max_weight))))
    if row_map.exposure is not None:
        rows.append(("exposure", range_text(row_map.exposure)))
    rows.append(("norm of a row's features", f"{row_map.feature_norm:.6g} {unit}"))
    if row_map.intercept is not None:
        rows.append(("norm of a row, intercept included", f"{row_map.row_norm:.6g}"))
    return tuple(rows)


def _found(pair: Interval, hidden: bool) -> str:
    """Return a range as text, which stands in for the one that was not found where the noise hid that."""
    return f"{'nothing within the noise; the fit took ' * hidden}{range_text(pair)}"
