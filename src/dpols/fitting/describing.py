"""What a fit's releases say, in the units of the data: coefficients, inference and the report."""

from collections.abc import Mapping, Sequence

import numpy as np

from ..algorithms import names_of
from ..data import Bounds, RowMap
from ..data.bounds import ranges_of
from ..data.source import Array
from ..families import FamilyName, Response
from ..feature_map import FeatureMap
from ..inference import Inference, infer, on_powers
from ..report import PrivacyReport, release_lines
from ..report.outcome import Coefficient, EstimateLine, verdict_of
from ..side_releases.bounds_advice import advice_on_room, advice_on_spread, room_for_width
from ..versions import versions
from .preparing import Prepared
from .running import Outcome

_MANY_SHORTENED = 0.05  # share of rows

INTERVALS_ARE_FOR = (
    "Intervals are for the population that the rows are a sample of, if rows are independent and errors have the same "
    "variance everywhere. They count privacy noise and sampling noise, not what the bounds clip."
)


def coefficients_of(outcome: Outcome) -> Array:
    """Return the released coefficients in the units of the data, the intercept last."""
    matrix, offset = outcome.row_map.coefficient_map()
    return np.asarray(matrix @ outcome.fit.theta[0] + offset)


def inference_of(prepared: Prepared, outcome: Outcome, names: Sequence[str]) -> Inference | None:
    """Return what the fit says of its coefficients, where that was paid for."""
    step = prepared.beside.intervals
    if step is None or outcome.measured is None:
        return None
    return infer(
        step,
        outcome.measured,
        outcome.row_map,
        [*names, "intercept"][: outcome.row_map.n_coordinates],
        n_rows=prepared.source.n_rows,
        rows_per_unit=prepared.request.rows_per_unit,
    )


def report_of(prepared: Prepared, outcome: Outcome, names: Sequence[str]) -> PrivacyReport:
    """Describe a fit whose features have these names."""
    method, fit, row_map = prepared.method, outcome.fit, outcome.row_map
    stddevs, verdict, shortened = _judged(prepared, outcome)
    values, inference = coefficients_of(outcome), inference_of(prepared, outcome, names)
    count = len(names) + (row_map.intercept is not None)
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
        n_rows=prepared.source.n_rows,
        n_features=row_map.n_coordinates,
        lines=release_lines(
            (*prepared.beside.release_names, *names_of(prepared.plan, fit)), (*outcome.beside, *fit.releases)
        ),
        bounds=_bounds_text(outcome.bounds, names, row_map, prepared.request.feature_map, prepared.request.family),
        assumed_public=(
            "the number of rows and the column names",
            "the bounds and every parameter of the estimator",
            *prepared.request.assumed_public,
        ),
        coefficients=tuple(
            Coefficient(name, float(value), stddev)
            for name, value, stddev in zip([*names, "intercept"][:count], values[:count], stddevs, strict=False)
        ),
        verdict=verdict[0],
        verdict_reason=verdict[1],
        unit=prepared.request.unit,
        rows_per_unit=prepared.request.rows_per_unit,
        bounds_origin=outcome.bounds.origin,
        void=prepared.request.void,
        advice=(*_advice_on_shortened(shortened), *_advice(prepared, outcome)),
        ledger_entry=None if outcome.entry is None else outcome.entry.identity,
        staged=fit.stages is not None,
        versions=versions(),
        estimates=() if inference is None else estimates_of(inference),
        estimate_notes=() if inference is None else _estimate_notes(inference),
    )


def _judged(prepared: Prepared, outcome: Outcome) -> tuple[list[float | None], tuple[str, str], float]:
    """Return the noise in each coefficient, the verdict on the fit with its reason, and the share of shortened rows."""
    matrix, _ = outcome.row_map.coefficient_map()
    constant = outcome.row_map.constant
    evidence = prepared.method.evidence(prepared.plan, outcome.fit, 0, constant)
    with np.errstate(invalid="ignore"):  # a covariance may be infinite
        variances = np.einsum("ij,ij->i", matrix @ evidence.noise_covariance, matrix)
    stddevs = [float(s) if np.isfinite(s) else None for s in np.sqrt(np.maximum(variances, 0.0))]
    stddev = np.nan if evidence.biased else evidence.risk_change_stddev
    measure = "squared error" if prepared.request.family == "gaussian" else "deviance"
    verdict = verdict_of(evidence.risk_change, stddev, "zero" if constant is None else "a constant", measure)
    return stddevs, verdict, evidence.shortened


def estimates_of(inference: Inference) -> tuple[EstimateLine, ...]:
    """Return estimates with their intervals; nothing where there are none at all."""
    columns = inference.standard_errors(), *inference.conf_int().T
    if np.isnan(columns[0]).all():
        return ()
    return tuple(
        EstimateLine(name, float(value), *(None if np.isnan(number) else float(number) for number in numbers))
        for name, value, *numbers in zip(inference.names, inference.estimate, *columns, strict=True)
    )


def _estimate_notes(inference: Inference) -> tuple[str, ...]:
    if inference.why_not():
        return f"No intervals: {'; '.join(inference.why_not())}.", *on_powers(inference.names, inference.why_not())
    missing = (
        *(f"No interval of {reason}." for reason in inference.why_empty()),
        *on_powers(inference.names, inference.why_empty()),
    )
    if np.isnan(inference.standard_errors()).all():
        return missing
    return (*missing, INTERVALS_ARE_FOR)


def _advice_on_shortened(share: float) -> tuple[str, ...]:
    """Return what it means that many rows counted less than they would in least squares."""
    if share < _MANY_SHORTENED:
        return ()
    return (
        f"the effect of at least {share:.0%} of the rows, those with the largest, was cut to keep the noise small: "
        "slopes lean towards typical rows. More rows or a larger epsilon lower this share.",
    )


def _advice(prepared: Prepared, outcome: Outcome) -> tuple[str, ...]:
    """Return what public and released numbers say of the method and the bounds."""
    why = prepared.method.inconsistent
    method = () if why is None else (f"{prepared.method.name} does not tend to least squares: {why}",)
    room = room_for_width(outcome.row_map, outcome.fit.releases, prepared.plan.n_rows)
    feature_map = prepared.request.feature_map
    categories = {} if feature_map is None else feature_map.categories
    spread = () if outcome.spread is None else advice_on_spread(outcome.spread, categories)
    return (*method, *advice_on_room(room), *spread)


def _bounds_text(
    bounds: Bounds, names: Sequence[str], row_map: RowMap, feature_map: FeatureMap | None, family: FamilyName
) -> tuple[tuple[str, str], ...]:
    rows: list[tuple[str, str]] = []
    if feature_map is not None:
        rows += feature_map.describe()
    elif bounds.features is not None:
        keys = bounds.features.keys() if isinstance(bounds.features, Mapping) else names
        rows += [
            (str(key), f"[{low:g}, {high:g}]")
            for key, (low, high) in zip(keys, ranges_of(bounds.features), strict=True)
        ]
    rows.append(("target", f"[{row_map.target[0]:g}, {row_map.target[1]:g}]"))
    if family != "gaussian":
        response = Response.of(family, row_map.target, row_map.target_centre, row_map.target_scale)
        low, high = response.predictors
        rows.append(("linear predictor", f"[{low:.4g}, {high:.4g}]"))
    unit = "after mapping each feature to [-1, 1]" if bounds.features is not None else "in the data's units"
    rows.append(("norm of a row's features", f"{row_map.feature_norm:.6g} {unit}"))
    if row_map.intercept is not None:
        rows.append(("norm of a row, intercept included", f"{row_map.row_norm:.6g}"))
    return tuple(rows)
