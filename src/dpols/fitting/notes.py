"""Notes on the intervals and the quality of a fit, and advice from its released numbers."""

import math
from collections.abc import Sequence

import numpy as np

from ..feature_map import unclipped
from ..inference import Inference
from ..inference.quality import r_squared, residual_variance, why_hidden
from ..inference.rows import coefficient_rows, ratio_rows
from ..inference.tables import HIDDEN_WORDS
from ..inference.words import WORDS
from ..report.outcome import (
    CUT_AT_FOUND_BOUNDS,
    NO_INTERVALS,
    no_range_of,
)
from ..side_releases.bounds_advice import advice_on_paid, advice_on_room, advice_on_spread, room_for_width
from ..side_releases.free_advice import advice_on_means, advice_on_weights, released_means
from .preparing import Prepared
from .running import Outcome

_MANY_SHORTENED = 0.05  # share of rows
_INTERVALS_ARE_FOR = {
    "HC1": "if rows are independent; errors may have unequal variances",
    "nonrobust": "if rows are independent and {}",
    "cluster": "if units are independent; rows of one unit need not be",
}


def notes_on(outcome: Outcome, inference: Inference | None) -> tuple[str, ...]:
    """Say what intervals are for, which are missing and why, and how well the fit does."""
    if outcome.limits is not None:
        return (NO_INTERVALS,)
    weighted = outcome.row_map.max_weight is not None
    if inference is None:
        return ()
    notes = _estimate_notes(inference, paid=outcome.bounds.origin == "paid")
    return (*notes, *_quality_notes(inference, weighted=weighted))


def _estimate_notes(inference: Inference, *, paid: bool) -> tuple[str, ...]:
    if inference.why_not():
        return (f"No intervals: {'; '.join(inference.why_not())}.",)
    missing = tuple(f"No interval of {reason}." for reason in inference.why_empty())
    if np.isnan(inference.standard_errors()).all():
        return missing
    when = _INTERVALS_ARE_FOR[inference.cov_type].format(WORDS[inference.family].classical)
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
    found_out = f"Of {what} on these rows: {'; '.join(texts)}."
    return (found_out, *why_hidden(inference), *_ratio_notes(inference))


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


def advice_on_fit(prepared: Prepared, outcome: Outcome, names: Sequence[str], n_rows: int | None) -> tuple[str, ...]:
    """Return what public and released numbers say of the method and the bounds."""
    why = prepared.method.inconsistent
    method = () if why is None else (f"{prepared.method.name} does not tend to least squares: {why}",)
    n_units = math.inf if n_rows is None else -(-n_rows // prepared.request.rows_per_unit)
    room = room_for_width(outcome.row_map, outcome.fit.releases, n_units)
    feature_map = prepared.request.feature_map
    categories = {} if feature_map is None else feature_map.categories
    if outcome.spread is not None:
        counted = {} if feature_map is None else unclipped(feature_map).categories
        found = advice_on_spread(outcome.spread, counted)
    else:
        public = None if prepared.public_rows is None else getattr(prepared.plan, "n_rows", None)
        means = released_means(outcome.fit.transcript, outcome.row_map, public)
        paid = outcome.bounds.origin == "paid"  # by such bounds it is not the user's choice where values lie in them
        found = advice_on_means(means, outcome.row_map, names, categories, bounds_are_chosen=not paid)
    weights = advice_on_weights(outcome.fit.transcript, outcome.row_map)
    return (*method, *advice_on_room(room), *weights, *advice_on_paid(outcome.clipped), *found)


def advice_on_hidden(names: Sequence[str]) -> tuple[str, ...]:
    """Return what to do where the noise hid the ranges of some columns, which the fit paid for."""
    return (f"{no_range_of(names)}.",) if names else ()


def advice_on_shortened(share: float) -> tuple[str, ...]:
    """Return what it means that many rows counted less than they would in least squares."""
    if share < _MANY_SHORTENED:
        return ()
    return (
        f"the effect of at least {share:.0%} of the rows, those with the largest, was cut to keep the noise small: "
        "slopes lean towards typical rows. More rows or a larger epsilon lower this share.",
    )
