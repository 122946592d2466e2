"""What theory promises of each method, and the parameters that it suggests: no data, no budget spent.

Bounds are those of Lev et al., "Near-optimal private linear regression via iterative Hessian mixing". Those of the
comparison table are without their constants and logarithmic factors: they rank methods and show what matters, they do
not predict an error. Rows have norm at most 1, and eigenvalues are those of X'X in that scale.
"""

from .comparison import Guarantee, adassp_guarantee, ihm_guarantee, linmix_guarantee
from .explicit import (
    RiskBound,
    TheoremConstants,
    joint_eigenvalue_bound,
    no_clipping_level,
    residual_bound_at,
    risk_bound,
    theorem_constants,
)
from .parameters import (
    ClosedForm,
    ClosedFormWarning,
    best_iterations,
    ihm_closed_form,
    no_clipping_ratio,
    shifted_condition_number,
    suggested_linmix_size,
    suggested_sketch_size,
)
from .sketch_and_solve import BestLinMix, best_linmix, sheffet_saturation
from .terms import condition_term

__all__ = [
    "BestLinMix",
    "ClosedForm",
    "ClosedFormWarning",
    "Guarantee",
    "RiskBound",
    "TheoremConstants",
    "adassp_guarantee",
    "best_iterations",
    "best_linmix",
    "condition_term",
    "ihm_closed_form",
    "ihm_guarantee",
    "joint_eigenvalue_bound",
    "linmix_guarantee",
    "no_clipping_level",
    "no_clipping_ratio",
    "residual_bound_at",
    "risk_bound",
    "sheffet_saturation",
    "shifted_condition_number",
    "suggested_linmix_size",
    "suggested_sketch_size",
    "theorem_constants",
]
