"""What a fit's releases say, in the units of the data: coefficients, inference and the report."""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from ..algorithms import MOVED, Evidence, names_of
from ..algorithms.closing_inference import InferencePlan
from ..algorithms.generalised_path import response_of
from ..data import Bounds, RowMap
from ..data.bounds import Origin, ranges_of
from ..data.source import Array
from ..families import FamilyName
from ..feature_map import FeatureMap, NumericColumn
from ..inference import Inference, infer, on_powers
from ..inference.calibration import calibration_bins
from ..inference.quality import r_squared, residual_variance
from ..inference.residuals import residual_bins, residual_sizes
from ..inference.rows import coefficient_rows, ratio_rows
from ..inference.tables import HIDDEN_WORDS
from ..inference.words import WORDS
from ..report import PrivacyReport, release_lines
from ..report.outcome import (
    CUT_AT_FOUND_BOUNDS,
    NO_INTERVALS,
    Coefficient,
    EstimateLine,
    verdict_of,
    verdict_on_constant,
)
from ..side_releases.bounds_advice import advice_on_paid, advice_on_room, advice_on_spread, room_for_width
from ..side_releases.free_advice import advice_on_means, advice_on_weights, released_means
from ..versions import versions
from .preparing import Prepared
from .running import Outcome

_MANY_SHORTENED = 0.05  # share of rows
_NO_SLOPE = 1e-9  # of rows of norm at most 1, in units of the target's half-width: the rounding of a zero

WEIGHTS_ARE_PUBLIC = (
    "the largest weight, and how weights come about: each from its own row and public numbers alone; weights that were "
    "computed from this sample, as by raking or estimated propensities, void the guarantee"
)
EXPOSURE_IS_PUBLIC = "the range of exposure; each row's exposure must follow from that row and public numbers alone"
_MOVED = "constraints moved the coefficients, and the released numbers judge them as they were before."
INTERVALS_ARE_FOR = {
    "HC1": "if rows are independent; errors may have unequal variances",
    "nonrobust": "if rows are independent and {}",
    "cluster": "if units are independent; rows of one unit need not be",
}


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
    inference = inference_of(prepared, outcome, names)
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
        n_features=row_map.n_coordinates,
        lines=release_lines(
            (*prepared.beside.release_names, *names_of(prepared.plan, fit)), (*outcome.beside, *fit.releases)
        ),
        bounds=_bounds_text(outcome.bounds, names, row_map, prepared.request.feature_map, prepared.request.family),
        assumed_public=_assumed_public(prepared, outcome),
        coefficients=_coefficients(outcome, names, stddevs),
        verdict=verdict[0],
        verdict_reason=verdict[1],
        unit=prepared.request.unit,
        rows_per_unit=prepared.request.rows_per_unit,
        bounds_origin=prepared.request.origin_of(outcome.bounds),
        void=prepared.request.void,
        advice=(*_advice_on_shortened(evidence.shortened), *_advice(prepared, outcome, names, n_rows)),
        ledger_entry=None if outcome.entry is None else outcome.entry.identity,
        staged=fit.stages is not None,
        versions=versions(),
        **_described(prepared),
        estimates=() if inference is None else estimates_of(inference),
        estimate_notes=_notes(outcome, inference),
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
        "reference_levels": _references(feature_map),
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
    if evidence.rows is None or _weights_are_in_sums(outcome):  # what counts rows then adds up their weights
        return None, None
    per_unit = prepared.request.rows_per_unit
    return max(round(per_unit * evidence.rows.value), 0), per_unit * evidence.rows.stddev


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


def _notes(outcome: Outcome, inference: Inference | None) -> tuple[str, ...]:
    if outcome.limits is not None:
        return (NO_INTERVALS,)
    weighted = outcome.row_map.max_weight is not None
    if inference is None:
        return ()
    notes = _estimate_notes(inference, paid=outcome.bounds.origin == "paid")
    return (*notes, *_quality_notes(inference, weighted=weighted))


def _estimate_notes(inference: Inference, *, paid: bool) -> tuple[str, ...]:
    if inference.why_not():
        return f"No intervals: {'; '.join(inference.why_not())}.", *on_powers(inference.names, inference.why_not())
    missing = (
        *(f"No interval of {reason}." for reason in inference.why_empty()),
        *on_powers(inference.names, inference.why_empty()),
    )
    if np.isnan(inference.standard_errors()).all():
        return missing
    when = INTERVALS_ARE_FOR[inference.cov_type].format(WORDS[inference.family].classical)
    what = (
        f"Intervals are for the population that the rows are a sample of, {when}. They count privacy noise and "
        "sampling noise, not what the bounds clip."
    )
    return (*((CUT_AT_FOUND_BOUNDS,) if paid else ()), *missing, what, *inference.assumptions)


def _quality_notes(inference: Inference, *, weighted: bool) -> tuple[str, ...]:
    """Say how well the fit does as a whole."""
    words = WORDS[inference.family]
    spread = words.spread[:1].lower() + words.spread[1:]
    found = ((words.explained, r_squared(inference)), (spread, residual_variance(inference)))
    texts = [
        f"{name} {HIDDEN_WORDS}"
        if limits is None
        else f"{name} {limits[0]:.4g}, 95% interval [{limits[1]:.4g}, {limits[2]:.4g}]"
        for name, limits in found
    ]
    what = f"{'weighted ' * weighted}{words.fit}"
    return (f"Of {what} on these rows: {'; '.join(texts)}.", *_ratio_notes(inference))


def _ratio_notes(inference: Inference) -> tuple[str, ...]:
    """Give odds ratios or rate ratios with their intervals, where the family has them."""
    word = WORDS[inference.family].ratio
    rows = ratio_rows(coefficient_rows(inference, 0.05, "population"), inference) if word else ()
    texts = [
        f"{row.name} {row.value:.4g} [{row.lower:.4g}, {row.upper:.4g}]"
        for row in rows
        if not (row.value is None or row.lower is None or row.upper is None)
    ]
    return (f"{str(word).capitalize()}s, with 95% intervals: {'; '.join(texts)}.",) if texts else ()


def _advice_on_shortened(share: float) -> tuple[str, ...]:
    """Return what it means that many rows counted less than they would in least squares."""
    if share < _MANY_SHORTENED:
        return ()
    return (
        f"the effect of at least {share:.0%} of the rows, those with the largest, was cut to keep the noise small: "
        "slopes lean towards typical rows. More rows or a larger epsilon lower this share.",
    )


def _advice(prepared: Prepared, outcome: Outcome, names: Sequence[str], n_rows: int | None) -> tuple[str, ...]:
    """Return what public and released numbers say of the method and the bounds."""
    why = prepared.method.inconsistent
    method = () if why is None else (f"{prepared.method.name} does not tend to least squares: {why}",)
    n_units = math.inf if n_rows is None else -(-n_rows // prepared.request.rows_per_unit)
    room = room_for_width(outcome.row_map, outcome.fit.releases, n_units)
    feature_map = prepared.request.feature_map
    categories = {} if feature_map is None else feature_map.categories
    if outcome.spread is not None:
        found = advice_on_spread(outcome.spread, categories)
    else:
        public = None if prepared.public_rows is None else getattr(prepared.plan, "n_rows", None)
        means = released_means(outcome.fit.transcript, outcome.row_map, public)
        paid = outcome.bounds.origin == "paid"  # by such bounds it is not the user's choice where values lie in them
        found = advice_on_means(means, outcome.row_map, names, categories, bounds_are_chosen=not paid)
    weights = advice_on_weights(outcome.fit.transcript, outcome.row_map)
    return (*method, *advice_on_room(room), *weights, *advice_on_paid(outcome.clipped), *found)


def _references(feature_map: FeatureMap | None) -> tuple[tuple[str, str], ...]:
    """Return what the categories of each column are compared with; a value that is not declared may count as it."""
    if feature_map is None:
        return ()
    unseen = {name for name, column in feature_map.columns.items() if getattr(column, "unknown", None) == "zeros"}
    levels = feature_map.reference_levels.items()
    return tuple((name, f"{level} or undeclared" if name in unseen else level) for name, level in levels)


def _bounds_text(
    bounds: Bounds, names: Sequence[str], row_map: RowMap, feature_map: FeatureMap | None, family: FamilyName
) -> tuple[tuple[str, str], ...]:
    rows: list[tuple[str, str]] = []
    if feature_map is not None:
        rows += feature_map.describe()
        if bounds.origin == "paid":
            numbers = [name for name, column in feature_map.columns.items() if isinstance(column, NumericColumn)]
            rows = [(f"{name}, outer limits" if name in numbers else name, text) for name, text in rows]
            found = dict(zip(names, ranges_of(bounds.features), strict=True))
            rows += [
                (f"{name}, found", f"[{low:g}, {high:g}]")
                for name, (low, high) in found.items()
                if name not in feature_map.categories
            ]
    elif bounds.features is not None:
        keys = bounds.features.keys() if isinstance(bounds.features, Mapping) else names
        rows += [
            (str(key), f"[{low:g}, {high:g}]")
            for key, (low, high) in zip(keys, ranges_of(bounds.features), strict=True)
        ]
    rows.append(("target", f"[{row_map.target[0]:g}, {row_map.target[1]:g}]"))
    if feature_map is not None and feature_map.target_transform and feature_map.target is not None:
        low, high = feature_map.target
        fitted = f"{feature_map.fitted_name}, where the target lies in [{low:g}, {high:g}]"
        rows[-1] = ("target", f"[{row_map.target[0]:g}, {row_map.target[1]:g}] of {fitted}")
    if family != "gaussian":
        low, high = response_of(family, row_map).predictors
        rows.append(("linear predictor", f"[{low:.4g}, {high:.4g}]"))
    unit = "after mapping each feature to [-1, 1]" if bounds.features is not None else "in the data's units"
    if row_map.max_weight is not None:
        rows.append(("weight", f"[0, {row_map.max_weight:g}]"))
    if row_map.exposure is not None:
        rows.append(("exposure", f"[{row_map.exposure[0]:g}, {row_map.exposure[1]:g}]"))
    rows.append(("norm of a row's features", f"{row_map.feature_norm:.6g} {unit}"))
    if row_map.intercept is not None:
        rows.append(("norm of a row, intercept included", f"{row_map.row_norm:.6g}"))
    return tuple(rows)
