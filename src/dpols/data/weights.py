"""Weights of rows: where they come from, and how they stand beside the targets.

A weight is a number of its row, at most as large as the caller has declared. Whatever sums are computed from weighted
rows, they are never divided by the sum of the weights, which is a number of the data.
"""

from typing import Any

import numpy as np

from ..errors import DataError, ParameterError
from .bounds import checked_positive
from .kinds import is_table
from .memory import real_numbers
from .source import Array, Block


def checked_max_weight(weights: Any, largest: Any) -> float | None:
    """Return the largest weight of a row where rows have weights; it must be declared."""
    if weights is None:
        return None
    if largest is None:
        raise ParameterError(
            "sample_weight needs max_weight: pass max_weight=... to the estimator, the largest weight that a row may "
            "have. It must be public knowledge, such as the design of a survey; larger weights are clipped to it."
        )
    return checked_positive("max_weight", largest)


def weights_of(X: Any, weights: Any) -> Any:
    """Return what gives the weights of the rows ``X``: the name of a column, or numbers in memory, one for each row."""
    if weights is None or isinstance(weights, str) or hasattr(weights, "to_delayed"):
        return weights
    numbers = real_numbers(weights, "sample_weight").astype(np.float64, copy=False)
    if numbers.ndim != 1:
        raise DataError(
            f"Sample weights must be 1D array or scalar: sample_weight has {numbers.ndim} dimensions, and one weight "
            "for each row is expected."
        )
    n_rows = X.num_rows if is_table(X) and hasattr(X, "num_rows") else len(X) if hasattr(X, "__len__") else len(numbers)
    if len(numbers) != n_rows:
        raise DataError("sample_weight must have one value for each row of X, and their numbers differ.")
    return numbers


def require_column(weights: Any, what: str) -> None:
    """Refuse weights that are not in a column, where X is ``what``, whose rows have no order."""
    if not isinstance(weights, str | None):
        raise DataError(
            f"sample_weight must be the name of a column where X is {what}: its rows have no order in which they could "
            "be matched with weights."
        )


def refuse_feature(weights: Any, features: Any) -> None:
    """Refuse a column of weights that is a feature, too."""
    if isinstance(weights, str) and weights in features:
        raise DataError(f"sample_weight={weights!r} is also a feature; leave it out there, or copy the column.")


def with_weights(block: Block, weights: Array) -> Block:
    """Return a block with the weights beside its targets."""
    features, target = block
    return features, np.column_stack((target, weights))


def apart(target: Array) -> tuple[Array, Array | None]:
    """Return the targets of a block and their weights, where they have any."""
    return (target, None) if target.ndim == 1 else (target[:, 0], target[:, 1])
