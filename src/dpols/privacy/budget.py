"""What is asked for: the pair (epsilon, delta) and the relation between data sets that it speaks of."""

import math
import re
from dataclasses import dataclass
from enum import StrEnum

from ..errors import CalibrationError, ParameterError
from .checks import real

_SMALLEST_STEP = 1e-303  # of delta; plans divide what they get by up to a few thousand


class Neighbours(StrEnum):
    """Which two data sets must be hard to distinguish."""

    ZERO_OUT = "zero-out"
    """One row is replaced by the zero row, or the zero row by any row; the number of rows is public."""

    REPLACE_ONE = "replace-one"
    """One row is replaced by any other row, two zero-out steps away; the number of rows is public."""

    ADD_REMOVE = "add-remove"
    """One row is added or removed. The number of rows is not public, and a fit sees it with noise only.

    What a program releases does not depend on zero rows where it does not know how many rows there are. So adding a
    row is adding a zero row, which changes nothing, and one zero-out step.
    """

    @property
    def rows_are_public(self) -> bool:
        """Whether neighbours have the same number of rows, so that it may be stated."""
        return self is not Neighbours.ADD_REMOVE

    @property
    def steps(self) -> int:
        """How many zero-out steps lead from a data set to its neighbour."""
        return 2 if self is Neighbours.REPLACE_ONE else 1

    @classmethod
    def of(cls, relation: str) -> "Neighbours":
        """Return the relation of that name."""
        try:
            return cls(relation)
        except ValueError:
            names = " or ".join(repr(str(known)) for known in cls)
            raise ParameterError(f"relation={relation!r} must be {names}.") from None


@dataclass(frozen=True)
class PrivacyBudget:
    """At most ``epsilon`` of privacy loss, except with probability ``delta``."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", real("epsilon", self.epsilon))
        object.__setattr__(self, "delta", real("delta", self.delta))
        if not 0.0 < self.epsilon < math.inf:
            raise ParameterError(
                f"epsilon={self.epsilon!r} must be a positive, finite number. Typical values lie between 0.1 and 10."
            )
        if not 0.0 < self.delta < 1.0:
            raise ParameterError(
                f"delta={self.delta!r} must lie strictly between 0 and 1. It should be far below 1/n for n rows."
            )

    def __str__(self) -> str:
        return f"(epsilon={self.epsilon:.6g}, delta={self.delta:.3g})"

    def for_zero_out(self, relation: Neighbours) -> "PrivacyBudget":
        """Return a zero-out budget that implies this one under ``relation``.

        Group privacy of two steps turns (e, d) into (2 e, (1 + exp(e)) d). Half of epsilon is best, but where d or a
        share of it would leave the range of floats e is smaller.
        """
        if Neighbours.of(relation).steps == 1:
            return self
        half = min(self.epsilon / 2.0, math.log(self.delta) - math.log(_SMALLEST_STEP))
        if half <= 0.0:
            raise CalibrationError(f"{self} is too small to be split into two zero-out steps. Raise delta.")
        return PrivacyBudget(half, self.delta * math.exp(-half) / (1.0 + math.exp(-half)))


def budget_for(epsilon: float, delta: float | str, n_rows: int | None) -> PrivacyBudget:
    """Return the budget for a table of that many rows, of whose number delta may be a rule where it is public."""
    if isinstance(delta, str) and n_rows is None:
        raise ParameterError(
            f"delta={delta!r} is a rule of the number of rows, which is not public with neighbours='add-remove'; give "
            "delta as a number, far below 1 / (the number of rows that you expect), such as 1e-6."
        )
    return PrivacyBudget(epsilon, delta_from_rule(delta, n_rows or 0) if isinstance(delta, str) else delta)


def delta_from_rule(rule: str, n_rows: int) -> float:
    """Return delta for a rule of the public number of rows, such as "1/n^2".

    >>> delta_from_rule("1/n^2", 1000)
    1e-06
    """
    match = re.fullmatch(r"\s*+1\s*+/\s*+n\s*+(?:(?:\^|\*\*)\s*+(\d+(?:\.\d+)?))?\s*+", rule)
    if match is None:
        raise ParameterError(
            f'delta={rule!r} must be a number, without quotation marks, or a rule such as "1/n^2" of the number of '
            "rows n."
        )
    delta: float = float(n_rows) ** -float(match.group(1) or 1.0)
    if not 0.0 < delta < 1.0:
        raise ParameterError(
            f"delta={rule!r} gives {delta:.3g} at n_samples={n_rows}; it must lie strictly between 0 and 1."
        )
    return delta
