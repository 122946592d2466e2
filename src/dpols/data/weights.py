"""Weights and exposures of rows: where they come from, and how they stand beside the targets.

A weight is a number of its row, at most as large as the caller has declared. Whatever sums are computed from weighted
rows, they are never divided by the sum of the weights, which is a number of the data. Exposures come the same way, in
the place of weights.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..errors import BoundsError, DataError, ParameterError
from .bounds import Interval, checked_interval, checked_positive
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


def checked_exposure(exposure: Any, weights: Any, ends: Any) -> Interval | None:
    """Return the range of exposure where rows have any; it must be declared, and lie above 0."""
    if exposure is None:
        if ends is None:
            return None
        raise ParameterError(
            f"exposure_range={ends!r} goes with exposure=... of fit, the exposure of each row or the name of its "
            "column, which is missing."
        )
    if ends is None:
        raise ParameterError(
            "exposure needs exposure_range: pass exposure_range=(low, high) to the estimator, with low above 0, from "
            "public knowledge. Exposures outside are clipped to it."
        )
    if weights is not None:
        raise ParameterError(
            "exposure and sample_weight cannot go together: one number can stand beside the count of a row. Leave out "
            "one of them."
        )
    low, high = checked_interval("exposure_range", ends)
    if not low > 0.0:
        raise BoundsError(f"exposure_range={ends!r} must lie above 0: a row without exposure has no mean count.")
    return low, high


@contextmanager
def in_words_of_exposure(exposure: Any) -> Iterator[None]:
    """Say exposure in place of sample_weight where exposures come by the way of weights."""
    try:
        yield
    except DataError as error:
        if exposure is not None and error.args and isinstance(error.args[0], str):
            error.args = (_of_exposure(error.args[0]), *error.args[1:])
        raise


def _of_exposure(words: str) -> str:
    for weight, exposure in (("Sample weights", "Exposures"), ("sample_weight", "exposure"), ("weight", "exposure")):
        words = words.replace(weight, exposure)
    return words


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


def refuse_name(weights: Any) -> None:
    """Refuse the name of a column of weights where X has no names."""
    if isinstance(weights, str):
        raise DataError(f"sample_weight={weights!r} names a column, but X is not a table; pass the weights.")


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
