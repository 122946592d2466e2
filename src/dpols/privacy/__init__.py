"""What releases cost. Nothing here ever sees data.

`delta_of`, `epsilon_of` and `least_noise` are exact; `dpols.privacy.paper` holds the paper's own, looser accounting.
"""

from .accountant import delta_of, epsilon_of, log_delta_by_direction, log_delta_of
from .budget import Neighbours, PrivacyBudget
from .calibration import gaussian_multiplier, least_noise
from .releases import FailureAllowance, GaussianRelease, MixingRelease, OpaqueRelease, Release

__all__ = [
    "FailureAllowance",
    "GaussianRelease",
    "MixingRelease",
    "Neighbours",
    "OpaqueRelease",
    "PrivacyBudget",
    "Release",
    "delta_of",
    "epsilon_of",
    "gaussian_multiplier",
    "least_noise",
    "log_delta_by_direction",
    "log_delta_of",
]
