"""The paper's table of data sets, computed again and put beside what it printed.

The last two columns follow what was really printed, which differs from the caption: chi^2 is 1/8 rather than d / k,
and the loss ratio is at epsilon = 0.7585 rather than 0.65.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dpols.algorithms import algorithm
from dpols.privacy import PrivacyBudget
from dpols.theory import linmix_guarantee, shifted_condition_number

from .preprocessing import Prepared
from .published import Published
from .risk import Risk

CAPTION_EPSILON = 0.65
LOSS_RATIO_EPSILON = 0.7585
PRINTED_CHI = math.sqrt(1.0 / 8.0)


@dataclass(frozen=True)
class Measured:
    """One row of the table as computed here."""

    n: int
    d: int
    smallest: float
    smallest_joint: float
    loss_ratio: float
    loss_over_n: float
    target_over_n: float
    clipping_ratio: float


@dataclass(frozen=True)
class TableRow:
    """One data set: ours, None where it is not available, and the paper's, None where it is not in its table."""

    name: str
    title: str
    measured: Measured | None
    published: Published | None
    why_not: str = ""

    def as_row(self) -> dict[str, Any]:
        """Return a flat row for tables."""
        names = list(Measured.__dataclass_fields__)
        ours = asdict(self.measured) if self.measured else dict.fromkeys(names)
        theirs = {name: getattr(self.published, name) if self.published else None for name in names}
        return {
            "dataset": self.name,
            "title": self.title,
            "available": self.measured is not None,
            **ours,
            **{f"paper_{name}": None if value is None else str(value) for name, value in theirs.items()},
        }


def measure(data: Prepared, risk: Risk) -> Measured:
    """Compute the columns of the table for a prepared data set."""
    n, d = data.features.shape
    smallest, largest = _smallest(risk.singular, d), float(risk.singular[0] ** 2)
    joint = np.linalg.svd(risk.triangle, compute_uv=False)
    delta = 1.0 / n**2
    floor = (
        algorithm("ihm").plan(PrivacyBudget(CAPTION_EPSILON, delta), n_rows=n, n_features=d, accounting="paper").floor
    )
    kappa = shifted_condition_number(smallest=smallest, largest=largest, floor=floor)
    return Measured(
        n=n,
        d=d,
        smallest=smallest,
        smallest_joint=float(joint[-1] ** 2),
        loss_ratio=loss_ratio(risk.loss, n_rows=n, n_features=d, epsilon=LOSS_RATIO_EPSILON),
        loss_over_n=risk.loss / n,
        target_over_n=float(data.target @ data.target) / n,
        clipping_ratio=PRINTED_CHI * math.sqrt(kappa) / (2.0 - PRINTED_CHI),
    )


def loss_ratio(loss: float, *, n_rows: int, n_features: int, epsilon: float) -> float:
    """Return L / (gamma_m (1 + C_Y^2)) with C_Y = 1: small where LinMix is at its best."""
    budget = PrivacyBudget(epsilon, 1.0 / n_rows**2)
    gamma = linmix_guarantee(budget, n_features=n_features, theta_norm=1.0, smallest_joint=0.0, loss=loss).multiplier
    return loss / (2.0 * gamma)


def _smallest(singular: Any, d: int) -> float:
    return float(singular[-1] ** 2) if len(singular) == d else 0.0
