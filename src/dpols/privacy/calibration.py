"""The least noise at which a family of releases meets a budget."""

from collections.abc import Callable, Iterable
from functools import lru_cache

from .accountant import log_delta_of
from .budget import PrivacyBudget
from .releases import GaussianRelease, Release
from .search import least_noise_for


def least_noise(
    releases_at: Callable[[float], Iterable[Release]], budget: PrivacyBudget, *, start: float = 1.0
) -> float:
    """Return the least x at which ``releases_at(x)`` meets the (zero-out) budget under exact accounting.

    More x must never cost more privacy. The answer is on the private side, within a relative 1e-8 of the exact one;
    CalibrationError is raised where no x up to 1e60 meets the budget.

    >>> from dpols.privacy import GaussianRelease, PrivacyBudget
    >>> round(least_noise(lambda x: [GaussianRelease(x)], PrivacyBudget(1.0, 1e-5)), 4)
    3.7306
    """
    return least_noise_for(lambda x: log_delta_of(releases_at(x), budget.epsilon), budget, start=start)


@lru_cache(maxsize=256)
def gaussian_multiplier(budget: PrivacyBudget) -> float:
    """Return the least noise multiplier at which one Gaussian release meets the budget (Balle and Wang, 2018).

    >>> round(gaussian_multiplier(PrivacyBudget(1.0, 1e-5)), 4)
    3.7306
    """
    return least_noise(lambda multiplier: [GaussianRelease(multiplier)], budget)
