"""The paper's table of data sets, and how each of them is split and scaled there.

Lev et al., "Near-optimal private linear regression via iterative Hessian mixing", appendix on experimental details.
The fold is that of the fixed splits which gives the published eigenvalues, where it can be told.
"""

from dataclasses import dataclass
from typing import Literal

Split = Literal["folds", "random", "first"]

Printed = float | Literal["<1e-3"]
_SMALL: Literal["<1e-3"] = "<1e-3"


@dataclass(frozen=True)
class Published:
    """One row of the paper's table, with the preprocessing that it needs."""

    name: str
    split: Split
    standardize: bool
    fold: int | None
    n: int
    d: int
    smallest: Printed  # eigenvalue of X'X
    smallest_joint: Printed  # eigenvalue of [X, y]'[X, y]
    loss_ratio: Printed  # L / (gamma_m (1 + C_Y^2))
    loss_over_n: Printed
    target_over_n: Printed
    clipping_ratio: float  # chi sqrt(kappa) / (2 - chi)


PUBLISHED: tuple[Published, ...] = (
    Published("3droad", "folds", True, None, 391_386, 3, 13141.3, 9609.98, 146.352, 0.026, 0.027, 0.409),
    Published("airfoil", "random", False, None, 1_202, 5, _SMALL, _SMALL, 1.38787, 0.048, 0.787, 0.229),
    Published("autompg", "random", False, None, 313, 7, _SMALL, _SMALL, 0.315, 0.04, 0.362, 0.25),
    Published("autos", "folds", True, None, 143, 25, _SMALL, _SMALL, 0.03390, 0.011, 0.137, 0.217),
    Published("bike", "random", False, None, 8_708, 18, _SMALL, _SMALL, 3.53458, 0.021, 0.072, 0.63),
    Published("breastcancer", "random", False, None, 155, 33, _SMALL, _SMALL, 0.11666, 0.046, 0.233, 0.22),
    Published("buzz", "folds", True, None, 524_925, 77, _SMALL, _SMALL, 124.782, 0.028, 0.066, 0.22),
    Published("concrete", "random", False, None, 824, 8, 0.00497, 0.00495, 0.32850, 0.015, 0.229, 0.352),
    Published("concreteslump", "folds", True, 3, 92, 7, 0.672, 0.01, 0.006, 0.002, 0.153, 0.219),
    Published("crime", "random", True, None, 657, 99, _SMALL, _SMALL, 0.285, 0.041, 0.22, 0.217),
    Published("elevators", "folds", True, None, 14_939, 18, _SMALL, _SMALL, 2.20847, 0.008, 0.037, 0.216),
    Published("energy", "random", False, None, 614, 8, _SMALL, _SMALL, 0.08278, 0.005, 0.319, 0.317),
    Published("fertility", "folds", True, 9, 90, 9, 1.50256, 1.49546, 0.25206, 0.076, 0.104, 0.217),
    Published("forest", "folds", True, 8, 466, 12, 0.07957, 0.07855, 0.77175, 0.055, 0.057, 0.216),
    Published("gas", "random", False, None, 2_051, 128, _SMALL, _SMALL, 0.12730, 0.006, 0.112, 0.229),
    Published("housing", "random", False, None, 404, 13, _SMALL, _SMALL, 0.11208, 0.01, 0.239, 0.267),
    Published("keggdirected", "folds", True, None, 43_944, 20, _SMALL, _SMALL, 6.41448, 0.009, 0.117, 0.214),
    Published("keggundirected", "folds", True, None, 57_247, 27, _SMALL, _SMALL, 1.71694, 0.002, 0.069, 0.224),
    Published("kin40k", "folds", True, 8, 36_000, 8, 1910.7, 1908.81, 39.1509, 0.064, 0.064, 0.219),
    Published("machine", "folds", True, 4, 188, 7, 0.16018, 0.14595, 0.13828, 0.022, 0.117, 0.217),
    Published("parkinsons", "random", False, None, 4_700, 21, _SMALL, _SMALL, 0.46978, 0.004, 0.105, 0.434),
    Published("pendulum", "folds", True, 3, 567, 9, 4.24602, 4.24482, 0.25216, 0.018, 0.024, 0.223),
    Published("pol", "folds", True, None, 13_500, 26, 0.004, 0.004, 42.11, 0.183, 0.345, 0.23),
    Published("protein", "folds", True, None, 41_157, 9, 0.021, 0.02, 83.5075, 0.12, 0.167, 0.232),
    Published("pumadyn32nm", "folds", True, 1, 7_372, 32, 125.328, 125.326, 11.0211, 0.093, 0.093, 0.222),
    Published("servo", "folds", True, 2, 150, 4, 2.09738, 1.15909, 0.35435, 0.075, 0.194, 0.223),
    Published("slice", "folds", True, None, 48_150, 385, _SMALL, _SMALL, 5.29056, 0.026, 0.196, 0.217),
    Published("sml", "folds", True, None, 3_723, 26, _SMALL, _SMALL, 0.49965, 0.007, 0.210, 0.223),
    Published("solar", "folds", True, None, 960, 10, _SMALL, _SMALL, 0.247, 0.01, 0.012, 0.223),
    Published("tamielectric", "random", True, None, 36_624, 3, 32.4147, 32.4137, 209.37, 0.334, 0.334, 0.782),
    Published("tecator", "random", False, None, 192, 124, _SMALL, _SMALL, _SMALL, _SMALL, 0.158, 0.232),
    Published("wine", "random", False, None, 1_087, 11, _SMALL, _SMALL, 0.18471, 0.007, 0.507, 0.227),
    Published("yacht", "folds", True, 8, 277, 6, 0.17360, 0.17309, 0.03012, 0.003, 0.110, 0.226),
)


def published(name: str) -> Published | None:
    """Return the paper's row for a data set, None for one that is not in its table."""
    return next((row for row in PUBLISHED if row.name == name), None)
