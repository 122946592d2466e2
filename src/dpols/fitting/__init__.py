"""One fit from request to report: settle every public number, run, account for what was recorded, and report.

`prepare` looks at public numbers only and releases nothing; `carry_out` runs the method and accounts for it; the others
say what came of it.
"""

from .describing import coefficients_of, inference_of, report_of
from .preparing import Prepared, prepare
from .request import Request
from .running import Outcome, carry_out

__all__ = [
    "Outcome",
    "Prepared",
    "Request",
    "carry_out",
    "coefficients_of",
    "inference_of",
    "prepare",
    "report_of",
]
