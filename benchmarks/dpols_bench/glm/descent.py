"""Private gradient descent for logistic regression, as others do it: clipped gradients, many passes, averaged."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpols.privacy import PrivacyBudget, gaussian_multiplier

from ..tables.rows import Rows

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Setting:
    """So many passes with a learning rate; the best setting of each cell is granted."""

    passes: int
    rate: float

    @property
    def name(self) -> str:
        """The setting as text."""
        return f"gradient descent, {self.passes} passes, rate {self.rate:g}"


SETTINGS = tuple(Setting(passes, rate) for passes in (50, 200) for rate in (4.0, 8.0, 16.0, 32.0))


def coefficients(train: Rows, setting: Setting, budget: PrivacyBudget, seed: int) -> Array:
    """Return slopes and, last, the intercept; every row has norm at most 1, and so has its gradient."""
    width = train.features.shape[1] + 1
    scaled = np.column_stack((train.scaled_features(), np.ones(len(train.target)))) / math.sqrt(width)
    rng = np.random.default_rng(seed)
    noise = gaussian_multiplier(budget) * math.sqrt(setting.passes)
    theta, total = np.zeros(width), np.zeros(width)
    for step in range(setting.passes):
        mean = 1.0 / (1.0 + np.exp(-np.clip(scaled @ theta, -30.0, 30.0)))
        gradient = scaled.T @ (train.target - mean) + noise * rng.standard_normal(width)
        theta = theta + setting.rate * gradient / len(train.target)
        total += theta if step >= setting.passes // 2 else 0.0
    return train.in_units(total / (setting.passes - setting.passes // 2) / math.sqrt(width))
