"""What a guarantee means for an attacker who must decide whether a row is in the data.

The attacker knows all other rows, sees everything that is released, and starts from even odds. With the total
variation distance TV between what is released with and without the row, the best decision is right with probability
(1 + TV) / 2, and no decision does better.
"""

import math
from collections.abc import Iterable

from .accountant import delta_of
from .budget import Neighbours, PrivacyBudget
from .releases import Release


def success_under(budget: PrivacyBudget) -> float:
    """Return the largest probability of a right decision that any (epsilon, delta)-private mechanism allows.

    With p and q the probabilities to decide for the row where it is in and where it is not, p <= e^eps q + delta and
    1 - q <= e^eps (1 - p) + delta. Adding the two gives p + (1 - q) <= 2 (e^eps + delta) / (1 + e^eps).

    >>> round(success_under(PrivacyBudget(1.0, 1e-6)), 6)
    0.731059
    """
    shrunk = math.exp(-budget.epsilon)  # exp(epsilon) itself may overflow
    return min(1.0, (1.0 + budget.delta * shrunk) / (1.0 + shrunk))


def success_against(releases: Iterable[Release], *, relation: Neighbours = Neighbours.ZERO_OUT) -> float:
    """Return the probability of a right decision that these releases allow at most, from their privacy loss itself.

    At epsilon = 0 the smallest delta is the largest total variation distance between neighbours.

    >>> from dpols.privacy import GaussianRelease
    >>> round(success_against((GaussianRelease(2.0),)), 6)
    0.598706
    """
    return min(1.0, 0.5 + 0.5 * delta_of(releases, 0.0, relation=relation))
