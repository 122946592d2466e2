"""Exact sums over bounded rows, each with how far one row can move it.

The door for sums: algorithms get their statistics here, and every statistic carries its own sensitivity with respect
to replacing one row by the zero row, or all rows of one unit where units have several. A statistic is an argument or a
local, never stored.
"""

from .generalised import (
    calibration_sums,
    deviances,
    mean_gradient,
    mean_gradient_and_counts,
    predictor_point,
    sloped_counts,
    sloped_gram,
)
from .products import Products
from .screening import Gradients
from .statistic import Statistic
from .sums import (
    clipped_gradient,
    clipped_gradient_and_counts,
    clipped_squares,
    gram,
    gram_and_first_gradient,
    gram_with_target,
    norm_clipped_gradient,
    residual_sums,
    totals,
    totals_and_products,
    totals_sensitivity,
)
from .whitened import (
    WhitenedRows,
    length_counts,
    length_counts_and_long_rows,
    on_grid,
    score_counts,
    score_gram,
    unit_score_gram,
    whiten,
    whitened_gradient,
    whitened_gradient_and_counts,
    whitened_gram,
)

__all__ = [
    "Gradients",
    "Products",
    "Statistic",
    "WhitenedRows",
    "calibration_sums",
    "clipped_gradient",
    "clipped_gradient_and_counts",
    "clipped_squares",
    "deviances",
    "gram",
    "gram_and_first_gradient",
    "gram_with_target",
    "length_counts",
    "length_counts_and_long_rows",
    "mean_gradient",
    "mean_gradient_and_counts",
    "norm_clipped_gradient",
    "on_grid",
    "predictor_point",
    "residual_sums",
    "score_counts",
    "score_gram",
    "sloped_counts",
    "sloped_gram",
    "totals",
    "totals_and_products",
    "totals_sensitivity",
    "unit_score_gram",
    "whiten",
    "whitened_gradient",
    "whitened_gradient_and_counts",
    "whitened_gram",
]
