"""One line of a summary for each coefficient, and one for each odds ratio or rate ratio."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from .intervals import Inference, Target
from .tables import HIDDEN_WORDS, number

WIDTHS = (10, 9, 9, 9, 7, 10, 10)  # of the columns of numbers, which leave 16 for names
RATIO_WIDTHS = (12, 10, 10)  # of the columns of ratios


@dataclass(frozen=True)
class CoefficientRow:
    """One line of a summary; None where the releases do not say."""

    name: str
    value: float
    stderr: float | None
    privacy_stderr: float | None
    t_value: float | None
    p_value: float | None
    lower: float | None
    upper: float | None
    hidden: bool = field(default=False, kw_only=True)  # by the noise, while others have intervals

    @property
    def numbers(self) -> tuple[float | None, ...]:
        """Everything but the name, in the order of the columns; nothing where the noise hides it."""
        found = (self.value, self.stderr, self.privacy_stderr, self.t_value, self.p_value, self.lower, self.upper)
        return (None,) * len(found) if self.hidden else found

    def cells(self) -> tuple[str, ...]:
        """Return name and numbers as text, or the name and words."""
        if self.hidden:
            return self.name, HIDDEN_WORDS
        texts = [number(value, width) for value, width in zip(self.numbers, WIDTHS, strict=True)]
        if self.p_value is not None:
            texts[4] = f"{self.p_value:.3f}"
        if self.t_value is not None and abs(self.t_value) < 1e4:
            texts[3] = f"{self.t_value:.2f}"
        return self.name, *texts


@dataclass(frozen=True)
class RatioRow:
    """An odds ratio or a rate ratio with its limits; None where the releases do not say."""

    name: str
    value: float | None
    lower: float | None
    upper: float | None

    def cells(self) -> tuple[str, ...]:
        """Return name and numbers as text, or the name and words."""
        if self.value is None:
            return self.name, HIDDEN_WORDS
        numbers = self.value, self.lower, self.upper
        return self.name, *(number(value, width) for value, width in zip(numbers, RATIO_WIDTHS, strict=True))


def coefficient_rows(inference: Inference, alpha: float, target: Target) -> tuple[CoefficientRow, ...]:
    """Return what is known of each coefficient."""
    errors = inference.standard_errors(target)
    columns = (
        errors,
        inference.standard_errors("data"),
        inference.estimate / errors,
        inference.p_values(target),
        *inference.conf_int(alpha, target=target).T,
    )
    known = (
        CoefficientRow(name, float(value), *(None if math.isnan(n) else float(n) for n in numbers))
        for name, value, *numbers in zip(inference.names, inference.estimate, *columns, strict=True)
    )
    return tuple(replace(row, hidden=hides) for row, hides in zip(known, np.isnan(errors).tolist(), strict=True))


def ratio_rows(rows: Sequence[CoefficientRow], inference: Inference) -> tuple[RatioRow, ...]:
    """Return exp of each slope with its limits; that of an intercept is no ratio."""
    slopes = rows[: len(rows) - inference.intercept]
    return tuple(RatioRow(row.name, *map(_exp, (None,) * 3 if row.hidden else _ends(row))) for row in slopes)


def _ends(row: CoefficientRow) -> tuple[float | None, ...]:
    return row.value, row.lower, row.upper


def _exp(value: float | None) -> float | None:
    with np.errstate(over="ignore"):
        return None if value is None else float(np.exp(value))
