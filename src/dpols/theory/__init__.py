"""What theory promises of each method, and the parameters that it suggests: no data, no budget spent.

Bounds are those of Lev et al., "Near-optimal private linear regression via iterative Hessian mixing". Those of the
comparison table are without their constants and logarithmic factors: they rank methods and show what matters, they do
not predict an error. Rows have norm at most 1, and eigenvalues are those of X'X in that scale.
"""

from .comparison import Guarantee, adassp_guarantee, ihm_guarantee, linmix_guarantee
from .parameters import (
    ClosedForm,
    ClosedFormWarning,
    best_iterations,
    ihm_closed_form,
    no_clipping_ratio,
    shifted_condition_number,
    suggested_sketch_size,
)
from .terms import condition_term

__all__ = [
    "ClosedForm",
    "ClosedFormWarning",
    "Guarantee",
    "adassp_guarantee",
    "best_iterations",
    "condition_term",
    "ihm_closed_form",
    "ihm_guarantee",
    "linmix_guarantee",
    "no_clipping_ratio",
    "shifted_condition_number",
    "suggested_sketch_size",
]
